-- Grain: one row a fetch, in the window that it belongs to, of windows that have ended.
-- The final verdict is what was seen at landing, after the two soft-block rules that need history.
-- A fetch answered 304 says nothing about size or extraction.
WITH fetches AS (
    SELECT
        lake_fetches.event_id,
        lake_fetches.site,
        lake_fetches.ts,
        lake_fetches.url,
        coalesce(lake_fetches.page_type, '') AS page_type,
        lake_fetches.verdict,
        lake_fetches.latency_ms,
        lake_fetches.bytes,
        lake_fetches.attempts,
        lake_fetches.credits,
        lake_fetches.final_url,
        lake_fetches.content_hash,
        lake_fetches.text_hash,
        lake_fetches.item IS NOT NULL AS was_extracted,
        coalesce(lake_fetches.has_item_value, FALSE) AS has_item_value,
        CASE
            WHEN NOT coalesce(lake_fetches.has_item_value, FALSE) THEN 0
            WHEN starts_with(lake_fetches.item, '[') THEN json_array_length(lake_fetches.item)
            ELSE 1
        END AS items,
        lake_fetches.verdict = 'ok' AND lake_fetches.status BETWEEN 200 AND 299 AS is_full_answer,
        date_trunc('day', lake_fetches.ts) AS day_start,
        coalesce(site_window_lengths.window_minutes, 15) AS window_minutes,
        time_bucket(
            to_minutes(coalesce(site_window_lengths.window_minutes, 15)),
            lake_fetches.ts,
            TIMESTAMP '2000-01-01'
        ) AS window_start
    FROM lake_fetches
    LEFT JOIN site_window_lengths
        ON
            lake_fetches.site = site_window_lengths.site
            AND date_trunc('day', lake_fetches.ts) = site_window_lengths.day_start
    WHERE lake_fetches.canary IS NULL AND lake_fetches.ts < $end
),

ended_fetches AS (
    SELECT
        *,
        window_start + to_minutes(window_minutes) AS window_end
    FROM fetches
    WHERE
        window_start + to_minutes(window_minutes) > $start
        AND window_start + to_minutes(window_minutes) <= $end
),

profiles AS (
    SELECT
        page_profiles.site,
        page_profiles.day_start,
        page_profiles.page_type,
        page_profiles.median_bytes * site_settings.soft_block_size_share AS small_below_bytes,
        page_profiles.low_bytes
        >= page_profiles.median_bytes * site_settings.soft_block_size_share AS small_is_rare,
        page_profiles.item_share >= site_settings.soft_block_item_share AS items_are_usual,
        site_settings.soft_block_same_answer_urls AS same_answer_urls
    FROM page_profiles
    INNER JOIN site_settings ON page_profiles.site = site_settings.site
    WHERE
        page_profiles.day_start >= date_trunc('day', $start - INTERVAL 1 DAY)
        AND page_profiles.day_start < $end
),

itemless_fetches AS (
    SELECT
        ended_fetches.event_id,
        ended_fetches.site,
        ended_fetches.window_start,
        ended_fetches.url,
        ended_fetches.content_hash,
        ended_fetches.text_hash,
        nullif(ended_fetches.final_url, ended_fetches.url) AS final_url,
        profiles.same_answer_urls,
        coalesce(profiles.items_are_usual, FALSE) AS items_are_usual
    FROM ended_fetches
    LEFT JOIN profiles
        ON
            ended_fetches.site = profiles.site
            AND ended_fetches.day_start = profiles.day_start
            AND ended_fetches.page_type = profiles.page_type
    WHERE ended_fetches.is_full_answer AND NOT ended_fetches.has_item_value
),

suspect_windows AS (
    SELECT DISTINCT
        site,
        window_start
    FROM itemless_fetches
    WHERE items_are_usual
),

answers AS (
    SELECT
        itemless_fetches.event_id,
        itemless_fetches.site,
        itemless_fetches.window_start,
        itemless_fetches.url,
        itemless_fetches.same_answer_urls,
        itemless_fetches.items_are_usual,
        unnest([
            'content ' || itemless_fetches.content_hash,
            'text ' || itemless_fetches.text_hash,
            'url ' || itemless_fetches.final_url
        ]) AS answer
    FROM itemless_fetches
    SEMI JOIN suspect_windows
        ON
            itemless_fetches.site = suspect_windows.site
            AND itemless_fetches.window_start = suspect_windows.window_start
),

same_answers AS (
    SELECT
        site,
        window_start,
        answer
    FROM answers
    WHERE answer IS NOT NULL
    GROUP BY site, window_start, answer
    HAVING
        bool_or(items_are_usual)
        AND count(DISTINCT url) >= max(same_answer_urls)
),

same_answer_fetches AS (
    SELECT DISTINCT answers.event_id
    FROM answers
    SEMI JOIN same_answers
        ON
            answers.site = same_answers.site
            AND answers.window_start = same_answers.window_start
            AND answers.answer = same_answers.answer
    WHERE answers.items_are_usual
)

SELECT
    ended_fetches.site,
    ended_fetches.window_start,
    ended_fetches.window_end,
    ended_fetches.window_minutes,
    ended_fetches.page_type,
    ended_fetches.is_full_answer,
    ended_fetches.has_item_value,
    ended_fetches.items,
    ended_fetches.latency_ms,
    ended_fetches.bytes,
    ended_fetches.attempts,
    ended_fetches.credits,
    CASE
        WHEN
            ended_fetches.is_full_answer
            AND NOT ended_fetches.has_item_value
            AND (
                (
                    ended_fetches.bytes < profiles.small_below_bytes
                    AND (ended_fetches.was_extracted OR profiles.small_is_rare)
                )
                OR (profiles.items_are_usual AND same_answer_fetches.event_id IS NOT NULL)
            )
            THEN 'soft_block'
        ELSE ended_fetches.verdict
    END AS final_verdict
FROM ended_fetches
LEFT JOIN profiles
    ON
        ended_fetches.site = profiles.site
        AND ended_fetches.day_start = profiles.day_start
        AND ended_fetches.page_type = profiles.page_type
LEFT JOIN same_answer_fetches ON ended_fetches.event_id = same_answer_fetches.event_id
