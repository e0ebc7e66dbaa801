-- What landing has done. Rows are written in the transaction that makes a batch visible.

-- Files of the lake that exist for readers; a file not listed is an orphan of a killed landing.
CREATE TABLE lake_files (
    path VARCHAR NOT NULL, -- relative to the home
    hour_start TIMESTAMP NOT NULL,
    source VARCHAR, -- null: several
    row_count BIGINT NOT NULL,
    byte_count BIGINT NOT NULL,
    landed_at TIMESTAMP NOT NULL
);

-- Site-hours with new rows that the models have not seen yet.
CREATE TABLE landed_hours (
    site VARCHAR NOT NULL,
    hour_start TIMESTAMP NOT NULL
);

-- How far contents have been landed: the first byte_count (decompressed) bytes have this digest.
CREATE TABLE landed_contents (
    byte_count UBIGINT NOT NULL,
    digest VARCHAR NOT NULL,
    head_digest VARCHAR NOT NULL, -- of the first 4096 bytes, or of all where there are fewer
    resume_at UBIGINT NOT NULL, -- reading goes on here: an unfinished last line is read again
    line_count UBIGINT NOT NULL, -- lines before resume_at
    stretch BIGINT NOT NULL, -- the part of the content that resume_at lies in
    key UBIGINT NOT NULL, -- of that part: from it event ids are made
    open_line VARCHAR, -- what became of an unfinished last line: row, skipped or quarantined
    open_line_quarantine VARCHAR, -- the file that holds just that line, replaced when it is whole
    first_line UBIGINT, -- a hash of the first line
    reading VARCHAR, -- format and columns as JSON, so that a grown file is read as before
    source VARCHAR NOT NULL,
    landed_at TIMESTAMP NOT NULL
);

-- Files as last seen, so that an unchanged one is not read again.
CREATE TABLE inbox_files (
    path VARCHAR NOT NULL PRIMARY KEY,
    version VARCHAR NOT NULL, -- size and mtime, or etag
    fingerprint VARCHAR NOT NULL, -- of the source's configuration, for refused files
    state VARCHAR NOT NULL, -- landed, refused
    seen_at TIMESTAMP NOT NULL
);

-- Quarantined lines lie in these files; one not listed is an orphan.
CREATE TABLE quarantine_files (
    path VARCHAR NOT NULL, -- relative to the home
    source VARCHAR NOT NULL,
    line_count BIGINT NOT NULL,
    landed_at TIMESTAMP NOT NULL
);

-- What each landing brought, by source and reason; reason is null for rows.
CREATE TABLE landing_counts (
    landed_at TIMESTAMP NOT NULL,
    source VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL, -- row, skipped, quarantined
    reason VARCHAR,
    line_count BIGINT NOT NULL
);

-- Given event ids lately landed, as hashes of source and id.
CREATE TABLE given_event_ids (
    key UBIGINT NOT NULL,
    landed_at TIMESTAMP NOT NULL
);
