-- Which routes are down or failing, and on how many of the sites that they serve?
-- For whoever runs the proxies. Those that are down come first.
SELECT
    dimension,
    value,
    down,
    sites,
    diagnosed_sites,
    fetches,
    failures,
    round(failure_share, 3) AS failure_share,
    as_of
FROM route_health
ORDER BY
    down DESC,
    diagnosed_sites DESC,
    failure_share DESC,
    list_position(['gateway', 'country', 'pool', 'session', 'exit'], dimension) ASC,
    value ASC
