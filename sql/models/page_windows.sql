-- Grain: site, window_start, page_type.
SELECT
    site,
    window_start,
    window_end,
    page_type,
    count(*) AS ok,
    count(*) FILTER (has_item_value) AS with_item,
    count(bytes) AS sized,
    median(bytes) AS median_bytes,
    quantile_disc(bytes, $small_page_share) AS low_bytes
FROM window_fetches
WHERE is_full_answer AND final_verdict = 'ok'
GROUP BY site, window_start, window_end, page_type
