-- What did each site serve, hour by hour, in the last 48 hours?
-- Final verdicts, as counted in windows; a window longer than an hour stands in its first.
WITH clock AS (
    SELECT max(as_of) AS as_of
    FROM site_health
),

hours AS (
    SELECT
        site_windows.site,
        date_trunc('hour', site_windows.window_start) AS hour_start,
        sum(site_windows.requests)::BIGINT AS requests,
        sum(site_windows.ok)::BIGINT AS ok,
        sum(site_windows.hard_blocks)::BIGINT AS hard_blocks,
        sum(site_windows.challenges)::BIGINT AS challenges,
        sum(site_windows.soft_blocks)::BIGINT AS soft_blocks,
        sum(site_windows.soft_404s)::BIGINT AS soft_404s,
        sum(site_windows.paywalled)::BIGINT AS paywalled,
        sum(site_windows.not_found)::BIGINT AS not_found,
        sum(site_windows.client_errors)::BIGINT AS client_errors,
        sum(site_windows.server_errors)::BIGINT AS server_errors,
        sum(site_windows.redirects)::BIGINT AS redirects,
        sum(site_windows.unknown)::BIGINT AS unknown
    FROM site_windows CROSS JOIN clock
    WHERE site_windows.window_end > clock.as_of - INTERVAL 48 HOUR
    GROUP BY ALL
)

SELECT
    site,
    hour_start,
    requests,
    round(ok / requests, 3) AS ok_share,
    ok,
    hard_blocks,
    challenges,
    soft_blocks,
    soft_404s,
    paywalled,
    not_found,
    client_errors,
    server_errors,
    redirects,
    unknown
FROM hours
ORDER BY site ASC, hour_start DESC
