-- Grain: site, hour_start.
WITH fetches AS (
    SELECT
        site,
        ts,
        verdict,
        date_trunc('hour', ts) AS hour_start
    FROM lake_fetches
    WHERE ts >= date_trunc('hour', $start) AND ts < $end AND canary IS NULL
)

SELECT
    site,
    hour_start,
    count(*) FILTER (verdict NOT IN ('unknown', 'redirect')) AS judged,
    max(ts) AS last_fetch_at
FROM fetches
GROUP BY site, hour_start
