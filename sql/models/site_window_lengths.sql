-- Grain: site, day_start.
WITH days AS (
    SELECT unnest(
        generate_series(date_trunc('day', $start), $end - INTERVAL 1 MICROSECOND, INTERVAL 1 DAY)
    ) AS day_start
),

site_days AS (
    SELECT
        site_settings.site,
        days.day_start,
        site_settings.window_minutes AS fixed_minutes,
        site_settings.min_requests,
        site_settings.baseline_days,
        site_settings.baseline_gap_days
    FROM site_settings CROSS JOIN days
),

crawled_hours AS (
    SELECT
        site,
        hour_start,
        judged
    FROM site_hours
    WHERE
        judged > 0
        AND hour_start >= date_trunc('day', $start) - to_days($longest_period_days)
        AND hour_start < $end
),

period_hours AS (
    SELECT
        site_days.site,
        site_days.day_start,
        crawled_hours.hour_start,
        crawled_hours.judged
    FROM site_days
    INNER JOIN crawled_hours
        ON
            site_days.site = crawled_hours.site
            AND crawled_hours.hour_start >= site_days.day_start - to_days(site_days.baseline_days)
            AND crawled_hours.hour_start
            < site_days.day_start - to_days(site_days.baseline_gap_days)
    WHERE site_days.fixed_minutes IS NULL
),

lengths AS (
    SELECT unnest([15, 30, 60, 120, 240, 480, 1440]) AS window_minutes
),

stretches AS (
    SELECT
        period_hours.site,
        period_hours.day_start,
        lengths.window_minutes,
        time_bucket(
            to_minutes(greatest(lengths.window_minutes, 60)),
            period_hours.hour_start,
            TIMESTAMP '2000-01-01'
        ) AS stretch_start,
        sum(period_hours.judged) AS judged
    FROM period_hours CROSS JOIN lengths
    GROUP BY ALL
),

expectations AS (
    SELECT
        site,
        day_start,
        window_minutes,
        avg(judged) * least(window_minutes, 60) / 60.0 AS full_speed_judged
    FROM stretches
    GROUP BY site, day_start, window_minutes
),

expected AS (
    SELECT
        expectations.site,
        expectations.day_start,
        expectations.window_minutes,
        avg(expectations.full_speed_judged)
        * coalesce(arg_max(pace_changes.concurrency_factor, pace_changes.sequence), 1.0) AS judged
    FROM expectations
    LEFT JOIN pace_changes
        ON
            expectations.site = pace_changes.site
            AND pace_changes.changed_at <= expectations.day_start
    GROUP BY expectations.site, expectations.day_start, expectations.window_minutes
),

shortest AS (
    SELECT
        expected.site,
        expected.day_start,
        min(expected.window_minutes) FILTER (
            expected.judged >= 2 * site_days.min_requests
        ) AS window_minutes
    FROM expected
    INNER JOIN site_days
        ON expected.site = site_days.site AND expected.day_start = site_days.day_start
    GROUP BY expected.site, expected.day_start
)

SELECT
    site_days.site,
    site_days.day_start,
    CASE
        WHEN site_days.fixed_minutes IS NOT NULL THEN site_days.fixed_minutes
        WHEN shortest.site IS NULL THEN 15
        ELSE coalesce(shortest.window_minutes, 1440)
    END AS window_minutes
FROM site_days
LEFT JOIN shortest
    ON site_days.site = shortest.site AND site_days.day_start = shortest.day_start
