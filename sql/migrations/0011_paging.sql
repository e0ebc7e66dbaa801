-- Pages and digests, and whom they reached. A page is kept whatever becomes of its delivery.

CREATE TABLE pages (
    page_id VARCHAR PRIMARY KEY,
    incident_id VARCHAR, -- null: a digest
    site VARCHAR,
    owner VARCHAR NOT NULL CHECK (owner IN ('crawl', 'parser', 'proxy')),
    cause VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    queued_at TIMESTAMP NOT NULL,
    worst_score DOUBLE, -- of the incident, when the page was queued
    -- waiting, delivered (to every address), or observed: in observe mode nobody is called
    state VARCHAR NOT NULL CHECK (state IN ('waiting', 'delivered', 'observed')),
    delivered_at TIMESTAMP
);

-- One row a page and address; the address without its secrets.
CREATE TABLE page_deliveries (
    page_id VARCHAR NOT NULL,
    target_key VARCHAR NOT NULL,
    target VARCHAR NOT NULL,
    attempts INTEGER NOT NULL,
    attempted_at TIMESTAMP NOT NULL,
    delivered_at TIMESTAMP,
    error VARCHAR,
    PRIMARY KEY (page_id, target_key)
);

-- What is said once, until it changes.
CREATE TABLE notices_said (
    notice VARCHAR PRIMARY KEY,
    said_at TIMESTAMP NOT NULL
);
