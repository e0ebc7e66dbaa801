-- What did each site cost day by day, and what did it bring?
-- An item that costs more every day is often the first thing to be seen of a site that resists.
WITH days AS (
    SELECT
        site,
        window_start::DATE AS day,
        sum(requests)::BIGINT AS requests,
        sum(attempts)::BIGINT AS attempts,
        sum(credits) AS credits,
        sum(bytes)::BIGINT AS bytes,
        sum(items)::BIGINT AS items,
        sum(ok)::BIGINT AS ok
    FROM site_windows
    GROUP BY ALL
)

SELECT
    site,
    day,
    requests,
    attempts,
    round(credits, 2) AS credits,
    bytes,
    ok,
    items,
    round(attempts / nullif(ok, 0), 3) AS attempts_per_ok,
    round(credits / nullif(items, 0), 4) AS credits_per_item
FROM days
ORDER BY day DESC, site ASC
