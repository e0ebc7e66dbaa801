-- Grain: site, window_start, config_version. Flagged windows only.
-- Only a window that denies more than flag_rise by itself can be above a median by that much, so
-- medians are taken for those alone.
WITH sized_windows AS MATERIALIZED (
    SELECT
        site_windows.site,
        site_windows.window_start,
        site_windows.window_end,
        (site_windows.hard_blocks + site_windows.challenges + site_windows.soft_blocks)
        / site_windows.judged AS denied_share,
        site_settings.flag_rise
    FROM site_windows
    INNER JOIN site_settings ON site_windows.site = site_settings.site
    WHERE
        site_windows.judged >= site_settings.min_requests
        AND site_windows.window_start
        >= date_trunc('day', $start) - to_days($longest_stretched_days)
        AND site_windows.window_end <= $end
),

earlier_flags AS (
    SELECT
        site,
        window_start
    FROM window_flags
    WHERE
        config_version = $config_version
        AND window_start >= date_trunc('day', $start) - to_days($longest_stretched_days)
        AND window_end <= $start
),

history AS MATERIALIZED (
    SELECT
        sized_windows.site,
        sized_windows.window_start,
        sized_windows.window_end,
        sized_windows.denied_share,
        earlier_flags.site IS NOT NULL AS is_flagged
    FROM sized_windows
    LEFT JOIN earlier_flags
        ON
            sized_windows.site = earlier_flags.site
            AND sized_windows.window_start = earlier_flags.window_start
),

candidates AS MATERIALIZED (
    SELECT
        sized_windows.site,
        sized_windows.window_start,
        sized_windows.window_end,
        sized_windows.denied_share,
        sized_windows.flag_rise,
        site_baselines.period_start,
        site_baselines.period_end
    FROM sized_windows
    INNER JOIN site_baselines
        ON
            sized_windows.site = site_baselines.site
            AND sized_windows.window_start = site_baselines.window_start
            AND site_baselines.config_version = $config_version
            AND site_baselines.window_end > $start
            AND site_baselines.window_end <= $end
    WHERE
        sized_windows.window_end > $start
        AND (
            sized_windows.denied_share > sized_windows.flag_rise
            OR sized_windows.site IN (SELECT earlier_flags.site FROM earlier_flags)
        )
),

judged_candidates AS (
    SELECT
        candidates.site,
        candidates.window_start,
        candidates.window_end,
        candidates.denied_share,
        candidates.flag_rise,
        count(*) AS period_windows,
        count(*) FILTER (NOT history.is_flagged) AS unflagged_windows,
        median(history.denied_share) FILTER (NOT history.is_flagged) AS usual_denied_share
    FROM candidates
    INNER JOIN history
        ON
            candidates.site = history.site
            AND history.window_start >= candidates.period_start
            AND history.window_end <= candidates.period_end
    GROUP BY ALL
)

SELECT
    site,
    window_start,
    window_end,
    $config_version AS config_version
FROM judged_candidates
WHERE
    unflagged_windows = 0
    OR denied_share > usual_denied_share + flag_rise + 1e-9
