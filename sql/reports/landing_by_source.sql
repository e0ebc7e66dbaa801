-- What came in from each source, and what could not be read?
-- Rows, skipped and quarantined lines together are all lines; `latest_line_count` are those of the
-- day before the newest landing. Quarantined lines lie under quarantine/ as they came.
WITH newest AS (
    SELECT max(landed_at) AS landed_at
    FROM landing_counts
)

SELECT
    landing_counts.source,
    landing_counts.outcome,
    landing_counts.reason,
    sum(landing_counts.line_count)::BIGINT AS line_count,
    round(
        sum(landing_counts.line_count)
        / sum(sum(landing_counts.line_count)) OVER (PARTITION BY landing_counts.source),
        4
    ) AS share_of_source,
    coalesce(
        sum(landing_counts.line_count) FILTER (
            landing_counts.landed_at > newest.landed_at - INTERVAL 24 HOUR
        ),
        0
    )::BIGINT AS latest_line_count,
    max(landing_counts.landed_at) AS last_landed_at
FROM landing_counts CROSS JOIN newest
GROUP BY landing_counts.source, landing_counts.outcome, landing_counts.reason
ORDER BY
    landing_counts.source ASC,
    list_position(['row', 'skipped', 'quarantined'], landing_counts.outcome) ASC,
    line_count DESC
