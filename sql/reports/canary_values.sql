-- Which known values were shown otherwise in the last 30 days, from when to when, and how often?
SELECT
    site,
    page,
    check_name,
    route,
    expected,
    got,
    count(*) AS observations,
    min(observed_at) AS first_seen_at,
    max(observed_at) AS last_seen_at
FROM canary_results
WHERE
    outcome IN ('wrong_value', 'missing')
    AND observed_at > (SELECT max(observed_at) FROM canary_results) - INTERVAL 30 DAY
GROUP BY site, page, check_name, route, expected, got
ORDER BY last_seen_at DESC, site, page, check_name, route, got
