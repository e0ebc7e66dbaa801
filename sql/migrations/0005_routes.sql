-- Whose trouble it is: what each window served by route, and the windows that a route explains.

CREATE TABLE route_windows (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    window_end TIMESTAMP NOT NULL,
    window_minutes INTEGER NOT NULL,
    dimension VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    requests BIGINT NOT NULL,
    judged BIGINT NOT NULL,
    ok BIGINT NOT NULL,
    hard_blocks BIGINT NOT NULL,
    challenges BIGINT NOT NULL,
    soft_blocks BIGINT NOT NULL,
    soft_404s BIGINT NOT NULL,
    paywalled BIGINT NOT NULL,
    unknown BIGINT NOT NULL,
    server_errors BIGINT NOT NULL,
    client_errors BIGINT NOT NULL,
    not_found BIGINT NOT NULL,
    redirects BIGINT NOT NULL,
    p95_latency_ms DOUBLE,
    attempts BIGINT NOT NULL,
    bytes BIGINT,
    credits DOUBLE,
    items BIGINT NOT NULL,
    rest_p95_latency_ms DOUBLE
);

CREATE TABLE route_diagnoses (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    config_version VARCHAR NOT NULL,
    window_end TIMESTAMP NOT NULL,
    dimension VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    split_start TIMESTAMP NOT NULL,
    split_fetches BIGINT NOT NULL,
    split_failures BIGINT NOT NULL,
    base_failure_share DOUBLE NOT NULL,
    excess_failures DOUBLE NOT NULL,
    value_fetches BIGINT NOT NULL,
    value_failures BIGINT NOT NULL,
    value_excess_failures DOUBLE NOT NULL,
    value_base_failure_share DOUBLE NOT NULL,
    rest_fetches BIGINT NOT NULL,
    rest_failures BIGINT NOT NULL,
    rest_judged BIGINT NOT NULL,
    rest_base_failure_share DOUBLE NOT NULL
);

ALTER TABLE site_baselines ADD COLUMN base_extractions BIGINT;
ALTER TABLE site_baselines ADD COLUMN base_invalid_rate DOUBLE;
ALTER TABLE site_baselines ADD COLUMN base_attempts_per_record DOUBLE;
ALTER TABLE site_baselines ADD COLUMN base_credits_per_record DOUBLE;
