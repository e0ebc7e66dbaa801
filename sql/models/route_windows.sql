-- Grain: site, window_start, dimension, value.
-- What would have remained without a route is a difference of counts, but for its p95. That is
-- measured here, from the fetches, for the few values that can be found to hold the window's
-- failures under the site's present numbers.
WITH exit_counts AS (
    SELECT
        site,
        window_start,
        route_exit,
        count(*) AS requests
    FROM window_fetches
    WHERE route_exit IS NOT NULL
    GROUP BY site, window_start, route_exit
),

kept_exits AS (
    SELECT
        exit_counts.site,
        exit_counts.window_start,
        exit_counts.route_exit
    FROM exit_counts
    INNER JOIN site_settings ON exit_counts.site = site_settings.site
    QUALIFY
        row_number() OVER (
            PARTITION BY exit_counts.site, exit_counts.window_start
            ORDER BY exit_counts.requests DESC, exit_counts.route_exit ASC
        ) <= site_settings.route_exits_kept
),

session_counts AS (
    SELECT
        site,
        window_start,
        route_session,
        count(*) AS requests
    FROM window_fetches
    WHERE route_session IS NOT NULL
    GROUP BY site, window_start, route_session
),

other_sessions AS (
    SELECT
        session_counts.site,
        session_counts.window_start,
        session_counts.route_session
    FROM session_counts
    INNER JOIN site_settings ON session_counts.site = site_settings.site
    QUALIFY
        row_number() OVER (
            PARTITION BY session_counts.site, session_counts.window_start
            ORDER BY session_counts.requests DESC, session_counts.route_session ASC
        ) > site_settings.route_sessions_kept
),

routed_fetches AS (
    SELECT
        window_fetches.site,
        window_fetches.window_start,
        window_fetches.window_end,
        window_fetches.window_minutes,
        window_fetches.route_gateway AS gateway,
        window_fetches.route_country AS country,
        window_fetches.route_pool AS pool,
        CASE
            WHEN other_sessions.site IS NULL THEN window_fetches.route_session
            ELSE 'other'
        END AS session,
        kept_exits.route_exit AS exit,
        window_fetches.final_verdict,
        window_fetches.latency_ms,
        window_fetches.attempts,
        window_fetches.bytes,
        window_fetches.credits,
        window_fetches.items
    FROM window_fetches
    LEFT JOIN other_sessions
        ON
            window_fetches.site = other_sessions.site
            AND window_fetches.window_start = other_sessions.window_start
            AND window_fetches.route_session = other_sessions.route_session
    LEFT JOIN kept_exits
        ON
            window_fetches.site = kept_exits.site
            AND window_fetches.window_start = kept_exits.window_start
            AND window_fetches.route_exit = kept_exits.route_exit
),

grouped_fetches AS (
    SELECT
        site,
        window_start,
        window_end,
        window_minutes,
        CASE
            WHEN grouping(gateway) = 0 THEN 'gateway'
            WHEN grouping(country) = 0 THEN 'country'
            WHEN grouping(pool) = 0 THEN 'pool'
            WHEN grouping(session) = 0 THEN 'session'
            ELSE 'exit'
        END AS dimension,
        coalesce(gateway, country, pool, session, exit) AS value,
        count(*) AS requests,
        count(*) FILTER (final_verdict NOT IN ('unknown', 'redirect')) AS judged,
        count(*) FILTER (final_verdict = 'ok') AS ok,
        count(*) FILTER (final_verdict = 'hard_block') AS hard_blocks,
        count(*) FILTER (final_verdict = 'challenge') AS challenges,
        count(*) FILTER (final_verdict = 'soft_block') AS soft_blocks,
        count(*) FILTER (final_verdict = 'soft_404') AS soft_404s,
        count(*) FILTER (final_verdict = 'paywalled') AS paywalled,
        count(*) FILTER (final_verdict = 'unknown') AS unknown,
        count(*) FILTER (final_verdict = 'server_error') AS server_errors,
        count(*) FILTER (final_verdict = 'client_error') AS client_errors,
        count(*) FILTER (final_verdict = 'not_found') AS not_found,
        count(*) FILTER (final_verdict = 'redirect') AS redirects,
        quantile_cont(latency_ms, 0.95) FILTER (
            final_verdict = 'ok'
        ) AS p95_latency_ms,
        sum(coalesce(attempts, 1))::BIGINT AS attempts,
        sum(bytes)::BIGINT AS bytes,
        sum(credits::DECIMAL(24, 6))::DOUBLE AS credits,
        sum(items)::BIGINT AS items
    FROM routed_fetches
    GROUP BY
        GROUPING SETS (
            (site, window_start, window_end, window_minutes, gateway),
            (site, window_start, window_end, window_minutes, country),
            (site, window_start, window_end, window_minutes, pool),
            (site, window_start, window_end, window_minutes, session),
            (site, window_start, window_end, window_minutes, exit)
        )
),

counted_values AS MATERIALIZED (
    SELECT * FROM grouped_fetches
    WHERE value IS NOT NULL
),

window_failures AS (
    SELECT
        site_windows.site,
        site_windows.window_start,
        site_windows.requests - site_windows.redirects AS fetches,
        site_windows.hard_blocks + site_windows.challenges + site_windows.soft_blocks
        + site_windows.unknown + site_windows.server_errors AS failures,
        site_settings.route_rise,
        site_settings.route_excess_share
    FROM site_windows
    INNER JOIN site_settings ON site_windows.site = site_settings.site
    WHERE
        site_windows.window_end > $start
        AND site_windows.window_end <= $end
        AND failures >= site_settings.route_min_failures
        AND failures >= site_settings.route_rise * fetches
),

-- Whatever the site's base is, no other value can hold enough of the excess over it.
suspects AS (
    SELECT
        counted_values.site,
        counted_values.window_start,
        counted_values.dimension,
        counted_values.value
    FROM counted_values
    INNER JOIN window_failures
        ON
            counted_values.site = window_failures.site
            AND counted_values.window_start = window_failures.window_start
    WHERE
        NOT (counted_values.dimension = 'session' AND counted_values.value = 'other')
        AND counted_values.hard_blocks + counted_values.challenges + counted_values.soft_blocks
        + counted_values.unknown + counted_values.server_errors
        >= window_failures.route_excess_share * window_failures.failures
        - (window_failures.failures / window_failures.fetches - window_failures.route_rise)
        * greatest(
            0,
            window_failures.route_excess_share * window_failures.fetches
            - (counted_values.requests - counted_values.redirects)
        )
        - 1e-9
),

rests AS (
    SELECT
        suspects.site,
        suspects.window_start,
        suspects.dimension,
        suspects.value,
        quantile_cont(window_fetches.latency_ms, 0.95) AS p95_latency_ms
    FROM suspects
    INNER JOIN window_fetches
        ON
            suspects.site = window_fetches.site
            AND suspects.window_start = window_fetches.window_start
    WHERE
        window_fetches.final_verdict = 'ok'
        AND suspects.value IS DISTINCT FROM CASE suspects.dimension
            WHEN 'gateway' THEN window_fetches.route_gateway
            WHEN 'country' THEN window_fetches.route_country
            WHEN 'pool' THEN window_fetches.route_pool
            WHEN 'session' THEN window_fetches.route_session
            ELSE window_fetches.route_exit
        END
    GROUP BY suspects.site, suspects.window_start, suspects.dimension, suspects.value
)

SELECT
    counted_values.site,
    counted_values.window_start,
    counted_values.window_end,
    counted_values.window_minutes,
    counted_values.dimension,
    counted_values.value,
    counted_values.requests,
    counted_values.judged,
    counted_values.ok,
    counted_values.hard_blocks,
    counted_values.challenges,
    counted_values.soft_blocks,
    counted_values.soft_404s,
    counted_values.paywalled,
    counted_values.unknown,
    counted_values.server_errors,
    counted_values.client_errors,
    counted_values.not_found,
    counted_values.redirects,
    counted_values.p95_latency_ms,
    counted_values.attempts,
    counted_values.bytes,
    counted_values.credits,
    counted_values.items,
    rests.p95_latency_ms AS rest_p95_latency_ms
FROM counted_values
LEFT JOIN rests
    ON
        counted_values.site = rests.site
        AND counted_values.window_start = rests.window_start
        AND counted_values.dimension = rests.dimension
        AND counted_values.value = rests.value
