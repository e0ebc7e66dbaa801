-- Grain: site, window_start, config_version.
-- Windows that started before a site's `evidence_from` are left out, so that the same SELECT says
-- what the windows since the last action give by themselves.
WITH routes AS MATERIALIZED (
    SELECT
        site,
        window_start,
        dimension,
        value
    FROM route_diagnoses
    WHERE
        config_version = $config_version
        AND window_end > $start
        AND window_end <= $end
),

-- What took a diagnosed route; the window is judged without it.
routed_windows AS MATERIALIZED (
    SELECT route_windows.*
    FROM route_windows
    INNER JOIN routes
        ON
            route_windows.site = routes.site
            AND route_windows.window_start = routes.window_start
            AND route_windows.dimension = routes.dimension
            AND route_windows.value = routes.value
    WHERE route_windows.window_end > $start AND route_windows.window_end <= $end
),

remaining_windows AS (
    SELECT
        site_windows.site,
        site_windows.window_start,
        site_windows.window_end,
        site_windows.window_minutes,
        'route:' || routes.dimension || '=' || routes.value AS route,
        site_windows.requests - coalesce(routed_windows.requests, 0) AS requests,
        site_windows.judged - coalesce(routed_windows.judged, 0) AS judged,
        site_windows.ok - coalesce(routed_windows.ok, 0) AS ok,
        site_windows.hard_blocks - coalesce(routed_windows.hard_blocks, 0) AS hard_blocks,
        site_windows.challenges - coalesce(routed_windows.challenges, 0) AS challenges,
        site_windows.soft_blocks - coalesce(routed_windows.soft_blocks, 0) AS soft_blocks,
        site_windows.unknown - coalesce(routed_windows.unknown, 0) AS unknown,
        site_windows.redirects - coalesce(routed_windows.redirects, 0) AS redirects,
        CASE
            WHEN routed_windows.site IS NULL THEN site_windows.p95_latency_ms
            ELSE routed_windows.rest_p95_latency_ms
        END AS p95_latency_ms,
        extraction_windows.extractions,
        extraction_windows.valid,
        site_windows.credits AS all_credits,
        site_windows.attempts AS all_attempts,
        -- A record is a valid one; where nothing was extracted, a page that came.
        CASE
            WHEN site_windows.judged < site_settings.min_requests THEN NULL
            WHEN extraction_windows.extractions > 0 THEN extraction_windows.valid
            ELSE site_windows.ok
        END AS records
    FROM site_windows
    INNER JOIN site_settings ON site_windows.site = site_settings.site
    LEFT JOIN routes
        ON
            site_windows.site = routes.site
            AND site_windows.window_start = routes.window_start
    LEFT JOIN routed_windows
        ON
            site_windows.site = routed_windows.site
            AND site_windows.window_start = routed_windows.window_start
    LEFT JOIN extraction_windows
        ON
            site_windows.site = extraction_windows.site
            AND site_windows.window_start = extraction_windows.window_start
    WHERE site_windows.window_end > $start AND site_windows.window_end <= $end
),

measured_windows AS MATERIALIZED (
    SELECT
        remaining_windows.* EXCLUDE (p95_latency_ms),
        site_baselines.is_enough,
        site_baselines.is_used_up,
        site_baselines.baseline_requests,
        site_baselines.baseline_days,
        site_baselines.base_hard_block_rate,
        site_baselines.base_challenge_rate,
        site_baselines.base_soft_block_rate,
        site_baselines.base_denied_share,
        site_baselines.base_unknown_share,
        site_baselines.base_delivery_share,
        site_baselines.base_p95_latency_ms,
        site_baselines.base_extractions,
        site_baselines.base_invalid_rate,
        remaining_windows.hard_blocks / nullif(remaining_windows.judged, 0) AS hard_block_rate,
        remaining_windows.challenges / nullif(remaining_windows.judged, 0) AS challenge_rate,
        remaining_windows.soft_blocks / nullif(remaining_windows.judged, 0) AS soft_block_rate,
        (
            remaining_windows.hard_blocks
            + remaining_windows.challenges
            + remaining_windows.soft_blocks
        ) / nullif(remaining_windows.judged, 0) AS denied_share,
        remaining_windows.route IS NOT NULL
        AND remaining_windows.judged < site_settings.min_requests AS is_too_little_left,
        CASE
            WHEN NOT is_too_little_left THEN remaining_windows.p95_latency_ms
        END AS p95_latency_ms,
        CASE
            WHEN NOT is_too_little_left
                THEN
                    remaining_windows.ok
                    / nullif(remaining_windows.requests - remaining_windows.redirects, 0)
        END AS delivery_share,
        (remaining_windows.extractions - remaining_windows.valid)
        / nullif(remaining_windows.extractions, 0) AS invalid_rate,
        -- Both extract, or neither does: a valid record and a page are not the same.
        CASE
            WHEN
                (coalesce(remaining_windows.extractions, 0) > 0)
                = (site_baselines.base_extractions > 0)
                THEN
                    coalesce(
                        remaining_windows.all_credits
                        / site_baselines.base_credits_per_record,
                        remaining_windows.all_attempts
                        / site_baselines.base_attempts_per_record
                    ) / nullif(remaining_windows.records, 0)
        END AS cost_ratio
    FROM remaining_windows
    INNER JOIN site_settings ON remaining_windows.site = site_settings.site
    INNER JOIN site_baselines
        ON
            remaining_windows.site = site_baselines.site
            AND remaining_windows.window_start = site_baselines.window_start
            AND site_baselines.config_version = $config_version
            AND site_baselines.window_end > $start
            AND site_baselines.window_end <= $end
),

judged_windows AS MATERIALIZED (
    SELECT
        measured_windows.*,
        CASE
            WHEN
                measured_windows.requests >= site_settings.min_requests
                AND measured_windows.unknown
                > site_settings.mostly_unknown_share * measured_windows.requests
                AND (
                    NOT measured_windows.is_enough
                    OR measured_windows.unknown / measured_windows.requests
                    > measured_windows.base_unknown_share
                    + site_settings.mostly_unknown_rise
                    + 1e-9
                )
                THEN 'mostly unknown'
            WHEN
                measured_windows.judged < site_settings.min_requests
                THEN 'not enough requests'
            WHEN measured_windows.is_used_up THEN 'baseline used up'
            WHEN NOT measured_windows.is_enough THEN 'no baseline yet'
        END AS unscored_reason,
        site_settings.hard_block_weight * least(1, greatest(0, (
            measured_windows.hard_block_rate - measured_windows.base_hard_block_rate
        ) / site_settings.full_rate_rise)) AS hard_block_cost,
        site_settings.challenge_weight * least(1, greatest(0, (
            measured_windows.challenge_rate - measured_windows.base_challenge_rate
        ) / site_settings.full_rate_rise)) AS challenge_cost,
        site_settings.soft_block_weight * least(1, greatest(0, (
            measured_windows.soft_block_rate - measured_windows.base_soft_block_rate
        ) / site_settings.full_rate_rise)) AS soft_block_cost,
        site_settings.latency_weight * CASE
            WHEN
                measured_windows.p95_latency_ms IS NULL
                OR measured_windows.base_p95_latency_ms IS NULL
                THEN 0
            ELSE
                least(1, greatest(0, (
                    measured_windows.p95_latency_ms
                    / greatest(measured_windows.base_p95_latency_ms, 1) - 1
                ) / (site_settings.full_latency_factor - 1)))
        END AS latency_cost,
        CASE
            WHEN measured_windows.base_denied_share <= site_settings.max_base_denied_share
                THEN
                    least(
                        1,
                        (1 - measured_windows.denied_share)
                        / (1 - measured_windows.base_denied_share)
                    )
        END AS served_share_if_scored,
        coalesce(
            measured_windows.base_delivery_share - measured_windows.delivery_share
            >= site_settings.delivery_fall - 1e-9,
            FALSE
        ) AS has_delivery_fallen,
        CASE
            WHEN
                measured_windows.extractions >= site_settings.min_extractions
                AND measured_windows.base_extractions >= site_settings.min_extractions
                THEN
                    100 * (1 - least(1, greatest(0, (
                        measured_windows.invalid_rate - measured_windows.base_invalid_rate
                    ) / site_settings.full_invalid_rise)))
        END AS parser_health,
        measured_windows.extractions
        * (measured_windows.invalid_rate - measured_windows.base_invalid_rate) AS excess_invalid
    FROM measured_windows
    INNER JOIN site_settings ON measured_windows.site = site_settings.site
),

scored_windows AS MATERIALIZED (
    SELECT
        *,
        CASE
            WHEN unscored_reason IS NULL
                THEN
                    greatest(0, round_even(
                        100 - (
                            hard_block_cost + challenge_cost + soft_block_cost + latency_cost
                        ),
                        0
                    ))
        END AS score,
        CASE WHEN unscored_reason IS NULL THEN served_share_if_scored END AS served_share
    FROM judged_windows
),

recent_scores AS (
    SELECT
        site,
        window_start,
        window_end,
        window_minutes,
        score,
        served_share,
        band,
        list_contains(reasons, 'refusal') AS stands_on_refusal
    FROM site_scores
    WHERE
        config_version = $config_version
        AND score IS NOT NULL
        AND window_end <= $start
        AND window_start > date_trunc('day', $start) - to_days($longest_smoothing_days)
),

recent_counts AS (
    SELECT
        site,
        count(*) AS scored
    FROM recent_scores
    GROUP BY site
),

sparse_sites AS (
    SELECT DISTINCT scored_windows.site
    FROM scored_windows
    LEFT JOIN recent_counts ON scored_windows.site = recent_counts.site
    WHERE coalesce(recent_counts.scored, 0) < $longest_low_row
),

older_scores AS (
    SELECT
        site_scores.site,
        site_scores.window_start,
        site_scores.window_end,
        site_scores.window_minutes,
        site_scores.score,
        site_scores.served_share,
        site_scores.band,
        list_contains(site_scores.reasons, 'refusal') AS stands_on_refusal
    FROM site_scores
    INNER JOIN sparse_sites ON site_scores.site = sparse_sites.site
    WHERE
        site_scores.config_version = $config_version
        AND site_scores.score IS NOT NULL
        AND site_scores.window_end <= $start
        AND site_scores.window_start
        <= date_trunc('day', $start) - to_days($longest_smoothing_days)
        AND site_scores.window_start
        >= date_trunc('day', $start) - to_days($longest_stretched_days)
    QUALIFY
        row_number() OVER (
            PARTITION BY site_scores.site ORDER BY site_scores.window_start DESC
        ) <= $longest_low_row
),

earlier_scores AS (
    SELECT * FROM recent_scores
    UNION ALL
    SELECT * FROM older_scores
),

all_scores AS (
    SELECT
        site,
        window_start,
        window_end,
        window_minutes,
        score,
        served_share,
        NULL AS earlier_band,
        FALSE AS stood_on_refusal
    FROM scored_windows
    UNION ALL
    SELECT
        site,
        window_start,
        window_end,
        window_minutes,
        score,
        served_share,
        band AS earlier_band,
        stands_on_refusal AS stood_on_refusal
    FROM earlier_scores
),

timeline AS MATERIALIZED (
    SELECT
        all_scores.*,
        all_scores.score < site_settings.healthy_from
        OR coalesce(
            all_scores.served_share < site_settings.pause_below_served_share - 1e-9, FALSE
        ) AS is_low
    FROM all_scores
    INNER JOIN site_settings ON all_scores.site = site_settings.site
    LEFT JOIN evidence_from ON all_scores.site = evidence_from.site
    WHERE all_scores.window_start >= coalesce(evidence_from.since_at, all_scores.window_start)
),

scored_timeline AS MATERIALIZED (
    SELECT
        site,
        window_start,
        row_number() OVER by_site AS scored_number,
        count(*) FILTER (NOT is_low) OVER by_site AS good_so_far
    FROM timeline
    WHERE score IS NOT NULL
    WINDOW by_site AS (PARTITION BY site ORDER BY window_start)
),

low_runs AS (
    SELECT
        site,
        window_start,
        row_number() OVER (
            PARTITION BY site, good_so_far ORDER BY window_start
        ) - CASE WHEN good_so_far > 0 THEN 1 ELSE 0 END AS low_in_a_row
    FROM scored_timeline
),

wanted_windows AS MATERIALIZED (
    SELECT
        site,
        window_start,
        window_end
    FROM timeline
    WHERE window_end > $start
),

weighted_scores AS (
    SELECT
        wanted_windows.site,
        wanted_windows.window_start,
        recent.score,
        recent.served_share,
        pow(
            0.5,
            date_diff('second', recent.window_start, wanted_windows.window_start)
            / (60 * site_settings.smoothing_half_life_minutes)
        ) AS weight,
        CASE
            WHEN
                recent.is_low
                AND recent.window_end
                > wanted_windows.window_end - to_hours(site_settings.lasting_hours)
                THEN recent.window_minutes
            ELSE 0
        END AS low_minutes
    FROM wanted_windows
    INNER JOIN site_settings ON wanted_windows.site = site_settings.site
    INNER JOIN timeline AS recent
        ON
            wanted_windows.site = recent.site
            AND recent.window_start <= wanted_windows.window_start
            AND recent.window_start
            > wanted_windows.window_start - to_hours(site_settings.smoothing_hours)
    WHERE recent.score IS NOT NULL
),

smoothed AS (
    SELECT
        site,
        window_start,
        round(sum(score * weight) / sum(weight), 9) AS smoothed_score,
        round(
            sum(served_share * weight) FILTER (served_share IS NOT NULL)
            / sum(weight) FILTER (served_share IS NOT NULL),
            9
        ) AS smoothed_served_share,
        sum(low_minutes) AS low_minutes
    FROM weighted_scores
    GROUP BY site, window_start
),

worst_bands AS (
    SELECT
        timeline.site,
        timeline.window_start,
        timeline.window_end,
        timeline.window_minutes,
        timeline.score,
        timeline.earlier_band,
        timeline.stood_on_refusal,
        smoothed.smoothed_score,
        smoothed.smoothed_served_share,
        coalesce(
            smoothed.smoothed_served_share < site_settings.pause_below_served_share - 1e-9,
            FALSE
        ) AS is_refused,
        CASE
            WHEN low_runs.low_in_a_row >= site_settings.low_windows_in_a_row THEN 'resisting'
            WHEN coalesce(smoothed.low_minutes, 0) < site_settings.degraded_after_low_minutes
                THEN 'healthy'
            WHEN smoothed.low_minutes < site_settings.resisting_after_low_minutes THEN 'degraded'
            ELSE 'resisting'
        END AS worst_band,
        CASE
            WHEN
                is_refused OR round_even(smoothed.smoothed_score, 0) < site_settings.degraded_from
                THEN 'resisting'
            WHEN round_even(smoothed.smoothed_score, 0) < site_settings.healthy_from
                THEN 'degraded'
            ELSE 'healthy'
        END AS shown_band
    FROM timeline
    INNER JOIN site_settings ON timeline.site = site_settings.site
    LEFT JOIN smoothed
        ON timeline.site = smoothed.site AND timeline.window_start = smoothed.window_start
    LEFT JOIN low_runs
        ON timeline.site = low_runs.site AND timeline.window_start = low_runs.window_start
),

own_bands AS (
    SELECT
        *,
        CASE
            WHEN score IS NULL THEN NULL
            WHEN earlier_band IS NOT NULL THEN earlier_band
            WHEN worst_band = 'healthy' OR shown_band = 'healthy' THEN 'healthy'
            WHEN worst_band = 'degraded' THEN 'degraded'
            ELSE shown_band
        END AS own_band,
        CASE
            WHEN score IS NULL THEN NULL
            WHEN earlier_band IS NOT NULL THEN stood_on_refusal
            ELSE worst_band = 'resisting' AND is_refused
        END AS own_refusal
    FROM worst_bands
),

standing_bands AS (
    SELECT
        *,
        last_value(own_band IGNORE NULLS) OVER so_far AS standing_band,
        last_value(own_refusal IGNORE NULLS) OVER so_far AS standing_refusal,
        max(window_end) FILTER (score IS NOT NULL) OVER so_far AS last_scored_end
    FROM own_bands
    WINDOW so_far AS (
        PARTITION BY site ORDER BY window_start
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),

bands AS MATERIALIZED (
    SELECT
        site,
        window_start,
        smoothed_score,
        smoothed_served_share,
        standing_refusal,
        CASE
            WHEN
                last_scored_end IS NULL
                OR last_scored_end < window_end - INTERVAL 24 HOUR - to_minutes(window_minutes)
                THEN 'unscored'
            ELSE standing_band
        END AS band
    FROM standing_bands
    WHERE window_end > $start
)

SELECT
    scored_windows.site,
    scored_windows.window_start,
    $config_version AS config_version,
    scored_windows.window_end,
    scored_windows.window_minutes,
    scored_windows.score,
    scored_windows.unscored_reason,
    bands.smoothed_score,
    scored_windows.served_share,
    bands.smoothed_served_share,
    bands.band,
    list_concat(
        CASE WHEN bands.band = 'resisting' AND bands.standing_refusal THEN ['refusal'] ELSE [] END,
        CASE
            WHEN scored_windows.score IS NULL THEN []
            ELSE
                list_concat(
                    list_transform(
                        list_sort(list_filter(
                            [
                                {
                                    'cost': -scored_windows.hard_block_cost,
                                    'tie': 1,
                                    'name': 'hard_block'
                                },
                                {
                                    'cost': -scored_windows.challenge_cost,
                                    'tie': 2,
                                    'name': 'challenge'
                                },
                                {
                                    'cost': -scored_windows.soft_block_cost,
                                    'tie': 3,
                                    'name': 'soft_block'
                                },
                                {
                                    'cost': -scored_windows.latency_cost,
                                    'tie': 4,
                                    'name': 'latency'
                                }
                            ],
                            LAMBDA signal: signal['cost'] <= -site_settings.reason_points
                        )),
                        LAMBDA signal: signal['name']
                    ),
                    CASE WHEN scored_windows.has_delivery_fallen THEN ['delivery'] ELSE [] END
                )
        END
    ) AS reasons,
    CASE WHEN scored_windows.score IS NOT NULL THEN scored_windows.hard_block_cost END
        AS hard_block_penalty,
    CASE WHEN scored_windows.score IS NOT NULL THEN scored_windows.challenge_cost END
        AS challenge_penalty,
    CASE WHEN scored_windows.score IS NOT NULL THEN scored_windows.soft_block_cost END
        AS soft_block_penalty,
    CASE WHEN scored_windows.score IS NOT NULL THEN scored_windows.latency_cost END
        AS latency_penalty,
    scored_windows.hard_block_rate,
    scored_windows.challenge_rate,
    scored_windows.soft_block_rate,
    scored_windows.p95_latency_ms,
    scored_windows.base_hard_block_rate,
    scored_windows.base_challenge_rate,
    scored_windows.base_soft_block_rate,
    scored_windows.base_p95_latency_ms,
    scored_windows.baseline_requests,
    scored_windows.baseline_days,
    scored_windows.delivery_share,
    scored_windows.base_delivery_share,
    scored_windows.parser_health,
    scored_windows.cost_ratio,
    CASE
        WHEN scored_windows.route IS NOT NULL THEN scored_windows.route
        WHEN scored_windows.score IS NOT NULL AND bands.band IN ('degraded', 'resisting')
            THEN 'site'
    END AS diagnosis,
    -- Hostility comes before the parser: a challenge page breaks every extractor.
    CASE
        WHEN scored_windows.route IS NOT NULL THEN 'route'
        WHEN bands.band IN ('degraded', 'resisting') THEN 'crawl'
        WHEN
            scored_windows.parser_health < site_settings.healthy_from
            AND scored_windows.excess_invalid >= site_settings.parser_min_invalid - 1e-9
            THEN
                CASE
                    WHEN
                        scored_windows.score < site_settings.healthy_from
                        OR scored_windows.served_share
                        < site_settings.pause_below_served_share - 1e-9
                        THEN 'crawl'
                    ELSE 'parser'
                END
    END AS owner
FROM scored_windows
INNER JOIN bands
    ON
        scored_windows.site = bands.site
        AND scored_windows.window_start = bands.window_start
INNER JOIN site_settings ON scored_windows.site = site_settings.site
