-- Grain: file_index, file_row_number: one row a fetch of the windows that have ended.
-- The final verdict is what was seen at landing, after the two soft-block rules that need history.
-- They judge only what was ok at landing, and a 304 says nothing about size or extraction.
-- Long texts are read for the fetches alone that could be one of many same answers.
WITH profiles AS (
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
        page_profiles.day_start >= date_trunc('day', $start)
        AND page_profiles.day_start < $end
),

lengths AS (
    SELECT
        site,
        day_start,
        window_minutes
    FROM site_window_lengths
    WHERE day_start >= date_trunc('day', $start) AND day_start < $end
),

fetches AS (
    SELECT
        lake_fetches.file_index,
        lake_fetches.file_row_number,
        lake_fetches.site,
        date_trunc('day', lake_fetches.ts) AS day_start,
        coalesce(lake_fetches.page_type, '') AS page_type,
        coalesce(lengths.window_minutes, 15) AS window_minutes,
        make_timestamp(
            epoch_us(lake_fetches.ts)
            - epoch_us(lake_fetches.ts) % (coalesce(lengths.window_minutes, 15) * 60000000::BIGINT)
        ) AS window_start,
        lake_fetches.verdict,
        lake_fetches.verdict = 'ok' AND lake_fetches.status BETWEEN 200 AND 299 AS is_full_answer,
        lake_fetches.item IS NOT NULL AS was_extracted,
        coalesce(lake_fetches.has_item_value, FALSE) AS has_item_value,
        CASE
            WHEN NOT coalesce(lake_fetches.has_item_value, FALSE) THEN 0
            WHEN starts_with(lake_fetches.item, '[')
                THEN json_array_length(lake_fetches.item)::BIGINT
            ELSE 1
        END AS items,
        lake_fetches.latency_ms,
        lake_fetches.bytes,
        lake_fetches.attempts,
        lake_fetches.credits,
        lake_fetches.route_gateway,
        lake_fetches.route_country,
        lake_fetches.route_pool,
        lake_fetches.route_session,
        lake_fetches.route_exit
    FROM lake_fetches
    LEFT JOIN lengths
        ON
            lake_fetches.site = lengths.site
            AND date_trunc('day', lake_fetches.ts) = lengths.day_start
    WHERE lake_fetches.canary IS NULL AND lake_fetches.ts < $end
),

itemless_sites AS (
    SELECT DISTINCT
        site,
        day_start
    FROM profiles
    WHERE items_are_usual
),

itemless_fetches AS (
    SELECT
        lake_fetches.file_index,
        lake_fetches.file_row_number,
        lake_fetches.site,
        lake_fetches.url,
        lake_fetches.content_hash,
        lake_fetches.text_hash,
        nullif(lake_fetches.final_url, lake_fetches.url) AS final_url,
        coalesce(lake_fetches.page_type, '') AS page_type,
        date_trunc('day', lake_fetches.ts) AS day_start,
        make_timestamp(
            epoch_us(lake_fetches.ts)
            - epoch_us(lake_fetches.ts) % (coalesce(lengths.window_minutes, 15) * 60000000::BIGINT)
        ) AS window_start
    FROM lake_fetches
    INNER JOIN itemless_sites
        ON
            lake_fetches.site = itemless_sites.site
            AND date_trunc('day', lake_fetches.ts) = itemless_sites.day_start
    LEFT JOIN lengths
        ON
            lake_fetches.site = lengths.site
            AND date_trunc('day', lake_fetches.ts) = lengths.day_start
    WHERE
        lake_fetches.canary IS NULL
        AND lake_fetches.ts < $end
        AND lake_fetches.verdict = 'ok'
        AND lake_fetches.status BETWEEN 200 AND 299
        AND NOT coalesce(lake_fetches.has_item_value, FALSE)
),

answers AS (
    SELECT
        itemless_fetches.file_index,
        itemless_fetches.file_row_number,
        itemless_fetches.site,
        itemless_fetches.window_start,
        itemless_fetches.url,
        profiles.same_answer_urls,
        coalesce(profiles.items_are_usual, FALSE) AS items_are_usual,
        unnest([
            'content ' || itemless_fetches.content_hash,
            'text ' || itemless_fetches.text_hash,
            'url ' || itemless_fetches.final_url
        ]) AS answer
    FROM itemless_fetches
    LEFT JOIN profiles
        ON
            itemless_fetches.site = profiles.site
            AND itemless_fetches.day_start = profiles.day_start
            AND itemless_fetches.page_type = profiles.page_type
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
    SELECT DISTINCT
        answers.file_index,
        answers.file_row_number
    FROM answers
    SEMI JOIN same_answers
        ON
            answers.site = same_answers.site
            AND answers.window_start = same_answers.window_start
            AND answers.answer = same_answers.answer
    WHERE answers.items_are_usual
)

SELECT
    fetches.file_index,
    fetches.file_row_number,
    fetches.site,
    fetches.window_start,
    fetches.window_start + to_minutes(fetches.window_minutes) AS window_end,
    fetches.window_minutes,
    fetches.page_type,
    fetches.is_full_answer,
    fetches.has_item_value,
    fetches.items,
    fetches.latency_ms,
    fetches.bytes,
    fetches.attempts,
    fetches.credits,
    fetches.route_gateway,
    fetches.route_country,
    fetches.route_pool,
    fetches.route_session,
    fetches.route_exit,
    CASE
        WHEN
            fetches.is_full_answer
            AND NOT fetches.has_item_value
            AND (
                (
                    fetches.bytes < profiles.small_below_bytes
                    AND (fetches.was_extracted OR profiles.small_is_rare)
                )
                OR same_answer_fetches.file_row_number IS NOT NULL
            )
            THEN 'soft_block'
        ELSE fetches.verdict
    END AS final_verdict
FROM fetches
LEFT JOIN profiles
    ON
        fetches.site = profiles.site
        AND fetches.day_start = profiles.day_start
        AND fetches.page_type = profiles.page_type
LEFT JOIN same_answer_fetches
    ON
        fetches.file_index = same_answer_fetches.file_index
        AND fetches.file_row_number = same_answer_fetches.file_row_number
WHERE
    fetches.window_start + to_minutes(fetches.window_minutes) > $start
    AND fetches.window_start + to_minutes(fetches.window_minutes) <= $end
