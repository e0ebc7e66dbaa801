-- Grain: dimension, value. Every route that took a fetch in the hour before a site's newest window
-- ended; sites that were not crawled lately say nothing of it.
WITH current_windows AS (
    SELECT
        site,
        diagnosis,
        window_end,
        least(window_start, window_end - to_minutes($route_minutes)) AS split_start
    FROM site_health
    WHERE window_end >= $as_of - to_minutes($route_minutes) - to_minutes(window_minutes)
),

site_routes AS (
    SELECT
        route_windows.site,
        route_windows.dimension,
        route_windows.value,
        sum(route_windows.requests - route_windows.redirects)::BIGINT AS fetches,
        sum(
            route_windows.hard_blocks + route_windows.challenges + route_windows.soft_blocks
            + route_windows.unknown + route_windows.server_errors
        )::BIGINT AS failures,
        coalesce(
            any_value(current_windows.diagnosis)
            = 'route:' || route_windows.dimension || '=' || route_windows.value,
            FALSE
        ) AS is_diagnosed
    FROM route_windows
    INNER JOIN current_windows
        ON
            route_windows.site = current_windows.site
            AND route_windows.window_start >= current_windows.split_start
            AND route_windows.window_end <= current_windows.window_end
    WHERE
        route_windows.window_start >= $as_of - INTERVAL 3 DAY
        AND NOT (route_windows.dimension = 'session' AND route_windows.value = 'other')
    GROUP BY route_windows.site, route_windows.dimension, route_windows.value
)

SELECT
    dimension,
    value,
    count(*) AS sites,
    count(*) FILTER (is_diagnosed) AS diagnosed_sites,
    count(*) >= $route_down_sites
    AND count(*) FILTER (is_diagnosed) > $route_down_share * count(*) AS down,
    sum(fetches)::BIGINT AS fetches,
    sum(failures)::BIGINT AS failures,
    sum(failures) / nullif(sum(fetches), 0) AS failure_share,
    $as_of AS as_of
FROM site_routes
GROUP BY dimension, value
