-- Spells outside healthy, and which of them each action belongs to.

-- One row an incident; `site` is null for a blown fuse. At most one a site and kind is open: one
-- that comes back soon after its recovery goes on in the same row.
CREATE TABLE incidents (
    incident_id VARCHAR PRIMARY KEY,
    site VARCHAR,
    kind VARCHAR NOT NULL CHECK (
        kind IN ('hostility', 'parser', 'route', 'delivery', 'cost', 'deception', 'fuse')
    ),
    owner VARCHAR NOT NULL CHECK (owner IN ('crawl', 'parser', 'route')),
    mode VARCHAR NOT NULL,
    first_movement_at TIMESTAMP NOT NULL, -- when the first reason showed
    opened_at TIMESTAMP NOT NULL, -- end of the run that saw it
    closed_at TIMESTAMP,
    closed_by VARCHAR,
    close_reason VARCHAR,
    openings INTEGER NOT NULL,
    band VARCHAR NOT NULL,
    worst_band VARCHAR NOT NULL,
    score DOUBLE, -- smoothed
    worst_score DOUBLE,
    worst_served_share DOUBLE,
    reasons VARCHAR[] NOT NULL,
    reasons_over_time STRUCT(
        moved_at TIMESTAMP, band VARCHAR, score DOUBLE, reasons VARCHAR[], diagnosis VARCHAR
    )[] NOT NULL, -- band and reasons whenever they changed, in order
    diagnosis VARCHAR,
    seen_at TIMESTAMP NOT NULL, -- end of the last run that saw it
    quiet_since TIMESTAMP, -- end of the first run of the present row that did not
    last_run_end TIMESTAMP NOT NULL,
    -- {"as_of", "samples": […], "routes": […], "canaries": […]}, from when it was at its worst.
    evidence JSON,
    actions STRUCT(
        decided_at TIMESTAMP, kind VARCHAR, to_state VARCHAR, to_step INTEGER,
        decided_by VARCHAR, why VARCHAR, applied BOOLEAN
    )[] NOT NULL
);

ALTER TABLE actions ADD COLUMN incident_id VARCHAR;
ALTER TABLE planned_actions ADD COLUMN incident_id VARCHAR;
