-- Which spells outside healthy are open or closed lately, since when, why, and was it real?
SELECT
    incidents.incident_id,
    incidents.site,
    incidents.kind,
    incidents.owner,
    incidents.diagnosis,
    incidents.first_movement_at,
    incidents.opened_at,
    incidents.closed_at,
    incidents.closed_by,
    incidents.close_reason,
    incidents.openings,
    incidents.band,
    incidents.worst_band,
    round(incidents.worst_score, 1) AS worst_score,
    array_to_string(incidents.reasons, ', ') AS reasons,
    len(incidents.actions) AS actions,
    NOT incident_reviews.is_false_alarm AS was_real
FROM incidents
LEFT JOIN incident_reviews ON incidents.incident_id = incident_reviews.incident_id
ORDER BY
    incidents.closed_at DESC NULLS FIRST, incidents.opened_at DESC, incidents.incident_id ASC
LIMIT 100
