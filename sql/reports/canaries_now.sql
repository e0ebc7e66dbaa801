-- What do the canaries say of each site now, and where do they contradict its score?
SELECT
    canary_verdicts.site,
    canary_verdicts.verdict,
    canary_verdicts.deceived_since,
    canary_verdicts.suspect_since,
    canary_verdicts.records_since,
    canary_verdicts.pages,
    canary_verdicts.good_pages,
    array_to_string(canary_verdicts.wrong_pages, ', ') AS wrong_pages,
    canary_verdicts.refused_pages,
    canary_verdicts.unknown_pages,
    canary_verdicts.disagreement,
    array_to_string(canary_verdicts.notes, '; ') AS notes,
    site_health.band,
    site_health.state,
    canary_verdicts.observed_at
FROM canary_verdicts
LEFT JOIN site_health ON canary_verdicts.site = site_health.site
ORDER BY
    list_position(
        ['deceived', 'note', 'refused', 'unknown', 'good'], canary_verdicts.verdict
    ),
    canary_verdicts.site
