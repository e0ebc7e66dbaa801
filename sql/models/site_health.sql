-- Grain: site. Every site whose fetches were ever landed.
WITH recent_windows AS (
    SELECT
        site,
        max(window_start) AS window_start
    FROM site_scores
    WHERE
        config_version = $config_version
        AND window_start >= date_trunc('day', $as_of) - to_days($longest_stretched_days)
    GROUP BY site
),

silent_sites AS (
    SELECT known_sites.site
    FROM known_sites
    ANTI JOIN recent_windows ON known_sites.site = recent_windows.site
),

newest_windows AS (
    SELECT
        site,
        window_start
    FROM recent_windows
    UNION ALL
    SELECT
        site_scores.site,
        max(site_scores.window_start) AS window_start
    FROM site_scores
    INNER JOIN silent_sites ON site_scores.site = silent_sites.site
    WHERE site_scores.config_version = $config_version
    GROUP BY site_scores.site
),

newest_scores AS (
    SELECT site_scores.*
    FROM site_scores
    INNER JOIN newest_windows
        ON
            site_scores.site = newest_windows.site
            AND site_scores.window_start = newest_windows.window_start
    WHERE site_scores.config_version = $config_version
),

day_ago_scores AS (
    SELECT
        site_scores.site,
        arg_max(site_scores.smoothed_score, site_scores.window_start) AS smoothed_score
    FROM site_scores
    INNER JOIN newest_scores ON site_scores.site = newest_scores.site
    WHERE
        site_scores.config_version = $config_version
        AND site_scores.window_start
        >= date_trunc('day', $as_of) - to_days($longest_stretched_days)
        AND site_scores.smoothed_score IS NOT NULL
        AND site_scores.window_end <= newest_scores.window_end - INTERVAL 24 HOUR
        AND site_scores.window_end > newest_scores.window_end - INTERVAL 48 HOUR
    GROUP BY site_scores.site
),

-- A record is a valid one; where nothing was extracted, a page that came.
priced_windows AS (
    SELECT
        site_windows.site,
        site_windows.window_start,
        coalesce(site_windows.credits, site_windows.attempts) AS cost,
        CASE WHEN site_windows.credits IS NULL THEN 'attempts' ELSE 'credits' END AS cost_unit,
        CASE
            WHEN extraction_windows.extractions > 0 THEN extraction_windows.valid
            ELSE site_windows.ok
        END AS records
    FROM newest_scores
    INNER JOIN site_windows
        ON
            newest_scores.site = site_windows.site
            AND site_windows.window_end <= newest_scores.window_end
            AND site_windows.window_start > newest_scores.window_start - INTERVAL 24 HOUR
    LEFT JOIN extraction_windows
        ON
            site_windows.site = extraction_windows.site
            AND site_windows.window_start = extraction_windows.window_start
    WHERE
        site_windows.window_start >= $as_of - INTERVAL 3 DAY
),

newest_costs AS (
    SELECT
        site,
        arg_max(cost / records, window_start) AS cost_per_record,
        arg_max(cost_unit, window_start) AS cost_unit
    FROM priced_windows
    WHERE records > 0
    GROUP BY site
)

SELECT
    known_sites.site,
    newest_scores.window_start,
    newest_scores.config_version,
    newest_scores.window_end,
    newest_scores.window_minutes,
    newest_scores.score,
    newest_scores.unscored_reason,
    newest_scores.smoothed_score,
    newest_scores.smoothed_score - day_ago_scores.smoothed_score AS smoothed_score_day_change,
    newest_scores.served_share,
    newest_scores.smoothed_served_share,
    CASE
        WHEN
            newest_scores.window_end
            >= $as_of - INTERVAL 24 HOUR - to_minutes(newest_scores.window_minutes)
            THEN newest_scores.band
        ELSE 'unscored'
    END AS band,
    coalesce(newest_scores.reasons, []) AS reasons,
    newest_scores.hard_block_penalty,
    newest_scores.challenge_penalty,
    newest_scores.soft_block_penalty,
    newest_scores.latency_penalty,
    newest_scores.hard_block_rate,
    newest_scores.challenge_rate,
    newest_scores.soft_block_rate,
    newest_scores.p95_latency_ms,
    newest_scores.base_hard_block_rate,
    newest_scores.base_challenge_rate,
    newest_scores.base_soft_block_rate,
    newest_scores.base_p95_latency_ms,
    newest_scores.baseline_requests,
    newest_scores.baseline_days,
    newest_scores.delivery_share,
    newest_scores.base_delivery_share,
    newest_scores.parser_health,
    newest_scores.cost_ratio,
    newest_costs.cost_per_record,
    newest_costs.cost_unit,
    newest_scores.diagnosis,
    newest_scores.owner,
    coalesce(site_state.state, 'active') AS state,
    coalesce(site_state.step, 0) AS step,
    coalesce(site_state.concurrency_factor, 1.0) AS concurrency_factor,
    coalesce(site_state.revisit_factor, 1.0) AS revisit_factor,
    site_state.since,
    site_state.incident_id,
    known_sites.last_fetch_at,
    $as_of AS as_of
FROM known_sites
LEFT JOIN newest_scores ON known_sites.site = newest_scores.site
LEFT JOIN day_ago_scores ON known_sites.site = day_ago_scores.site
LEFT JOIN newest_costs ON known_sites.site = newest_costs.site
LEFT JOIN site_state ON known_sites.site = site_state.site
