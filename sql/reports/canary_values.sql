-- Which known values were shown otherwise in the last 30 days, from when to when, and how often?
WITH newest_results AS (
    SELECT max(observed_at) AS newest_at
    FROM canary_results
)

SELECT
    canary_results.site,
    canary_results.page,
    canary_results.check_name,
    canary_results.route,
    canary_results.expected,
    canary_results.got,
    count(*) AS observations,
    min(canary_results.observed_at) AS first_seen_at,
    max(canary_results.observed_at) AS last_seen_at
FROM canary_results
CROSS JOIN newest_results
WHERE
    canary_results.outcome IN ('wrong_value', 'missing')
    AND canary_results.observed_at > newest_results.newest_at - INTERVAL 30 DAY
GROUP BY
    canary_results.site,
    canary_results.page,
    canary_results.check_name,
    canary_results.route,
    canary_results.expected,
    canary_results.got
ORDER BY
    last_seen_at DESC,
    canary_results.site ASC,
    canary_results.page ASC,
    canary_results.check_name ASC,
    canary_results.route ASC,
    canary_results.got ASC
