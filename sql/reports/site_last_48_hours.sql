-- How did one site get to where it is: every window of its last 48 hours?
-- It shows the worst site. For another, run this first, or write its name into `chosen`:
--   SET VARIABLE site = 'shop.example';
WITH chosen AS (
    SELECT
        site,
        config_version,
        as_of
    FROM site_health
    WHERE site = coalesce(getvariable('site')::VARCHAR, site)
    ORDER BY
        list_position(['resisting', 'degraded', 'healthy', 'unscored'], band),
        smoothed_score NULLS LAST,
        site
    LIMIT 1
)

SELECT
    site_windows.site,
    site_windows.window_start,
    site_windows.window_minutes,
    site_scores.band,
    site_scores.score,
    round(site_scores.smoothed_score, 1) AS smoothed_score,
    round(site_scores.served_share, 2) AS served_share,
    coalesce(site_scores.unscored_reason, array_to_string(site_scores.reasons, ', ')) AS reasons,
    site_windows.requests,
    site_windows.judged,
    site_windows.ok,
    site_windows.hard_blocks,
    site_windows.challenges,
    site_windows.soft_blocks,
    site_windows.unknown,
    site_windows.server_errors,
    round(site_windows.p95_latency_ms, 0) AS p95_latency_ms,
    round(site_scores.base_p95_latency_ms, 0) AS base_p95_latency_ms
FROM chosen
INNER JOIN site_windows
    ON
        chosen.site = site_windows.site
        AND site_windows.window_end > chosen.as_of - INTERVAL 48 HOUR
LEFT JOIN site_scores
    ON
        site_windows.site = site_scores.site
        AND site_windows.window_start = site_scores.window_start
        AND chosen.config_version = site_scores.config_version
ORDER BY site_windows.window_start
