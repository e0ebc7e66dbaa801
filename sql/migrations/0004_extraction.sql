-- What validation found in each window's items.
CREATE TABLE IF NOT EXISTS extraction_windows (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    extractions BIGINT NOT NULL,
    valid BIGINT NOT NULL,
    PRIMARY KEY (site, window_start)
);
