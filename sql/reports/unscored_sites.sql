-- Which sites have no honest score now, and what are they missing?
-- A baseline asks for 500 judged fetches on three days, a score for 50 in the window, unless the
-- configuration says otherwise.
SELECT
    site_health.site,
    site_health.band,
    CASE
        WHEN site_health.window_start IS NULL THEN 'no window has ended yet'
        ELSE coalesce(site_health.unscored_reason, 'no longer crawled')
    END AS unscored_reason,
    site_health.baseline_requests,
    site_health.baseline_days,
    site_windows.window_minutes,
    site_windows.requests,
    site_windows.judged,
    site_windows.unknown,
    site_health.window_end AS last_window_end,
    site_health.last_fetch_at,
    site_health.as_of
FROM site_health
LEFT JOIN site_windows
    ON
        site_health.site = site_windows.site
        AND site_health.window_start = site_windows.window_start
WHERE site_health.score IS NULL OR site_health.band = 'unscored'
ORDER BY unscored_reason, site_health.site
