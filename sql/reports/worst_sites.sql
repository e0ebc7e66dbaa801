-- Which sites are worst off now, and why?
-- Worst bands first, then by smoothed score; `day_change` is negative for a fall within a day.
-- `target-health status SITE --why` shows how the points were lost.
SELECT
    site_health.site,
    site_health.band,
    round(site_health.smoothed_score, 1) AS smoothed_score,
    round(site_health.smoothed_score_day_change, 1) AS day_change,
    site_health.score,
    coalesce(site_health.unscored_reason, array_to_string(site_health.reasons, ', ')) AS reasons,
    site_health.state,
    round(site_health.smoothed_served_share, 2) AS served_share,
    round(site_health.delivery_share, 2) AS delivery_share,
    date_trunc('second', site_health.last_fetch_at) AS last_fetch_at,
    site_health.as_of
FROM site_health
ORDER BY
    list_position(['resisting', 'degraded', 'healthy', 'unscored'], site_health.band),
    site_health.smoothed_score NULLS LAST,
    site_health.site
LIMIT 20
