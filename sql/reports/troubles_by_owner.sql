-- Whose trouble is each fall: the crawl's, the parser's or a route's?
-- Of the newest window of every site; hostility first, for a challenge page breaks every extractor.
SELECT
    owner,
    site,
    diagnosis,
    band,
    reasons,
    round(smoothed_score, 1) AS smoothed_score,
    round(parser_health, 1) AS parser_health,
    round(delivery_share, 3) AS delivery_share,
    round(base_delivery_share, 3) AS base_delivery_share,
    round(cost_ratio, 2) AS cost_ratio,
    window_end
FROM site_health
WHERE owner IS NOT NULL OR list_contains(reasons, 'delivery')
ORDER BY list_position(['crawl', 'route', 'parser'], owner) ASC, smoothed_score ASC, site ASC
