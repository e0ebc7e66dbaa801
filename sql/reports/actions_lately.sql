-- What was done about which site in the last 14 days, by whom and why?
-- Newest first. What observe mode only recorded has `applied` false; a blown fuse has no site.
WITH clock AS (
    SELECT max(as_of) AS as_of
    FROM site_health
)

SELECT
    actions.decided_at,
    actions.site,
    actions.kind,
    actions.from_state,
    actions.to_state,
    actions.to_step,
    actions.concurrency_factor,
    actions.decided_by,
    actions.why,
    array_to_string(actions.reasons, ', ') AS reasons,
    actions.applied,
    actions.mode
FROM actions CROSS JOIN clock
WHERE actions.decided_at > clock.as_of - INTERVAL 14 DAY
ORDER BY actions.sequence DESC
