-- Canaries: what was seen of pages whose values are known, and what it says of their sites.

-- One row a check of a fetch. The check `page` stands for a page as a whole.
CREATE TABLE canary_results (
    result_id VARCHAR PRIMARY KEY,
    run_id VARCHAR NOT NULL, -- of the run that fetched; of a crawler's own fetch its event_id
    site VARCHAR NOT NULL,
    page VARCHAR NOT NULL,
    check_name VARCHAR NOT NULL,
    url VARCHAR NOT NULL,
    observed_at TIMESTAMP NOT NULL, -- end of the fetch
    route VARCHAR NOT NULL, -- of routes.yaml; `crawler` for a crawler's own fetch
    is_production BOOLEAN NOT NULL,
    via VARCHAR NOT NULL CHECK (via IN ('fetch', 'crawl_log')),
    outcome VARCHAR NOT NULL CHECK (
        outcome IN ('pass', 'wrong_value', 'missing', 'blocked', 'challenged', 'unknown')
    ),
    page_outcome VARCHAR NOT NULL,
    expected VARCHAR NOT NULL,
    got VARCHAR,
    value JSON, -- what was got, as it would be accepted
    detail VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL, -- on the page, taken first
    status SMALLINT,
    error VARCHAR,
    evidence VARCHAR[] NOT NULL,
    final_url VARCHAR,
    latency_ms DOUBLE,
    recorded_at TIMESTAMP NOT NULL
);

-- How each canary stands through each route: the newest observation, and the newest that told
-- something of values.
CREATE TABLE canary_states (
    site VARCHAR NOT NULL,
    page VARCHAR NOT NULL,
    route VARCHAR NOT NULL,
    is_production BOOLEAN NOT NULL,
    newest_at TIMESTAMP NOT NULL,
    newest_outcome VARCHAR NOT NULL,
    newest_detail VARCHAR NOT NULL,
    told_at TIMESTAMP,
    told_outcome VARCHAR,
    told_detail VARCHAR NOT NULL,
    wrong_runs INTEGER NOT NULL,
    wrong_since TIMESTAMP,
    last_good_at TIMESTAMP,
    good_title VARCHAR,
    good_content_hash VARCHAR,
    good_text_hash VARCHAR,
    PRIMARY KEY (site, page, route)
);

-- One row a site with canaries: what they say now.
CREATE TABLE canary_verdicts (
    site VARCHAR PRIMARY KEY,
    verdict VARCHAR NOT NULL CHECK (
        verdict IN ('deceived', 'note', 'refused', 'good', 'unknown')
    ),
    deceived BOOLEAN NOT NULL,
    observed_at TIMESTAMP NOT NULL,
    deceived_since TIMESTAMP,
    suspect_since TIMESTAMP, -- the last good time of what is wrong now; null: never good
    records_since BIGINT, -- records collected after that
    fetches_since BIGINT, -- pages delivered after that
    pages INTEGER NOT NULL,
    good_pages INTEGER NOT NULL,
    wrong_pages VARCHAR[] NOT NULL,
    refused_pages INTEGER NOT NULL,
    unknown_pages INTEGER NOT NULL,
    disagreement VARCHAR, -- where canaries and score contradict each other
    notes VARCHAR[] NOT NULL
);

-- Every value that a person accepted as the new right one.
CREATE TABLE canary_acceptances (
    site VARCHAR NOT NULL,
    page VARCHAR NOT NULL,
    check_name VARCHAR NOT NULL,
    expectation VARCHAR NOT NULL, -- the check as configured then; another one voids the row
    old VARCHAR NOT NULL,
    new JSON NOT NULL,
    accepted_at TIMESTAMP NOT NULL,
    accepted_by VARCHAR NOT NULL,
    why VARCHAR NOT NULL
);

-- Skeletons kept by `canary record`; the newest row of a page counts.
CREATE TABLE canary_skeletons (
    site VARCHAR NOT NULL,
    page VARCHAR NOT NULL,
    skeleton BIGINT[] NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    recorded_by VARCHAR NOT NULL
);

-- What each site answers where nothing is; landing marks the same answer as `soft_404:probe`.
CREATE TABLE canary_missing_answers (
    site VARCHAR NOT NULL,
    page VARCHAR NOT NULL,
    url VARCHAR NOT NULL,
    final_url VARCHAR NOT NULL,
    status SMALLINT,
    title VARCHAR,
    byte_count BIGINT NOT NULL,
    content_hash VARCHAR,
    text_hash VARCHAR,
    learned_at TIMESTAMP NOT NULL, -- when this very answer was first seen
    seen_at TIMESTAMP NOT NULL,
    by_hash BOOLEAN NOT NULL, -- whether its hashes mark other fetches
    by_title BOOLEAN NOT NULL, -- whether its title and size do
    why_not VARCHAR NOT NULL,
    PRIMARY KEY (site, page)
);

-- Crawlers' own canary fetches, checked at landing where the body was at hand, until they are
-- recorded.
CREATE TABLE canary_landed_checks (
    event_id VARCHAR NOT NULL,
    site VARCHAR NOT NULL,
    observation JSON NOT NULL,
    landed_at TIMESTAMP NOT NULL
);

-- Up to which landing crawlers' own canary fetches are recorded.
CREATE TABLE canary_progress (landed_until TIMESTAMP NOT NULL);
