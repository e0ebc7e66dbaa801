-- The tables that the models fill, and how far they have been filled.

CREATE TABLE known_sites (
    site VARCHAR NOT NULL,
    last_fetch_at TIMESTAMP
);

CREATE TABLE site_hours (
    site VARCHAR NOT NULL,
    hour_start TIMESTAMP NOT NULL,
    judged BIGINT NOT NULL,
    last_fetch_at TIMESTAMP NOT NULL
);

CREATE TABLE site_window_lengths (
    site VARCHAR NOT NULL,
    day_start TIMESTAMP NOT NULL,
    window_minutes INTEGER NOT NULL
);

CREATE TABLE page_profiles (
    site VARCHAR NOT NULL,
    day_start TIMESTAMP NOT NULL,
    page_type VARCHAR NOT NULL,
    ok BIGINT NOT NULL,
    item_share DOUBLE,
    median_bytes DOUBLE,
    low_bytes DOUBLE
);

CREATE TABLE page_windows (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    window_end TIMESTAMP NOT NULL,
    page_type VARCHAR NOT NULL,
    ok BIGINT NOT NULL,
    with_item BIGINT NOT NULL,
    sized BIGINT NOT NULL,
    median_bytes DOUBLE,
    low_bytes DOUBLE
);

CREATE TABLE site_windows (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    window_end TIMESTAMP NOT NULL,
    window_minutes INTEGER NOT NULL,
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
    items BIGINT NOT NULL
);

CREATE TABLE window_flags (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    window_end TIMESTAMP NOT NULL,
    config_version VARCHAR NOT NULL
);

CREATE TABLE site_baselines (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    window_end TIMESTAMP NOT NULL,
    config_version VARCHAR NOT NULL,
    period_start TIMESTAMP NOT NULL,
    period_end TIMESTAMP NOT NULL,
    is_enough BOOLEAN NOT NULL,
    is_used_up BOOLEAN NOT NULL,
    baseline_requests BIGINT NOT NULL,
    baseline_days BIGINT NOT NULL,
    base_hard_block_rate DOUBLE,
    base_challenge_rate DOUBLE,
    base_soft_block_rate DOUBLE,
    base_denied_share DOUBLE,
    base_unknown_share DOUBLE,
    base_delivery_share DOUBLE,
    base_failure_share DOUBLE,
    base_p95_latency_ms DOUBLE
);

CREATE TABLE site_scores (
    site VARCHAR NOT NULL,
    window_start TIMESTAMP NOT NULL,
    config_version VARCHAR NOT NULL,
    window_end TIMESTAMP NOT NULL,
    window_minutes INTEGER NOT NULL,
    score DOUBLE,
    unscored_reason VARCHAR,
    smoothed_score DOUBLE,
    served_share DOUBLE,
    smoothed_served_share DOUBLE,
    band VARCHAR NOT NULL,
    reasons VARCHAR[] NOT NULL,
    hard_block_penalty DOUBLE,
    challenge_penalty DOUBLE,
    soft_block_penalty DOUBLE,
    latency_penalty DOUBLE,
    hard_block_rate DOUBLE,
    challenge_rate DOUBLE,
    soft_block_rate DOUBLE,
    p95_latency_ms DOUBLE,
    base_hard_block_rate DOUBLE,
    base_challenge_rate DOUBLE,
    base_soft_block_rate DOUBLE,
    base_p95_latency_ms DOUBLE,
    baseline_requests BIGINT,
    baseline_days BIGINT,
    delivery_share DOUBLE,
    base_delivery_share DOUBLE,
    parser_health DOUBLE,
    cost_ratio DOUBLE,
    diagnosis VARCHAR,
    owner VARCHAR
);

-- Every window that ended by `until_at` is made; name is 'windows', or 'scores ' and a version.
CREATE TABLE model_progress (
    name VARCHAR NOT NULL,
    until_at TIMESTAMP NOT NULL
);

-- Sites whose windows changed after they were scored: scores from `since_at` on are to be made
-- again.
CREATE TABLE rescore_sites (
    site VARCHAR NOT NULL,
    since_at TIMESTAMP NOT NULL
);
