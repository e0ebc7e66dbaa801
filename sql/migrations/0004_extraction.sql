-- What validating the items of ok fetches found. Rows stand until the window's fetches change:
-- making windows or scores again leaves them as they are.

-- Extractions of a window and those that passed every check. An extraction is one item, or an
-- attempt that brought none. A window without extractions has no row.
CREATE TABLE extraction_windows (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    extractions BIGINT NOT NULL,
    valid BIGINT NOT NULL,
    PRIMARY KEY (site, window_start)
);

-- Grain: site, window_start, page_type, field, expectation. `checked` are the values that the
-- expectation looked at: most pass over nulls. The empty field is the whole item.
CREATE TABLE extraction_checks (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    page_type VARCHAR NOT NULL,
    field VARCHAR NOT NULL,
    expectation VARCHAR NOT NULL,
    checked BIGINT NOT NULL,
    failed BIGINT NOT NULL
);

-- Items that could not be validated because their page type's suite is broken. They are validated
-- as soon as the suite is another one than `suite_digest`.
CREATE TABLE unchecked_items (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    page_type VARCHAR NOT NULL,
    items BIGINT NOT NULL,
    reason VARCHAR NOT NULL,
    suite_digest VARCHAR NOT NULL
);

-- The windows whose items were validated, and what they held then: a window that holds something
-- else by now, or has another length, is validated again.
CREATE TABLE validated_windows (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    window_end TIMESTAMP NOT NULL,
    requests BIGINT NOT NULL,
    ok BIGINT NOT NULL,
    items BIGINT NOT NULL,
    bytes BIGINT,
    p95_latency_ms DOUBLE
);

-- How many records of a window held a value in a field, for page types without a suite; the empty
-- field counts the records.
CREATE TABLE field_coverage (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    window_end TIMESTAMP NOT NULL,
    page_type VARCHAR NOT NULL,
    field VARCHAR NOT NULL,
    records BIGINT NOT NULL
);

-- The fields that were always there in the baseline period of a UTC day. A row with empty page type
-- and field says that the site's day was looked at.
CREATE TABLE learned_fields (
    site VARCHAR NOT NULL,
    day_start TIMESTAMP NOT NULL,
    page_type VARCHAR NOT NULL,
    field VARCHAR NOT NULL
);

-- What was landed before there were checks is validated by a backfill.
INSERT INTO model_progress
SELECT
    'extraction' AS progress_name,
    max(until_at) AS until_at
FROM model_progress
WHERE name = 'windows'
HAVING max(until_at) IS NOT NULL;
