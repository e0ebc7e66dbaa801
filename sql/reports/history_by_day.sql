-- How was each site, day by day?
-- The newest day first. Shares are of the day's windows by band; a mean score is that of its scored
-- windows.
WITH active AS (
    SELECT max(config_version) AS config_version
    FROM site_health
)

SELECT
    site_scores.site,
    site_scores.window_start::DATE AS day,
    round(avg(site_scores.score), 1) AS mean_score,
    min(site_scores.score) AS lowest_score,
    arg_min(
        site_scores.band,
        list_position(['resisting', 'degraded', 'healthy', 'unscored'], site_scores.band)
    ) AS worst_band,
    count(*) AS windows,
    round(avg((site_scores.band = 'healthy')::INTEGER), 2) AS healthy_share,
    round(avg((site_scores.band = 'degraded')::INTEGER), 2) AS degraded_share,
    round(avg((site_scores.band = 'resisting')::INTEGER), 2) AS resisting_share,
    round(avg((site_scores.band = 'unscored')::INTEGER), 2) AS unscored_share
FROM site_scores
INNER JOIN active ON site_scores.config_version = active.config_version
GROUP BY site_scores.site, day
ORDER BY day DESC, site_scores.site ASC
