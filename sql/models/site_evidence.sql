-- Grain: site. What decisions are made on, as of the end of a run.
-- `fresh_scores` are the scores of windows that started since the last action on the site, by
-- themselves; sites that are not in `evidence_from` had none lately.
WITH bounds AS (
    SELECT
        site,
        lasting_hours,
        low_windows_in_a_row
    FROM site_settings
),

scored_windows AS (
    SELECT
        site_scores.site,
        site_scores.window_start,
        site_scores.window_end,
        site_scores.window_minutes,
        site_scores.band,
        site_scores.reasons,
        site_scores.smoothed_score,
        site_scores.score IS NOT NULL AS is_scored,
        list_contains(site_scores.reasons, 'delivery') AS has_delivery_fallen,
        site_scores.diagnosis,
        site_scores.owner,
        FALSE AS is_fresh
    FROM site_scores
    WHERE
        site_scores.config_version = $config_version
        AND site_scores.window_end <= $as_of
        AND site_scores.window_start >= $as_of - INTERVAL 3 DAY
),

fresh_windows AS (
    SELECT
        fresh_scores.site,
        fresh_scores.window_start,
        fresh_scores.window_end,
        fresh_scores.window_minutes,
        fresh_scores.band,
        fresh_scores.reasons,
        fresh_scores.smoothed_score,
        fresh_scores.score IS NOT NULL AS is_scored,
        list_contains(fresh_scores.reasons, 'delivery') AS has_delivery_fallen,
        fresh_scores.diagnosis,
        fresh_scores.owner,
        TRUE AS is_fresh
    FROM fresh_scores
    WHERE fresh_scores.window_end <= $as_of
),

all_windows AS (
    SELECT * FROM scored_windows
    UNION ALL
    SELECT * FROM fresh_windows
),

newest_windows AS (
    SELECT
        site,
        is_fresh,
        arg_max(window_end, window_start) AS window_end,
        arg_max(window_minutes, window_start) AS window_minutes,
        arg_max(band, window_start) AS band,
        arg_max(reasons, window_start) AS reasons,
        arg_max(smoothed_score, window_start) FILTER (
            smoothed_score IS NOT NULL
        ) AS smoothed_score,
        arg_max(has_delivery_fallen, window_start) FILTER (is_scored) AS has_delivery_fallen,
        arg_max_null(diagnosis, window_start) AS diagnosis,
        arg_max_null(owner, window_start) AS owner,
        max(window_end) FILTER (is_scored) AS scored_end
    FROM all_windows
    GROUP BY site, is_fresh
),

recent_falls AS (
    SELECT
        all_windows.site,
        all_windows.is_fresh,
        sum(all_windows.window_minutes) AS delivery_low_minutes
    FROM all_windows
    INNER JOIN newest_windows
        ON
            all_windows.site = newest_windows.site
            AND all_windows.is_fresh = newest_windows.is_fresh
    INNER JOIN bounds ON all_windows.site = bounds.site
    WHERE
        all_windows.has_delivery_fallen
        AND all_windows.window_end > newest_windows.scored_end - to_hours(bounds.lasting_hours)
    GROUP BY all_windows.site, all_windows.is_fresh
),

falling_sites AS (
    SELECT
        newest_windows.site,
        newest_windows.is_fresh,
        bounds.low_windows_in_a_row
    FROM newest_windows
    INNER JOIN bounds ON newest_windows.site = bounds.site
    WHERE newest_windows.has_delivery_fallen
),

older_windows AS (
    SELECT
        falling_sites.site,
        falling_sites.is_fresh,
        site_scores.window_start,
        list_contains(site_scores.reasons, 'delivery') AS has_delivery_fallen
    FROM site_scores
    INNER JOIN falling_sites ON site_scores.site = falling_sites.site
    LEFT JOIN evidence_from ON site_scores.site = evidence_from.site
    WHERE
        site_scores.config_version = $config_version
        AND site_scores.score IS NOT NULL
        AND site_scores.window_end <= $as_of
        AND site_scores.window_start
        >= date_trunc('day', $as_of) - to_days($longest_stretched_days)
        AND (
            NOT falling_sites.is_fresh
            OR site_scores.window_start >= evidence_from.since_at
        )
),

last_windows AS (
    SELECT
        older_windows.site,
        older_windows.is_fresh,
        older_windows.has_delivery_fallen,
        falling_sites.low_windows_in_a_row
    FROM older_windows
    INNER JOIN falling_sites
        ON
            older_windows.site = falling_sites.site
            AND older_windows.is_fresh = falling_sites.is_fresh
    QUALIFY
        row_number() OVER (
            PARTITION BY older_windows.site, older_windows.is_fresh
            ORDER BY older_windows.window_start DESC
        ) <= falling_sites.low_windows_in_a_row
),

falls_in_a_row AS (
    SELECT
        site,
        is_fresh,
        bool_and(has_delivery_fallen) AS all_have_fallen
    FROM last_windows
    GROUP BY site, is_fresh, low_windows_in_a_row
    HAVING count(*) = low_windows_in_a_row
),

standings AS (
    SELECT
        newest_windows.site,
        newest_windows.is_fresh,
        newest_windows.window_end,
        newest_windows.reasons,
        newest_windows.smoothed_score,
        newest_windows.diagnosis,
        newest_windows.owner,
        CASE
            WHEN
                newest_windows.window_end
                >= $as_of - INTERVAL 24 HOUR - to_minutes(newest_windows.window_minutes)
                THEN newest_windows.band
            ELSE 'unscored'
        END AS band,
        coalesce(newest_windows.has_delivery_fallen, FALSE)
        AND newest_windows.scored_end >= $as_of - INTERVAL 24 HOUR
        AND (
            coalesce(recent_falls.delivery_low_minutes, 0) >= $delivery_after_low_minutes
            OR coalesce(falls_in_a_row.all_have_fallen, FALSE)
        ) AS is_delivery_low,
        coalesce(newest_windows.scored_end > $as_of - INTERVAL 24 HOUR, FALSE) AS is_scored_lately
    FROM newest_windows
    LEFT JOIN recent_falls
        ON
            newest_windows.site = recent_falls.site
            AND newest_windows.is_fresh = recent_falls.is_fresh
    LEFT JOIN falls_in_a_row
        ON
            newest_windows.site = falls_in_a_row.site
            AND newest_windows.is_fresh = falls_in_a_row.is_fresh
)

SELECT
    known_sites.site,
    coalesce(whole.band, 'unscored') AS band,
    coalesce(whole.reasons, []) AS reasons,
    whole.smoothed_score,
    whole.window_end,
    coalesce(whole.is_delivery_low, FALSE) AS delivery_low,
    CASE
        WHEN evidence_from.site IS NULL THEN coalesce(whole.band, 'unscored')
        ELSE fresh.band
    END AS fresh_band,
    CASE
        WHEN evidence_from.site IS NULL THEN coalesce(whole.is_delivery_low, FALSE)
        ELSE coalesce(fresh.is_delivery_low, FALSE)
    END AS fresh_delivery_low,
    coalesce(whole.is_scored_lately, FALSE) AS scored_lately,
    whole.diagnosis,
    whole.owner
FROM known_sites
LEFT JOIN standings AS whole ON known_sites.site = whole.site AND NOT whole.is_fresh
LEFT JOIN standings AS fresh ON known_sites.site = fresh.site AND fresh.is_fresh
LEFT JOIN evidence_from ON known_sites.site = evidence_from.site
ORDER BY known_sites.site
