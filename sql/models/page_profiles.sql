-- Grain: site, day_start, page_type.
-- What a page type's ok fetches were like in the baseline period of a UTC day, from the windows'
-- own medians: each window's median stands for its fetches.
WITH days AS (
    SELECT unnest(
        generate_series(date_trunc('day', $start), $end - INTERVAL 1 MICROSECOND, INTERVAL 1 DAY)
    ) AS day_start
),

site_days AS (
    SELECT
        site_settings.site,
        days.day_start,
        days.day_start - to_days(site_settings.baseline_days) AS period_start,
        days.day_start - to_days(site_settings.baseline_max_days) AS longest_period_start,
        days.day_start - to_days(site_settings.baseline_gap_days) AS period_end,
        site_settings.min_baseline_requests,
        site_settings.min_baseline_days,
        CASE
            WHEN days.day_start >= site_settings.baseline_from THEN site_settings.baseline_from
        END AS baseline_from
    FROM site_settings CROSS JOIN days
),

site_coverage AS (
    SELECT
        site_days.site,
        site_days.day_start,
        coalesce(sum(site_hours.judged), 0) AS judged,
        count(DISTINCT date_trunc('day', site_hours.hour_start)) AS judged_days
    FROM site_days
    INNER JOIN site_hours
        ON
            site_days.site = site_hours.site
            AND site_hours.judged > 0
            AND site_hours.hour_start >= site_days.period_start
            AND site_hours.hour_start < site_days.period_end
    WHERE
        site_hours.hour_start >= date_trunc('day', $start) - to_days($longest_period_days)
        AND site_hours.hour_start < $end
    GROUP BY site_days.site, site_days.day_start
),

periods AS (
    SELECT
        site_days.site,
        site_days.day_start,
        site_days.period_end,
        greatest(
            CASE
                WHEN
                    coalesce(site_coverage.judged, 0) >= site_days.min_baseline_requests
                    AND coalesce(site_coverage.judged_days, 0) >= site_days.min_baseline_days
                    THEN site_days.period_start
                ELSE site_days.longest_period_start
            END,
            site_days.baseline_from
        ) AS period_start
    FROM site_days
    LEFT JOIN site_coverage
        ON
            site_days.site = site_coverage.site
            AND site_days.day_start = site_coverage.day_start
),

history AS (
    SELECT
        periods.site,
        periods.day_start,
        page_windows.page_type,
        page_windows.ok,
        page_windows.with_item,
        page_windows.sized,
        page_windows.median_bytes,
        page_windows.low_bytes
    FROM periods
    INNER JOIN page_windows
        ON
            periods.site = page_windows.site
            AND page_windows.window_start >= periods.period_start
            AND page_windows.window_end <= periods.period_end
    WHERE
        page_windows.window_start
        >= date_trunc('day', $start) - to_days($longest_stretched_days)
        AND page_windows.window_start < $end
),

ranked_sizes AS (
    SELECT
        site,
        day_start,
        page_type,
        median_bytes,
        sum(sized) OVER by_median AS sized_up_to,
        sum(sized) OVER whole AS sized_in_all
    FROM history
    WHERE sized > 0
    WINDOW
        whole AS (PARTITION BY site, day_start, page_type),
        by_median AS (
            PARTITION BY site, day_start, page_type ORDER BY median_bytes
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
),

medians AS (
    SELECT
        site,
        day_start,
        page_type,
        min(median_bytes) FILTER (2 * sized_up_to >= sized_in_all) AS median_bytes
    FROM ranked_sizes
    GROUP BY site, day_start, page_type
),

totals AS (
    SELECT
        site,
        day_start,
        page_type,
        sum(ok)::BIGINT AS ok,
        sum(with_item) / nullif(sum(ok), 0) AS item_share,
        median(low_bytes) FILTER (sized > 0) AS low_bytes
    FROM history
    GROUP BY site, day_start, page_type
)

SELECT
    totals.site,
    totals.day_start,
    totals.page_type,
    totals.ok,
    totals.item_share,
    medians.median_bytes,
    totals.low_bytes
FROM totals
LEFT JOIN medians
    ON
        totals.site = medians.site
        AND totals.day_start = medians.day_start
        AND totals.page_type = medians.page_type
