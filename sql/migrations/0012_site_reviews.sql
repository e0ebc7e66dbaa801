-- What people were asked and what they answered: decisions about sites, reviews of incidents.

-- One row a question. `run_id` names the run of the DAG site_review that waits for the answer: the
-- incident's id, with -2, -3 … where it is asked again; with review- before it for a review.
CREATE TABLE site_questions (
    run_id VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL CHECK (kind IN ('decision', 'review')),
    incident_id VARCHAR NOT NULL,
    site VARCHAR,
    asked_at TIMESTAMP NOT NULL,
    answered_at TIMESTAMP
);

-- Every answer, whether it was carried out or came too late (`is_applied` false, with why).
CREATE TABLE human_decisions (
    decision_id VARCHAR PRIMARY KEY,
    site VARCHAR NOT NULL,
    incident_id VARCHAR,
    run_id VARCHAR,
    choice VARCHAR NOT NULL,
    decided_by VARCHAR NOT NULL,
    why VARCHAR NOT NULL,
    decided_at TIMESTAMP NOT NULL,
    keep_until TIMESTAMP,
    is_applied BOOLEAN NOT NULL,
    outcome VARCHAR NOT NULL
);

-- Normals that people accepted: for windows that start from `baseline_from` on, no earlier window
-- of the site is known.
CREATE TABLE accepted_normals (
    site VARCHAR NOT NULL,
    baseline_from TIMESTAMP NOT NULL,
    accepted_by VARCHAR NOT NULL,
    why VARCHAR NOT NULL,
    accepted_at TIMESTAMP NOT NULL,
    PRIMARY KEY (site, baseline_from)
);

CREATE TABLE incident_reviews (
    incident_id VARCHAR PRIMARY KEY,
    site VARCHAR,
    kind VARCHAR NOT NULL,
    reviewed_by VARCHAR NOT NULL,
    reviewed_at TIMESTAMP NOT NULL,
    is_false_alarm BOOLEAN NOT NULL,
    was_early_enough BOOLEAN,
    are_reasons_right BOOLEAN,
    did_action_help BOOLEAN,
    onset_at TIMESTAMP, -- when the trouble really began
    note VARCHAR
);
