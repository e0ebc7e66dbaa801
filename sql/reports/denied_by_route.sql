-- Is it the site or the route: how much of the last day was denied or unanswered on each route?
-- First those that failed most beyond what the site's other routes did; where the shares are close,
-- it is the site.
WITH clock AS (
    SELECT max(as_of) AS as_of
    FROM site_health
),

fetches AS (
    SELECT
        crawl_log.site,
        crawl_log.route_gateway AS gateway,
        crawl_log.route_country AS country,
        crawl_log.route_pool AS pool,
        crawl_log.route_session AS session,
        crawl_log.route_exit AS exit,
        crawl_log.verdict IN (
            'hard_block', 'challenge', 'soft_block', 'unknown', 'server_error'
        ) AS has_failed
    FROM crawl_log CROSS JOIN clock
    WHERE
        crawl_log.verdict <> 'redirect'
        AND crawl_log.canary IS NULL
        AND crawl_log.ts > clock.as_of - INTERVAL 24 HOUR
        AND crawl_log.ts <= clock.as_of
),

route_fetches AS (
    SELECT
        site,
        dimension,
        route,
        has_failed
    FROM fetches
    UNPIVOT (route FOR dimension IN (gateway, country, pool, session, exit))
),

routes AS (
    SELECT
        site,
        dimension,
        route,
        count(*) AS fetches,
        count(*) FILTER (has_failed) AS failed
    FROM route_fetches
    GROUP BY ALL
),

compared_routes AS (
    SELECT
        site,
        dimension,
        route,
        fetches,
        failed,
        failed / fetches AS failed_share,
        (sum(failed) OVER others - failed)
        / nullif(sum(fetches) OVER others - fetches, 0) AS failed_share_elsewhere
    FROM routes
    WINDOW others AS (PARTITION BY site, dimension)
)

SELECT
    site,
    dimension,
    route,
    fetches,
    failed,
    round(failed_share, 3) AS failed_share,
    round(failed_share_elsewhere, 3) AS failed_share_elsewhere,
    round(failed - fetches * failed_share_elsewhere, 1) AS excess_failed
FROM compared_routes
ORDER BY
    excess_failed DESC NULLS LAST,
    site ASC,
    list_position(['gateway', 'country', 'pool', 'session', 'exit'], dimension) ASC,
    route ASC
