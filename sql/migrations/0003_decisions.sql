-- What was decided about each site: how it stands, the history, and the plan of the newest run.

-- One row a known site. A NULL `shadow` means that the site's mode is act; otherwise it is the
-- course that the site would have had, had the actions of observe mode been applied.
CREATE TABLE site_state (
    site VARCHAR PRIMARY KEY,
    state VARCHAR NOT NULL CHECK (state IN ('active', 'slowed', 'paused', 'stopped')),
    step INTEGER NOT NULL CHECK (step BETWEEN 0 AND 3),
    concurrency_factor DOUBLE NOT NULL CHECK (concurrency_factor BETWEEN 0 AND 1),
    revisit_factor DOUBLE NOT NULL CHECK (revisit_factor >= 1),
    concurrency INTEGER,
    revisit_interval_s DOUBLE,
    effective_cost DOUBLE,
    since TIMESTAMP NOT NULL,
    reasons VARCHAR[] NOT NULL,
    incident_id VARCHAR,
    -- Time of the last action or human decision: a downward step needs windows from here on.
    evidence_from TIMESTAMP,
    -- End of the first healthy run of the present unbroken row of them.
    healthy_since TIMESTAMP,
    -- End of the run that last acted on the site, and of the last that paused it or that would
    -- have, but for the fuse.
    acted_run_end TIMESTAMP,
    refused_run_end TIMESTAMP,
    paused_by_human BOOLEAN NOT NULL,
    shadow STRUCT(
        state VARCHAR,
        step INTEGER,
        since TIMESTAMP,
        reasons VARCHAR[],
        evidence_from TIMESTAMP,
        healthy_since TIMESTAMP,
        acted_run_end TIMESTAMP,
        refused_run_end TIMESTAMP,
        paused_by_human BOOLEAN
    ),
    normal_concurrency INTEGER,
    normal_revisit_interval_s DOUBLE,
    last_run_end TIMESTAMP,
    -- Counts the site's actions: a plan made on an older revision is void.
    revision BIGINT NOT NULL
);

-- The history, in the order of `sequence`. The factor of every site at a moment $at:
--   SELECT site, arg_max(concurrency_factor, (decided_at, sequence)) AS concurrency_factor
--   FROM actions WHERE applied AND site IS NOT NULL AND decided_at <= $at GROUP BY site
-- (a site without a row has factor 1). A blown fuse is a row of kind `fuse` without a site.
CREATE TABLE actions (
    action_id VARCHAR PRIMARY KEY,
    sequence BIGINT NOT NULL,
    site VARCHAR,
    decided_at TIMESTAMP NOT NULL,
    run_end TIMESTAMP,
    kind VARCHAR NOT NULL,
    from_state VARCHAR,
    to_state VARCHAR,
    from_step INTEGER,
    to_step INTEGER,
    concurrency_factor DOUBLE,
    revisit_factor DOUBLE,
    reasons VARCHAR[] NOT NULL,
    decided_by VARCHAR NOT NULL,
    why VARCHAR NOT NULL,
    applied BOOLEAN NOT NULL,
    mode VARCHAR NOT NULL
);

-- What the newest acting run decided; each row is carried out once, by its id.
CREATE TABLE planned_actions (
    action_id VARCHAR NOT NULL,
    site VARCHAR,
    decided_at TIMESTAMP NOT NULL,
    run_end TIMESTAMP NOT NULL,
    kind VARCHAR NOT NULL,
    from_state VARCHAR,
    to_state VARCHAR,
    from_step INTEGER,
    to_step INTEGER,
    concurrency_factor DOUBLE,
    revisit_factor DOUBLE,
    reasons VARCHAR[] NOT NULL,
    decided_by VARCHAR NOT NULL,
    why VARCHAR NOT NULL,
    applied BOOLEAN NOT NULL,
    mode VARCHAR NOT NULL,
    -- The revision of `site_state` that the action was decided on.
    revision BIGINT
);

-- Every run that was allowed to act, whether or not a site needed something.
CREATE TABLE acting_runs (
    run_end TIMESTAMP PRIMARY KEY,
    fleet INTEGER NOT NULL,
    fuse_sites VARCHAR[] NOT NULL
);
