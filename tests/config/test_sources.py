from __future__ import annotations

from pathlib import Path

import pytest

from target_health.config.sources import load_sources
from target_health.errors import ConfigurationError
from target_health.paths import SHIPPED_CONFIG


def write(directory: Path, text: str) -> Path:
    (directory / "sources.yaml").write_text(text, encoding="utf-8")
    return directory


def test_shipped_file_is_whole() -> None:
    sources = load_sources(SHIPPED_CONFIG)
    assert "token" in sources.redact_parameters
    assert sources.source("anything").format is None


def test_columns_by_name_or_with_unit_and_directly(tmp_path: Path) -> None:
    text = (
        "sources: {x: {ts: file_mtime, columns: {url: Address, "
        "latency_ms: {column: 'Response Time', unit: s}}}}"
    )
    source = load_sources(write(tmp_path, text)).source("x")
    assert source.columns["ts"].column == "file_mtime"
    assert source.columns["url"].column == "Address"
    assert (source.columns["latency_ms"].column, source.columns["latency_ms"].unit) == (
        "Response Time",
        "s",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sources: {x: {format: xml}}", "sources.x.format"),
        ("sources: {x: {fromat: csv}}", "fromat: unknown key; allowed:"),
        ("sources: {x: {columns: {timestamp: t}}}", "'timestamp' is no field; allowed: ts, url"),
        ("sources: {x: {columns: [a]}}", "must map"),
        ("sources: {x: {columns: {ts: {column: a, unit: h}}}}", "unit"),
        ("sources: {x: {timezone: Mars/Base}}", "IANA time zone"),
        ("sources: {x: {delimiter: '::'}}", "delimiter"),
        ("sources: {x: {constants: {route: {gate: a}}}}", "gate: unknown key"),
        ("sources: [1]", "sources"),
        ("redact_parameters: 5", "redact_parameters"),
        ("half_line_minutes: soon", "half_line_minutes"),
        ("wrong_clock: {share: 2}", "wrong_clock.share"),
        ("batch_rows: 1", "batch_rows"),
        ("nonsense: 1", "nonsense: unknown key"),
        ("a: [", "cannot be read as YAML"),
    ],
)
def test_one_line_that_names_file_key_and_what_is_allowed(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_sources(write(tmp_path, text))
    message = str(caught.value)
    assert "sources.yaml" in message
    assert said in message
    assert "\n" not in message


def test_fingerprint_changes_with_the_entry_alone(tmp_path: Path) -> None:
    one = load_sources(write(tmp_path, "sources: {x: {timezone: Europe/Berlin}, y: {}}"))
    two = load_sources(write(tmp_path, "sources: {x: {timezone: Europe/Paris}, y: {}}"))
    assert one.fingerprint("x") != two.fingerprint("x")
    assert one.fingerprint("y") == two.fingerprint("y")
