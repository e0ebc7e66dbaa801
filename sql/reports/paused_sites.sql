-- What is paused, stopped or slowed, since when, by whom and why?
-- `state_if_acting` is how a site in observe mode would stand, had its actions been carried out.
WITH last_actions AS (
    SELECT
        site,
        arg_max(decided_by, sequence) AS decided_by,
        arg_max(why, sequence) AS why
    FROM actions
    WHERE site IS NOT NULL
    GROUP BY site
)

SELECT
    site_state.site,
    site_state.state,
    site_state.shadow.state AS state_if_acting,
    site_state.step,
    site_state.concurrency_factor,
    site_state.revisit_factor,
    CASE
        WHEN site_state.state = 'active' THEN site_state.shadow.since ELSE site_state.since
    END AS since_at,
    last_actions.decided_by,
    last_actions.why,
    array_to_string(
        CASE
            WHEN site_state.state = 'active' THEN site_state.shadow.reasons
            ELSE site_state.reasons
        END,
        ', '
    ) AS reasons,
    site_state.incident_id,
    site_health.band AS band_now,
    round(site_health.smoothed_score, 1) AS smoothed_score_now
FROM site_state
LEFT JOIN last_actions ON site_state.site = last_actions.site
LEFT JOIN site_health ON site_state.site = site_health.site
WHERE site_state.state <> 'active' OR site_state.shadow.state <> 'active'
ORDER BY
    list_position(['stopped', 'paused', 'slowed', 'active'], site_state.state),
    since_at,
    site_state.site
