-- Grain: site, window_start.
SELECT
    site,
    window_start,
    window_end,
    window_minutes,
    count(*) AS requests,
    count(*) FILTER (final_verdict NOT IN ('unknown', 'redirect')) AS judged,
    count(*) FILTER (final_verdict = 'ok') AS ok,
    count(*) FILTER (final_verdict = 'hard_block') AS hard_blocks,
    count(*) FILTER (final_verdict = 'challenge') AS challenges,
    count(*) FILTER (final_verdict = 'soft_block') AS soft_blocks,
    count(*) FILTER (final_verdict = 'soft_404') AS soft_404s,
    count(*) FILTER (final_verdict = 'paywalled') AS paywalled,
    count(*) FILTER (final_verdict = 'unknown') AS unknown,
    count(*) FILTER (final_verdict = 'server_error') AS server_errors,
    count(*) FILTER (final_verdict = 'client_error') AS client_errors,
    count(*) FILTER (final_verdict = 'not_found') AS not_found,
    count(*) FILTER (final_verdict = 'redirect') AS redirects,
    quantile_cont(latency_ms, 0.95) FILTER (final_verdict = 'ok') AS p95_latency_ms,
    sum(coalesce(attempts, 1))::BIGINT AS attempts,
    sum(bytes)::BIGINT AS bytes,
    sum(credits::DECIMAL(24, 6))::DOUBLE AS credits,
    sum(items)::BIGINT AS items
FROM window_fetches
GROUP BY site, window_start, window_end, window_minutes
