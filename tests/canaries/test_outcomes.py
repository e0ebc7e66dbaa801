"""What a page says of its checks: selectors, expectations, the page's verdict first."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_health.canaries.expectations import expectation_key, new_expectation
from target_health.canaries.outcomes import observe, same_place
from target_health.canaries.records import Acceptance, Answer, Known, Observation, Watch
from target_health.canaries.skeleton import likeness
from target_health.canaries.values import readings
from target_health.config.canaries import CanaryPage, Check
from target_health.pages import shipped_markers

URL = "https://shop.example/p"
TEXT = "<p>" + "Here is a lot to read about kettles, pots and spoons of all kinds. " * 12 + "</p>"
PAGE = (
    "<html><head><title>Kettle - Shop</title></head><body class='p'><h1>Blue  kettle</h1>"
    f"{TEXT}<span class='price' data-net='41,18'>49,90 €</span>"
    "<ul><li>one</li><li>two</li><li>three</li></ul><!-- sku: AB-7 --></body></html>"
)
DATA = {"id": 7, "price": 49.9, "stock": True, "tags": ["a", "b"], "items": [{"id": 1}, {"id": 2}]}
HTML = {"Content-Type": "text/html; charset=utf-8"}


def page(*checks: dict[str, Any], **more: Any) -> CanaryPage:
    return CanaryPage(id="kettle", url=URL, checks=tuple(Check(**one) for one in checks), **more)


def seen(watched: CanaryPage, known: Known = Known(), **answer: Any) -> Observation:
    given_answer = Answer(
        **{"status": 200, "headers": HTML, "final_url": URL, "body": PAGE.encode(), **answer}
    )
    return observe(
        Watch("shop.example", watched, "direct", is_production=True),
        given_answer,
        known,
        shipped_markers(),
        observed_at=datetime(2026, 3, 1),
        structure_share=0.8,
    )


def outcome(check: dict[str, Any], **answer: Any) -> str:
    [result] = seen(page(check), **answer).checks
    return result.outcome


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ({"css": "h1::text", "equals": "Blue kettle"}, "pass"),
        ({"css": "h1", "equals": "Red kettle"}, "wrong_value"),
        ({"css": "h2", "equals": "Blue kettle"}, "missing"),
        ({"css": ".price::text", "number": 49.9}, "pass"),
        ({"css": ".price::text", "number": 49, "tolerance": 0.5}, "wrong_value"),
        ({"css": ".price::text", "number": 49, "tolerance": "2%"}, "pass"),
        ({"css": ".price::attr(data-net)", "range": [41, 42]}, "pass"),
        ({"css": ".price::attr(data-net)", "range": [42, 43]}, "wrong_value"),
        ({"css": "h1", "number": 3}, "wrong_value"),
        ({"css": "li", "count": 3}, "pass"),
        ({"css": "li", "count": [4, 9]}, "wrong_value"),
        ({"css": "dd", "count": [1, 9]}, "wrong_value"),
        ({"css": "li", "equals": ["one", "two", "three"]}, "pass"),
        ({"css": "li", "equals": ["two", "one", "three"]}, "wrong_value"),
        ({"xpath": "count(//li)", "equals": 3}, "pass"),
        ({"xpath": "//li[2]/text()", "one_of": ["two", "deux"]}, "pass"),
        ({"xpath": "//li[2]/text()", "one_of": ["deux"]}, "wrong_value"),
        ({"xpath": "//li", "present": True}, "pass"),
        ({"regex": r"sku: (\S+)", "equals": "AB-7"}, "pass"),
        ({"regex": r"sku: [A-Z]+", "equals": "sku: AB"}, "pass"),
        ({"regex": r"ean: (\d+)", "present": True}, "missing"),
        ({"header": "content-type", "equals": "text/html; charset=utf-8"}, "pass"),
        ({"header": "X-None", "present": True}, "missing"),
        ({"title": "Kettle - Shop"}, "pass"),
        ({"title": ["Pot - Shop", "Kettle - Shop"]}, "pass"),
        ({"title": "Pot - Shop"}, "wrong_value"),
        ({"status": 200}, "pass"),
        ({"status": [201, 202]}, "wrong_value"),
        ({"contains": "lot to READ"}, "pass"),
        ({"contains": "Add to basket"}, "missing"),
        ({"absent": "Add to basket"}, "pass"),
        ({"absent": "kettles, pots"}, "wrong_value"),
        ({"size": [500, 5000]}, "pass"),
        ({"size": [5000, 50000]}, "wrong_value"),
        ({"jsonpath": "$.id", "equals": 7}, "missing"),
        ({"structure": "unchanged"}, "unknown"),
    ],
)
def test_checks_of_a_page(check: dict[str, Any], expected: str) -> None:
    assert outcome(check) == expected


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ({"jsonpath": "$.id", "equals": 7}, "pass"),
        ({"jsonpath": "$.stock", "equals": True}, "pass"),
        ({"jsonpath": "$.price", "number": 50, "tolerance": 0.2}, "pass"),
        ({"jsonpath": "$.items[*].id", "equals": [1, 2]}, "pass"),
        ({"jsonpath": "$.items[*].id", "equals": [2, 1]}, "wrong_value"),
        ({"jsonpath": "$.tags[*]", "count": 2}, "pass"),
        ({"jsonpath": "$.none", "present": True}, "missing"),
        ({"contains": '"price": 49.9'}, "pass"),
        ({"css": "h1", "present": True}, "missing"),
    ],
)
def test_checks_of_data(check: dict[str, Any], expected: str) -> None:
    body = json.dumps(DATA).encode()
    assert outcome(check, body=body, headers={"content-type": "application/json"}) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1251", "shift_jis"])
def test_encodings(encoding: str) -> None:
    word = {"utf-8": "Чайник é", "windows-1251": "Чайник", "shift_jis": "やかん"}[encoding]
    body = f"<meta charset={encoding}><h1>{word}</h1>{TEXT}".encode(encoding)
    assert outcome({"css": "h1", "equals": word}, body=body, headers={}) == "pass"


def test_broken_bytes_cost_only_themselves() -> None:
    body = PAGE.encode().replace(b"one", b"o\xffe")
    check = {"css": "li:last-child", "equals": "three"}
    assert outcome(check, body=body) == "pass"
    assert outcome({"jsonpath": "$.id", "equals": 7}, body=b'{"id": 7, "x": "\xff') == "missing"


@pytest.mark.parametrize(
    ("answer", "expected", "detail"),
    [
        ({"status": 403}, "blocked", "hard block, 403, though the values are right"),
        ({"status": 403, "body": b"<h1>Access denied</h1>"}, "blocked", "hard block, 403"),
        ({"status": None, "error": "timeout", "body": b""}, "unknown", "unknown, timeout"),
        ({"status": None, "error": "proxy", "body": b""}, "unknown", "unknown, proxy"),
        ({"status": 407}, "unknown", "unknown, 407"),
        ({"status": 503}, "unknown", "server error, 503"),
        ({"status": 404}, "missing", "not found, 404, though the values are right"),
        ({"status": 401}, "blocked", "client error, 401, though the values are right"),
        ({"headers": {"cf-mitigated": "challenge"}, "status": 403}, "challenged", None),
        (
            {"final_url": "https://shop.example/account/login?next=/p", "body": b"<h1>Hi</h1>"},
            "blocked",
            "sent to a log-in",
        ),
        (
            {"final_url": "https://id.example/x", "body": b"<input type='Password'><p>Hello</p>"},
            "blocked",
            "sent to a log-in",
        ),
    ],
)
def test_the_pages_verdict_comes_first(
    answer: dict[str, Any], expected: str, detail: str | None
) -> None:
    found = seen(page({"css": "h1", "equals": "Blue kettle"}), **answer)
    assert found.outcome == expected
    assert detail is None or found.checks[0].detail == detail


def test_another_page_has_other_values_but_tells_no_lie() -> None:
    other = PAGE.replace("Blue  kettle", "All our kettles").encode()
    found = seen(
        page({"css": "h1", "equals": "Blue kettle"}, {"css": "li", "count": 3}),
        body=other,
        final_url="https://shop.example/",
    )
    assert [check.outcome for check in found.checks] == ["missing", "pass"]
    assert found.checks[0].detail == "sent to https://shop.example/"
    assert seen(page({"css": "li", "count": 3}), final_url="https://www.shop.example/p/").outcome


def test_a_status_that_is_expected_is_no_refusal() -> None:
    check = {"css": "h1", "equals": "Blue kettle"}
    assert seen(page(check, {"status": 404}), status=404).outcome == "pass"
    assert seen(page(check, {"status": 403}), status=403).outcome == "blocked"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": 404}, "pass"),
        ({"status": 200}, "pass"),
        ({"status": 200, "final_url": "https://shop.example/"}, "pass"),
        ({"status": 403}, "blocked"),
        ({"status": None, "error": "dns", "body": b""}, "unknown"),
        ({"final_url": "https://shop.example/login", "body": b"<p>Log in</p>"}, "blocked"),
    ],
)
def test_a_page_that_must_not_exist(answer: dict[str, Any], expected: str) -> None:
    assert seen(CanaryPage(id="nowhere", url=URL, missing=True), **answer).outcome == expected


def test_structure_is_compared_with_what_was_kept() -> None:
    check = page({"structure": "unchanged"})
    kept = Known(skeleton=seen(check).facts.skeleton)
    longer = PAGE.replace("<li>three</li>", "<li>three</li><li>four</li>").replace("49,90", "1")
    assert seen(check, kept, body=longer.encode()).outcome == "pass"
    other = f"<html><body><main><section><div>{TEXT}</div><form><input></form></section></main>"
    found = seen(check, kept, body=other.encode())
    assert found.outcome == "missing"
    assert found.checks[0].got is not None
    data = seen(check, body=json.dumps(DATA).encode()).facts.skeleton
    same = seen(check, body=json.dumps({**DATA, "price": 3}).encode()).facts.skeleton
    assert data
    assert likeness(data, same) == 1


def test_what_cannot_be_told_says_nothing_of_what_can() -> None:
    both = page({"structure": "unchanged"}, {"css": "h1", "equals": "Blue kettle"})
    assert seen(both).outcome == "pass"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("49,90 €", (49.9,)),
        ("$1,299.50", (1299.5,)),
        ("1.299,00 €", (1299.0,)),
        ("1 299 kr", (1299.0,)),
        ("1'299.00", (1299.0,)),
        ("1.299", (1.299, 1299.0)),
        ("1,299", (1.299, 1299.0)),
        ("0.125", (0.125,)),
        ("12.345.678", (12345678.0,)),
        ("−5", (-5.0,)),
        ("from 10", (10.0,)),
        ("free", ()),
        ("1,2.3,4", ()),
        ("", ()),
    ],
)
def test_numbers_as_pages_write_them(text: str, numbers: tuple[float, ...]) -> None:
    assert readings(text) == numbers


@given(st.integers(0, 10**9), st.sampled_from([",", ".", " ", "'", "\u00a0"]))
def test_grouped_numbers_are_read_as_they_are_meant(number: int, mark: str) -> None:
    assert float(number) in readings(f"{number:,}".replace(",", mark) + " €")


@pytest.mark.parametrize(
    ("check", "was", "told"),
    [
        ({"css": "h1", "equals": "Red"}, "Red", "Blue kettle"),
        (
            {"css": "li", "equals": ["two", "one", "three"]},
            "[two, one, three]",
            "[one, two, three]",
        ),
        ({"css": ".price::text", "number": 10, "tolerance": 0.5}, "10 ± 0.5", "49.9 ± 0.5"),
        ({"css": ".price::text", "range": [1, 9]}, "1 to 9", "1 to 49.9"),
        ({"css": "li", "count": 5}, "5", "3 to 5"),
        ({"css": "h1", "one_of": ["Red"]}, "one of Red", "one of Red, Blue kettle"),
        ({"title": ["Pot - Shop"]}, "one of Pot - Shop", "one of Kettle - Shop"),
        ({"status": 201}, "201", "one of 201, 200"),
        ({"size": [1, 9]}, "1 to 9 bytes", f"1 to {len(PAGE.encode())} bytes"),
    ],
)
def test_what_is_accepted_is_expected_from_then_on(
    check: dict[str, Any], was: str, told: str
) -> None:
    watched = page(check)
    [wrong] = seen(watched).checks
    assert (wrong.outcome, wrong.expected) == ("wrong_value", was)
    assert wrong.value is not None
    new = new_expectation(watched.checks[0], json.loads(wrong.value))
    accepted = Acceptance(
        "shop.example", "kettle", wrong.check, expectation_key(watched.checks[0]), was,
        json.dumps(new), datetime(2026, 3, 1), "Ada", "it changed",
    )  # fmt: skip
    [right] = seen(watched, Known({wrong.check: accepted})).checks
    assert (right.outcome, right.expected) == ("pass", told)


def test_there_is_nothing_to_accept_of_a_forbidden_text() -> None:
    [wrong] = seen(page({"absent": "kettles, pots"})).checks
    assert (wrong.outcome, wrong.value) == ("wrong_value", None)
    with pytest.raises(ValueError, match="no value to accept"):
        new_expectation(Check(absent="x"), "x")


@given(st.binary(max_size=300), st.sampled_from([200, 403, 404, 500, None]))
def test_no_body_makes_it_fail(body: bytes, status: int | None) -> None:
    checks = (
        {"css": "li", "count": 3}, {"jsonpath": "$..a", "present": True}, {"title": "x"},
        {"regex": "a(b)?", "present": True}, {"structure": "unchanged"}, {"absent": "x"},
    )  # fmt: skip
    found = seen(page(*checks), body=body, status=status, error=None, headers={})
    assert len(found.checks) == len(checks)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://a.example/p", "https://www.A.example/P/#x", True),
        ("https://a.example/p", "https://a.example/q", False),
        ("https://a.example/p", "https://a.example/p?x=1", False),
        ("https://a.example/[", "https://a.example/[", True),
    ],
)
def test_same_place(one: str, other: str, same: bool) -> None:
    assert same_place(one, other) is same
