-- Which fetches of the last day were denied, with their URLs and routes?
-- The newest 20 of each site and verdict, as seen at landing; the soft blocks that only history
-- shows are counted in site_windows.
WITH clock AS (
    SELECT max(as_of) AS as_of
    FROM site_health
),

denied AS (
    SELECT
        crawl_log.site,
        crawl_log.ts,
        crawl_log.verdict,
        crawl_log.status,
        crawl_log.error,
        crawl_log.evidence,
        crawl_log.url,
        crawl_log.title,
        crawl_log.route_gateway,
        crawl_log.route_country,
        crawl_log.route_pool,
        crawl_log.route_exit,
        count(*) OVER alike AS denied_alike,
        row_number() OVER newest_first AS newest_number
    FROM crawl_log CROSS JOIN clock
    WHERE
        crawl_log.verdict IN ('hard_block', 'challenge', 'soft_block')
        AND crawl_log.canary IS NULL
        AND crawl_log.ts > clock.as_of - INTERVAL 24 HOUR
        AND crawl_log.ts <= clock.as_of
    WINDOW
        alike AS (PARTITION BY crawl_log.site, crawl_log.verdict),
        newest_first AS (
            PARTITION BY crawl_log.site, crawl_log.verdict
            ORDER BY crawl_log.ts DESC, crawl_log.event_id ASC
        )
)

SELECT
    site,
    ts,
    verdict,
    status,
    error,
    array_to_string(evidence, ', ') AS evidence,
    url,
    title,
    route_gateway,
    route_country,
    route_pool,
    route_exit,
    denied_alike
FROM denied
WHERE newest_number <= 20
ORDER BY site ASC, verdict ASC, ts DESC
