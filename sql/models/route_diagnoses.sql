-- Grain: site, window_start, config_version. Only windows whose failures one route explains.
-- The failures of the 60 minutes that end with a window are split by route; what a route normally
-- leaves to the others is read off running totals, because the periods of neighbouring windows
-- share most of what they hold.
WITH fallen_windows AS MATERIALIZED (
    SELECT
        site_windows.site,
        site_windows.window_start,
        site_windows.window_end,
        site_baselines.base_failure_share,
        site_baselines.period_start,
        site_baselines.period_end,
        site_settings.route_rise,
        site_settings.route_min_failures,
        site_settings.route_excess_share,
        site_settings.route_rest_min_requests,
        site_settings.route_rest_rise,
        site_settings.route_contrast,
        least(
            site_windows.window_start,
            site_windows.window_end - to_minutes(site_settings.route_minutes)
        ) AS split_start,
        site_windows.requests - site_windows.redirects AS fetches,
        site_windows.hard_blocks + site_windows.challenges + site_windows.soft_blocks
        + site_windows.unknown + site_windows.server_errors AS failures
    FROM site_windows
    INNER JOIN site_baselines
        ON
            site_windows.site = site_baselines.site
            AND site_windows.window_start = site_baselines.window_start
            AND site_baselines.config_version = $config_version
            AND site_baselines.window_end > $start
            AND site_baselines.window_end <= $end
    INNER JOIN site_settings ON site_windows.site = site_settings.site
    WHERE
        site_windows.window_end > $start
        AND site_windows.window_end <= $end
        AND failures - fetches * site_baselines.base_failure_share
        >= site_settings.route_min_failures - 1e-9
        AND failures / nullif(fetches, 0)
        >= site_baselines.base_failure_share + site_settings.route_rise - 1e-9
),

split_windows AS MATERIALIZED (
    SELECT
        fallen_windows.site,
        fallen_windows.window_start,
        parts.window_start AS part_start,
        parts.judged,
        parts.requests - parts.redirects AS fetches,
        parts.hard_blocks + parts.challenges + parts.soft_blocks
        + parts.unknown + parts.server_errors AS failures
    FROM fallen_windows
    INNER JOIN site_windows AS parts
        ON
            fallen_windows.site = parts.site
            AND parts.window_start >= fallen_windows.split_start
            AND parts.window_end <= fallen_windows.window_end
    WHERE parts.window_start >= date_trunc('day', $start) - INTERVAL 1 DAY
),

split_sums AS (
    SELECT
        site,
        window_start,
        sum(judged)::BIGINT AS judged,
        sum(fetches)::BIGINT AS fetches,
        sum(failures)::BIGINT AS failures
    FROM split_windows
    GROUP BY site, window_start
),

splits AS MATERIALIZED (
    SELECT
        fallen_windows.*,
        split_sums.judged AS split_judged,
        split_sums.fetches AS split_fetches,
        split_sums.failures AS split_failures,
        split_sums.failures
        - split_sums.fetches * fallen_windows.base_failure_share AS excess_failures
    FROM fallen_windows
    INNER JOIN split_sums
        ON
            fallen_windows.site = split_sums.site
            AND fallen_windows.window_start = split_sums.window_start
    WHERE
        excess_failures >= fallen_windows.route_min_failures - 1e-9
        AND split_sums.failures / split_sums.fetches
        >= fallen_windows.base_failure_share + fallen_windows.route_rise - 1e-9
),

-- Kept apart from the sums: those of all windows would be made before a few are chosen.
split_parts AS MATERIALIZED (
    SELECT
        split_windows.site,
        split_windows.window_start,
        route_windows.dimension,
        route_windows.value,
        route_windows.judged,
        route_windows.requests - route_windows.redirects AS fetches,
        route_windows.hard_blocks + route_windows.challenges + route_windows.soft_blocks
        + route_windows.unknown + route_windows.server_errors AS failures
    FROM split_windows
    INNER JOIN route_windows
        ON
            split_windows.site = route_windows.site
            AND split_windows.part_start = route_windows.window_start
    WHERE
        route_windows.window_start >= date_trunc('day', $start) - INTERVAL 1 DAY
        AND NOT (route_windows.dimension = 'session' AND route_windows.value = 'other')
),

split_values AS (
    SELECT
        site,
        window_start,
        dimension,
        value,
        sum(judged)::BIGINT AS judged,
        sum(fetches)::BIGINT AS fetches,
        sum(failures)::BIGINT AS failures
    FROM split_parts
    GROUP BY site, window_start, dimension, value
),

suspects AS MATERIALIZED (
    SELECT
        splits.*,
        split_values.dimension,
        split_values.value,
        split_values.fetches AS value_fetches,
        split_values.failures AS value_failures,
        split_values.failures
        - split_values.fetches * splits.base_failure_share AS value_excess_failures,
        splits.split_judged - split_values.judged AS rest_judged,
        splits.split_fetches - split_values.fetches AS rest_fetches,
        splits.split_failures - split_values.failures AS rest_failures
    FROM splits
    INNER JOIN split_values
        ON
            splits.site = split_values.site
            AND splits.window_start = split_values.window_start
    WHERE
        value_excess_failures >= splits.route_excess_share * splits.excess_failures - 1e-9
        AND rest_judged >= splits.route_rest_min_requests
),

suspect_values AS MATERIALIZED (
    SELECT
        site,
        dimension,
        value,
        min(period_start) AS history_start,
        max(period_end) AS history_end
    FROM suspects
    GROUP BY site, dimension, value
),

flags AS (
    SELECT
        site,
        window_start
    FROM window_flags
    WHERE
        config_version = $config_version
        AND window_start >= date_trunc('day', $start) - to_days($longest_stretched_days)
        AND window_end <= $start
),

suspect_windows AS (
    SELECT
        route_windows.site,
        route_windows.window_start,
        route_windows.dimension,
        route_windows.value,
        route_windows.requests - route_windows.redirects AS fetches,
        route_windows.hard_blocks + route_windows.challenges + route_windows.soft_blocks
        + route_windows.unknown + route_windows.server_errors AS failures
    FROM route_windows
    INNER JOIN suspect_values
        ON
            route_windows.site = suspect_values.site
            AND route_windows.dimension = suspect_values.dimension
            AND route_windows.value = suspect_values.value
    WHERE
        route_windows.window_start
        >= date_trunc('day', $start) - to_days($longest_stretched_days)
        AND route_windows.window_start >= suspect_values.history_start
        AND route_windows.window_end <= suspect_values.history_end
),

-- One row a window of the history and suspect: what did not take that route.
rest_windows AS MATERIALIZED (
    SELECT
        suspect_values.site,
        suspect_values.dimension,
        suspect_values.value,
        site_windows.window_start,
        site_windows.window_end,
        site_windows.requests - site_windows.redirects
        - coalesce(suspect_windows.fetches, 0) AS fetches,
        site_windows.hard_blocks + site_windows.challenges + site_windows.soft_blocks
        + site_windows.unknown + site_windows.server_errors
        - coalesce(suspect_windows.failures, 0) AS failures,
        coalesce(suspect_windows.fetches, 0) AS value_fetches,
        coalesce(suspect_windows.failures, 0) AS value_failures
    FROM suspect_values
    INNER JOIN site_windows
        ON
            suspect_values.site = site_windows.site
            AND site_windows.window_start >= suspect_values.history_start
            AND site_windows.window_end <= suspect_values.history_end
    LEFT JOIN suspect_windows
        ON
            suspect_values.site = suspect_windows.site
            AND suspect_values.dimension = suspect_windows.dimension
            AND suspect_values.value = suspect_windows.value
            AND site_windows.window_start = suspect_windows.window_start
    ANTI JOIN flags
        ON
            site_windows.site = flags.site
            AND site_windows.window_start = flags.window_start
    WHERE
        site_windows.window_start
        >= date_trunc('day', $start) - to_days($longest_stretched_days)
),

running_totals AS (
    SELECT
        site,
        dimension,
        value,
        window_start,
        window_end,
        sum(fetches) OVER until_here AS fetches,
        sum(failures) OVER until_here AS failures,
        sum(value_fetches) OVER until_here AS value_fetches,
        sum(value_failures) OVER until_here AS value_failures
    FROM rest_windows
    WINDOW
        until_here AS (
            PARTITION BY site, dimension, value ORDER BY window_start
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
),

-- Of a period: the totals up to its end less those before its start.
period_totals AS (
    SELECT
        suspects.*,
        coalesce(until_end.fetches, 0) - coalesce(before_start.fetches, 0) AS base_fetches,
        coalesce(until_end.failures, 0) - coalesce(before_start.failures, 0) AS base_failures,
        coalesce(until_end.value_fetches, 0)
        - coalesce(before_start.value_fetches, 0) AS base_value_fetches,
        coalesce(until_end.value_failures, 0)
        - coalesce(before_start.value_failures, 0) AS base_value_failures
    FROM suspects
    ASOF LEFT JOIN running_totals AS until_end
        ON
            suspects.site = until_end.site
            AND suspects.dimension = until_end.dimension
            AND suspects.value = until_end.value
            AND suspects.period_end >= until_end.window_end
    ASOF LEFT JOIN running_totals AS before_start
        ON
            suspects.site = before_start.site
            AND suspects.dimension = before_start.dimension
            AND suspects.value = before_start.value
            AND suspects.period_start > before_start.window_start
),

rest_bases AS (
    SELECT
        *,
        base_failures / nullif(base_fetches, 0) AS rest_base_failure_share,
        coalesce(
            base_value_failures / nullif(base_value_fetches, 0), base_failure_share
        ) AS value_base_failure_share
    FROM period_totals
),

-- A route that most fetches take holds most of any excess: its share must have risen by clearly
-- more than the rest's, in standard errors of the difference of two shares.
compared_shares AS (
    SELECT
        *,
        value_failures / value_fetches - value_base_failure_share AS value_rise,
        rest_failures / rest_fetches - rest_base_failure_share AS rest_rise,
        split_failures / split_fetches AS failure_share,
        sqrt(
            failure_share * (1 - failure_share) * (1 / value_fetches + 1 / rest_fetches)
        ) AS standard_error
    FROM rest_bases
)

SELECT
    site,
    window_start,
    $config_version AS config_version,
    window_end,
    dimension,
    value,
    split_start,
    split_fetches,
    split_failures,
    base_failure_share,
    excess_failures,
    value_fetches,
    value_failures,
    value_excess_failures,
    value_base_failure_share,
    rest_fetches,
    rest_failures,
    rest_judged,
    rest_base_failure_share
FROM compared_shares
WHERE
    rest_rise <= route_rest_rise + 1e-9
    AND value_rise - rest_rise >= route_contrast * standard_error - 1e-9
QUALIFY
    row_number() OVER (
        PARTITION BY site, window_start
        ORDER BY
            value_fetches,
            list_position(['gateway', 'country', 'pool', 'session', 'exit'], dimension),
            value
    ) = 1
