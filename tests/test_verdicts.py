"""The order of verdicts: the design's table, row by row, and its properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_health.verdicts import HARD_BLOCK_STATUSES, VERDICTS, has_item_value, verdict

STATUSES = st.one_of(st.none(), st.integers(100, 999))
ERRORS = st.sampled_from(
    [None, "connection_reset", "timeout", "dns", "tls", "proxy", "aborted", "other"]
)
EVIDENCE = st.lists(
    st.sampled_from(
        [
            "challenge:cloudflare",
            "soft_block:block_page",
            "soft_404:title",
            "paywalled:schema_org",
            "odd",
        ]
    ),
    max_size=4,
)


@pytest.mark.parametrize(
    ("status", "error", "evidence", "item", "expected"),
    [
        (200, "proxy", (), False, "unknown"),
        (407, None, ("challenge:x",), False, "unknown"),
        (None, "timeout", (), False, "unknown"),
        (None, "dns", (), False, "unknown"),
        (None, None, (), False, "unknown"),
        (None, "connection_reset", (), False, "hard_block"),
        (None, "connection_reset", ("challenge:x",), False, "challenge"),
        (200, "timeout", (), False, "ok"),
        (200, "connection_reset", (), False, "ok"),
        (200, None, ("challenge:x",), False, "challenge"),
        (403, None, ("challenge:x",), False, "challenge"),
        (503, None, ("challenge:x",), False, "challenge"),
        (404, None, ("challenge:x",), False, "challenge"),
        (200, None, ("challenge:x",), True, "ok"),
        (403, None, ("challenge:x",), True, "hard_block"),
        (403, None, (), True, "hard_block"),
        (429, None, (), False, "hard_block"),
        (451, None, (), False, "hard_block"),
        (999, None, (), False, "hard_block"),
        (404, None, ("soft_404:title",), False, "not_found"),
        (410, None, (), False, "not_found"),
        (500, None, (), False, "server_error"),
        (599, None, (), False, "server_error"),
        (400, None, (), False, "client_error"),
        (100, None, (), False, "client_error"),
        (600, None, (), False, "client_error"),
        (998, None, (), False, "client_error"),
        (301, None, (), False, "redirect"),
        (304, None, ("soft_404:title",), False, "ok"),
        (200, None, ("paywalled:a", "soft_404:b", "soft_block:c"), False, "soft_block"),
        (200, None, ("paywalled:a", "soft_404:b"), False, "soft_404"),
        (206, None, ("paywalled:a",), True, "paywalled"),
        (204, None, (), False, "ok"),
        (0, None, (), False, "unknown"),
    ],
)
def test_the_first_row_that_holds(
    status: int | None, error: str | None, evidence: tuple[str, ...], item: bool, expected: str
) -> None:
    assert verdict(status, error, evidence, item) == expected


@given(STATUSES, ERRORS, EVIDENCE, st.booleans())
def test_properties(status: int | None, error: str | None, evidence: list[str], item: bool) -> None:
    result = verdict(status, error, evidence, item)
    assert result in VERDICTS
    assert verdict(status, error, evidence[::-1] * 2, item) == result
    if error == "proxy":
        assert result == "unknown"
    elif status is not None:
        assert verdict(status, None, evidence, item) == result
    if status in HARD_BLOCK_STATUSES:
        assert result in ("challenge", "hard_block", "unknown")
    if result in ("soft_block", "soft_404", "paywalled"):
        assert status is not None
        assert 200 <= status < 300
    if result == "challenge":
        assert not item


@pytest.mark.parametrize(
    "item",
    [None, "", "  ", [], {}, [None], {"a": None, "b": ""}, {"a": {"b": [" "]}}, [[], {}]],
)
def test_nothing_is_no_value(item: object) -> None:
    assert not has_item_value(item)


@pytest.mark.parametrize("item", [0, False, "x", {"a": "", "b": 0}, [{"a": None}, {"a": "y"}], 1.5])
def test_one_field_is_a_value(item: object) -> None:
    assert has_item_value(item)


def test_deep_nesting_is_read() -> None:
    item: object = "x"
    for _ in range(100_000):
        item = [item]
    assert has_item_value(item)
