-- Grain: site, window_start, config_version.
-- The site's own normal for each window. The windows of a site share most of their period, so what
-- all of them share (the core) is totalled once and each adds its own edges; a period that holds
-- too little is taken again at its longest.
WITH wanted_windows AS MATERIALIZED (
    SELECT
        site_windows.site,
        site_windows.window_start,
        site_windows.window_end,
        site_settings.min_baseline_requests,
        site_settings.min_baseline_days,
        site_windows.window_start - to_days(site_settings.baseline_gap_days) AS period_end,
        site_windows.window_start - to_days(site_settings.baseline_days) AS usual_start,
        site_windows.window_start - to_days(site_settings.baseline_max_days) AS longest_start,
        CASE
            WHEN site_windows.window_start >= site_settings.baseline_from
                THEN site_settings.baseline_from
        END AS baseline_from
    FROM site_windows
    INNER JOIN site_settings ON site_windows.site = site_settings.site
    WHERE site_windows.window_end > $start AND site_windows.window_end <= $end
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

history AS NOT MATERIALIZED (
    SELECT
        site_windows.site,
        site_windows.window_start,
        site_windows.window_end,
        site_windows.requests,
        site_windows.judged,
        site_windows.ok,
        site_windows.hard_blocks,
        site_windows.challenges,
        site_windows.soft_blocks,
        site_windows.unknown,
        site_windows.server_errors,
        site_windows.redirects,
        site_windows.attempts,
        site_windows.credits,
        extraction_windows.extractions,
        extraction_windows.valid,
        -- A record is a valid one; where nothing was extracted, a page that came.
        CASE
            WHEN extraction_windows.extractions > 0 THEN extraction_windows.valid
            ELSE site_windows.ok
        END AS records,
        CASE WHEN site_windows.credits IS NOT NULL THEN records END AS priced_records,
        site_windows.p95_latency_ms,
        CASE
            WHEN site_windows.ok >= site_settings.min_ok_for_p95
                THEN site_windows.p95_latency_ms
        END AS solid_p95_ms,
        CASE
            WHEN site_windows.judged > 0 THEN date_trunc('day', site_windows.window_start)
        END AS judged_day,
        flags.site IS NOT NULL AS is_flagged
    FROM site_windows
    INNER JOIN site_settings ON site_windows.site = site_settings.site
    LEFT JOIN flags
        ON
            site_windows.site = flags.site
            AND site_windows.window_start = flags.window_start
    LEFT JOIN extraction_windows
        ON
            site_windows.site = extraction_windows.site
            AND site_windows.window_start = extraction_windows.window_start
    WHERE
        site_windows.window_start
        >= date_trunc('day', $start) - to_days($longest_stretched_days)
        AND site_windows.window_end <= $end
),

usual_periods AS (
    SELECT
        site,
        window_start,
        greatest(usual_start, baseline_from) AS period_start,
        period_end
    FROM wanted_windows
),

core_periods AS (
    SELECT
        site,
        max(period_start) AS core_start,
        min(period_end) AS core_end
    FROM usual_periods
    GROUP BY site
),

usual_history AS MATERIALIZED (
    SELECT
        history.*,
        history.window_start >= core_periods.core_start
        AND history.window_end <= core_periods.core_end AS is_core
    FROM history
    INNER JOIN core_periods ON history.site = core_periods.site
    WHERE
        history.window_start
        >= date_trunc('day', $start) - to_days($longest_period_days)
),

core_totals AS (
    SELECT
        site,
        sum(requests) FILTER (NOT is_flagged) AS requests,
        sum(judged) FILTER (NOT is_flagged) AS judged,
        sum(ok) FILTER (NOT is_flagged) AS ok,
        sum(hard_blocks) FILTER (NOT is_flagged) AS hard_blocks,
        sum(challenges) FILTER (NOT is_flagged) AS challenges,
        sum(soft_blocks) FILTER (NOT is_flagged) AS soft_blocks,
        sum(unknown) FILTER (NOT is_flagged) AS unknown,
        sum(server_errors) FILTER (NOT is_flagged) AS server_errors,
        sum(redirects) FILTER (NOT is_flagged) AS redirects,
        sum(attempts) FILTER (NOT is_flagged) AS attempts,
        sum(credits) FILTER (NOT is_flagged) AS credits,
        sum(records) FILTER (NOT is_flagged) AS records,
        sum(priced_records) FILTER (NOT is_flagged) AS priced_records,
        sum(extractions) FILTER (NOT is_flagged) AS extractions,
        sum(valid) FILTER (NOT is_flagged) AS valid,
        sum(judged) AS judged_with_flagged,
        list(solid_p95_ms) FILTER (NOT is_flagged AND solid_p95_ms IS NOT NULL) AS solid_p95s_ms,
        list(p95_latency_ms) FILTER (
            NOT is_flagged AND solid_p95_ms IS NULL AND p95_latency_ms IS NOT NULL
        ) AS thin_p95s_ms
    FROM usual_history
    WHERE is_core
    GROUP BY site
),

edge_totals AS (
    SELECT
        usual_periods.site,
        usual_periods.window_start,
        sum(edges.requests) FILTER (NOT edges.is_flagged) AS requests,
        sum(edges.judged) FILTER (NOT edges.is_flagged) AS judged,
        sum(edges.ok) FILTER (NOT edges.is_flagged) AS ok,
        sum(edges.hard_blocks) FILTER (NOT edges.is_flagged) AS hard_blocks,
        sum(edges.challenges) FILTER (NOT edges.is_flagged) AS challenges,
        sum(edges.soft_blocks) FILTER (NOT edges.is_flagged) AS soft_blocks,
        sum(edges.unknown) FILTER (NOT edges.is_flagged) AS unknown,
        sum(edges.server_errors) FILTER (NOT edges.is_flagged) AS server_errors,
        sum(edges.redirects) FILTER (NOT edges.is_flagged) AS redirects,
        sum(edges.attempts) FILTER (NOT edges.is_flagged) AS attempts,
        sum(edges.credits) FILTER (NOT edges.is_flagged) AS credits,
        sum(edges.records) FILTER (NOT edges.is_flagged) AS records,
        sum(edges.priced_records) FILTER (NOT edges.is_flagged) AS priced_records,
        sum(edges.extractions) FILTER (NOT edges.is_flagged) AS extractions,
        sum(edges.valid) FILTER (NOT edges.is_flagged) AS valid,
        sum(edges.judged) AS judged_with_flagged,
        list(edges.solid_p95_ms) FILTER (
            NOT edges.is_flagged AND edges.solid_p95_ms IS NOT NULL
        ) AS solid_p95s_ms,
        list(edges.p95_latency_ms) FILTER (
            NOT edges.is_flagged
            AND edges.solid_p95_ms IS NULL
            AND edges.p95_latency_ms IS NOT NULL
        ) AS thin_p95s_ms
    FROM usual_periods
    INNER JOIN usual_history AS edges
        ON
            usual_periods.site = edges.site
            AND edges.window_start >= usual_periods.period_start
            AND edges.window_end <= usual_periods.period_end
    WHERE NOT edges.is_core
    GROUP BY usual_periods.site, usual_periods.window_start
),

judged_days AS (
    SELECT
        site,
        judged_day,
        min(window_end) AS first_end,
        max(window_start) AS last_start,
        min(window_end) FILTER (NOT is_flagged) AS first_unflagged_end,
        max(window_start) FILTER (NOT is_flagged) AS last_unflagged_start
    FROM usual_history
    WHERE judged_day IS NOT NULL
    GROUP BY site, judged_day
),

usual_days AS (
    SELECT
        usual_periods.site,
        usual_periods.window_start,
        count(*) FILTER (
            judged_days.last_unflagged_start >= usual_periods.period_start
            AND judged_days.first_unflagged_end <= usual_periods.period_end
        ) AS days,
        count(*) AS days_with_flagged
    FROM usual_periods
    INNER JOIN judged_days
        ON
            usual_periods.site = judged_days.site
            AND judged_days.last_start >= usual_periods.period_start
            AND judged_days.first_end <= usual_periods.period_end
    GROUP BY usual_periods.site, usual_periods.window_start
),

usual_totals AS MATERIALIZED (
    SELECT
        usual_periods.site,
        usual_periods.window_start,
        usual_periods.period_start,
        usual_periods.period_end,
        coalesce(core_totals.requests, 0) + coalesce(edge_totals.requests, 0) AS requests,
        coalesce(core_totals.judged, 0) + coalesce(edge_totals.judged, 0) AS judged,
        coalesce(core_totals.ok, 0) + coalesce(edge_totals.ok, 0) AS ok,
        coalesce(core_totals.hard_blocks, 0) + coalesce(edge_totals.hard_blocks, 0) AS hard_blocks,
        coalesce(core_totals.challenges, 0) + coalesce(edge_totals.challenges, 0) AS challenges,
        coalesce(core_totals.soft_blocks, 0) + coalesce(edge_totals.soft_blocks, 0) AS soft_blocks,
        coalesce(core_totals.unknown, 0) + coalesce(edge_totals.unknown, 0) AS unknown,
        coalesce(core_totals.server_errors, 0)
        + coalesce(edge_totals.server_errors, 0) AS server_errors,
        coalesce(core_totals.redirects, 0) + coalesce(edge_totals.redirects, 0) AS redirects,
        coalesce(core_totals.attempts, 0) + coalesce(edge_totals.attempts, 0) AS attempts,
        coalesce(core_totals.credits, 0) + coalesce(edge_totals.credits, 0) AS credits,
        coalesce(core_totals.records, 0) + coalesce(edge_totals.records, 0) AS records,
        coalesce(core_totals.priced_records, 0)
        + coalesce(edge_totals.priced_records, 0) AS priced_records,
        coalesce(core_totals.extractions, 0)
        + coalesce(edge_totals.extractions, 0) AS extractions,
        coalesce(core_totals.valid, 0) + coalesce(edge_totals.valid, 0) AS valid,
        coalesce(core_totals.judged_with_flagged, 0)
        + coalesce(edge_totals.judged_with_flagged, 0) AS judged_with_flagged,
        coalesce(
            list_aggregate(
                list_concat(core_totals.solid_p95s_ms, edge_totals.solid_p95s_ms), 'median'
            ),
            list_aggregate(
                list_concat(core_totals.thin_p95s_ms, edge_totals.thin_p95s_ms), 'median'
            )
        ) AS p95_latency_ms,
        coalesce(usual_days.days, 0) AS days,
        coalesce(usual_days.days_with_flagged, 0) AS days_with_flagged
    FROM usual_periods
    LEFT JOIN core_totals ON usual_periods.site = core_totals.site
    LEFT JOIN edge_totals
        ON
            usual_periods.site = edge_totals.site
            AND usual_periods.window_start = edge_totals.window_start
    LEFT JOIN usual_days
        ON
            usual_periods.site = usual_days.site
            AND usual_periods.window_start = usual_days.window_start
),

longest_periods AS (
    SELECT
        wanted_windows.site,
        wanted_windows.window_start,
        greatest(wanted_windows.longest_start, wanted_windows.baseline_from) AS period_start,
        wanted_windows.period_end
    FROM wanted_windows
    INNER JOIN usual_totals
        ON
            wanted_windows.site = usual_totals.site
            AND wanted_windows.window_start = usual_totals.window_start
    WHERE
        usual_totals.judged < wanted_windows.min_baseline_requests
        OR coalesce(usual_totals.days, 0) < wanted_windows.min_baseline_days
),

need AS (
    SELECT count(*) AS longest_periods
    FROM longest_periods
),

-- Where no period must be stretched, as is usual, nothing is read for it.
longest_history AS (
    SELECT history.*
    FROM history CROSS JOIN need
    WHERE
        need.longest_periods > 0
        AND history.site IN (SELECT longest_periods.site FROM longest_periods)
),

longest_sums AS (
    SELECT
        longest_periods.site,
        longest_periods.window_start,
        sum(longest_history.requests) FILTER (NOT longest_history.is_flagged) AS requests,
        sum(longest_history.judged) FILTER (NOT longest_history.is_flagged) AS judged,
        sum(longest_history.ok) FILTER (NOT longest_history.is_flagged) AS ok,
        sum(longest_history.hard_blocks) FILTER (NOT longest_history.is_flagged) AS hard_blocks,
        sum(longest_history.challenges) FILTER (NOT longest_history.is_flagged) AS challenges,
        sum(longest_history.soft_blocks) FILTER (NOT longest_history.is_flagged) AS soft_blocks,
        sum(longest_history.unknown) FILTER (NOT longest_history.is_flagged) AS unknown,
        sum(longest_history.server_errors) FILTER (
            NOT longest_history.is_flagged
        ) AS server_errors,
        sum(longest_history.redirects) FILTER (NOT longest_history.is_flagged) AS redirects,
        sum(longest_history.attempts) FILTER (NOT longest_history.is_flagged) AS attempts,
        sum(longest_history.credits) FILTER (NOT longest_history.is_flagged) AS credits,
        sum(longest_history.records) FILTER (NOT longest_history.is_flagged) AS records,
        sum(longest_history.priced_records) FILTER (
            NOT longest_history.is_flagged
        ) AS priced_records,
        sum(longest_history.extractions) FILTER (
            NOT longest_history.is_flagged
        ) AS extractions,
        sum(longest_history.valid) FILTER (NOT longest_history.is_flagged) AS valid,
        sum(longest_history.judged) AS judged_with_flagged,
        coalesce(
            median(longest_history.solid_p95_ms) FILTER (NOT longest_history.is_flagged),
            median(longest_history.p95_latency_ms) FILTER (NOT longest_history.is_flagged)
        ) AS p95_latency_ms,
        count(DISTINCT longest_history.judged_day) FILTER (
            NOT longest_history.is_flagged
        ) AS days,
        count(DISTINCT longest_history.judged_day) AS days_with_flagged
    FROM longest_history
    INNER JOIN longest_periods
        ON
            longest_history.site = longest_periods.site
            AND longest_history.window_start >= longest_periods.period_start
            AND longest_history.window_end <= longest_periods.period_end
    GROUP BY longest_periods.site, longest_periods.window_start
),

longest_totals AS (
    SELECT
        longest_periods.site,
        longest_periods.window_start,
        longest_periods.period_start,
        longest_periods.period_end,
        coalesce(longest_sums.requests, 0) AS requests,
        coalesce(longest_sums.judged, 0) AS judged,
        coalesce(longest_sums.ok, 0) AS ok,
        coalesce(longest_sums.hard_blocks, 0) AS hard_blocks,
        coalesce(longest_sums.challenges, 0) AS challenges,
        coalesce(longest_sums.soft_blocks, 0) AS soft_blocks,
        coalesce(longest_sums.unknown, 0) AS unknown,
        coalesce(longest_sums.server_errors, 0) AS server_errors,
        coalesce(longest_sums.redirects, 0) AS redirects,
        coalesce(longest_sums.attempts, 0) AS attempts,
        coalesce(longest_sums.credits, 0) AS credits,
        coalesce(longest_sums.records, 0) AS records,
        coalesce(longest_sums.priced_records, 0) AS priced_records,
        coalesce(longest_sums.extractions, 0) AS extractions,
        coalesce(longest_sums.valid, 0) AS valid,
        coalesce(longest_sums.judged_with_flagged, 0) AS judged_with_flagged,
        longest_sums.p95_latency_ms,
        coalesce(longest_sums.days, 0) AS days,
        coalesce(longest_sums.days_with_flagged, 0) AS days_with_flagged
    FROM longest_periods
    LEFT JOIN longest_sums
        ON
            longest_periods.site = longest_sums.site
            AND longest_periods.window_start = longest_sums.window_start
),

totals AS (
    SELECT * FROM longest_totals
    UNION ALL BY NAME
    SELECT usual_totals.* FROM usual_totals
    ANTI JOIN longest_totals
        ON
            usual_totals.site = longest_totals.site
            AND usual_totals.window_start = longest_totals.window_start
),

judged_totals AS (
    SELECT
        totals.*,
        wanted_windows.window_end,
        coalesce(totals.days, 0) AS judged_days,
        totals.judged >= wanted_windows.min_baseline_requests
        AND coalesce(totals.days, 0) >= wanted_windows.min_baseline_days AS is_enough,
        totals.judged_with_flagged >= wanted_windows.min_baseline_requests
        AND coalesce(totals.days_with_flagged, 0)
        >= wanted_windows.min_baseline_days AS is_enough_with_flagged
    FROM totals
    INNER JOIN wanted_windows
        ON
            totals.site = wanted_windows.site
            AND totals.window_start = wanted_windows.window_start
)

SELECT
    site,
    window_start,
    window_end,
    $config_version AS config_version,
    period_start,
    period_end,
    is_enough,
    NOT is_enough AND is_enough_with_flagged AS is_used_up,
    judged::BIGINT AS baseline_requests,
    judged_days AS baseline_days,
    CASE WHEN is_enough THEN hard_blocks / judged END AS base_hard_block_rate,
    CASE WHEN is_enough THEN challenges / judged END AS base_challenge_rate,
    CASE WHEN is_enough THEN soft_blocks / judged END AS base_soft_block_rate,
    CASE
        WHEN is_enough THEN (hard_blocks + challenges + soft_blocks) / judged
    END AS base_denied_share,
    CASE WHEN is_enough THEN unknown / nullif(requests, 0) END AS base_unknown_share,
    CASE WHEN is_enough THEN ok / nullif(requests - redirects, 0) END AS base_delivery_share,
    CASE
        WHEN is_enough
            THEN
                (hard_blocks + challenges + soft_blocks + unknown + server_errors)
                / nullif(requests - redirects, 0)
    END AS base_failure_share,
    CASE WHEN is_enough THEN p95_latency_ms END AS base_p95_latency_ms,
    CASE WHEN is_enough THEN extractions END::BIGINT AS base_extractions,
    CASE
        WHEN is_enough THEN (extractions - valid) / nullif(extractions, 0)
    END AS base_invalid_rate,
    CASE WHEN is_enough THEN attempts / nullif(records, 0) END AS base_attempts_per_record,
    CASE
        WHEN is_enough AND credits > 0 THEN credits / nullif(priced_records, 0)
    END AS base_credits_per_record
FROM judged_totals
