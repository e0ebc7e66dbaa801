"""Suite files: what they may say, and that a wrong one costs nothing but itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from target_health.errors import ConfigurationError
from target_health.extraction.suites import load_suites, read_suite
from target_health.paths import SHIPPED_EXPECTATIONS
from target_health.simulator.pages import PAGE_TYPES

NOT_NULL = "expect_column_values_to_not_be_null"
BETWEEN = "expect_column_values_to_be_between"


def written(directory: Path, name: str, text: str) -> Path:
    path = directory / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_suite_is_expectations_and_arguments_by_field(tmp_path: Path) -> None:
    suite = read_suite(
        written(
            tmp_path,
            "product",
            f"fields:\n  name:\n    {NOT_NULL}:\n  seller.name:\n    {NOT_NULL}: {{}}\n"
            f"    {BETWEEN}: {{min_value: a}}\n",
        )
    )
    assert (suite.name, suite.page_type, suite.fields) == (
        "product",
        "product",
        ("name", "seller.name"),
    )
    assert [(check.field, check.expectation, check.arguments) for check in suite.checks] == [
        ("name", NOT_NULL, {}),
        ("seller.name", NOT_NULL, {}),
        ("seller.name", BETWEEN, {"min_value": "a"}),
    ]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ("fields: {}", "fields: "),
        ("", "fields: "),
        ("fields: [name]", "fields: must be a"),
        ("fields: {name: {}}", "name: no expectation"),
        ("fields: {name: {expect_column_values_to_not_be_nul: {}}}", f"did you mean {NOT_NULL}"),
        ("fields: {name: {expect_column_mean_to_be_between: {min_value: 1}}}", "judges each value"),
        ("fields: {name: {expect_column_values_to_be_unique: {}}}", "judges each value alone"),
        (f"fields: {{name: {{{NOT_NULL}: {{column: x}}}}}}", "unknown argument column"),
        (f"fields: {{name: {{{BETWEEN}: {{}}}}}}", "needs max_value or min_value"),
        (f"fields: {{name: {{{BETWEEN}: {{min_value: yes}}}}}}", "must be a number or a text"),
        (f"fields: {{name: {{{BETWEEN}: {{min_value: 2, max_value: 1}}}}}}", "is above max_value"),
        (f"fields: {{name: {{{BETWEEN}: {{min_value: 2, max_value: z}}}}}}", "both be numbers"),
        ("fields: {name: {expect_column_values_to_match_regex: {}}}", "regex is missing"),
        ("fields: {name: {expect_column_values_to_match_regex: {regex: '['}}}", "no regular"),
        ("fields: {name: {expect_column_values_to_be_in_set: {value_set: a}}}", "must be a list"),
        ("fields: {name: {expect_column_values_to_be_of_type: {type_: VARCHAR}}}", "one of str"),
        (f"fields: {{name: {{{NOT_NULL}: {{mostly: 95}}}}}}", "between 0 and 1"),
        (f"fields: {{name: {{{NOT_NULL}: [1]}}}}", "must be a mapping"),
        (f"fields: {{name: {{{NOT_NULL}: {{}}, {NOT_NULL}: {{}}}}}}", "stands twice"),
        (f"fields: {{name: {{{NOT_NULL}: }}}}\nfield: 1", "field: unknown key"),
        ("fields: {name: {", "cannot be read as YAML"),
    ],
)
def test_a_wrong_suite_says_in_one_line_what_is_wrong(
    tmp_path: Path, fields: str, says: str
) -> None:
    path = written(tmp_path, "product", fields)
    with pytest.raises(ConfigurationError) as raised:
        read_suite(path)
    message = str(raised.value)
    assert says in message
    assert str(path) in message
    assert "\n" not in message


def test_a_broken_suite_stops_its_own_page_type_only(tmp_path: Path) -> None:
    good = f"fields: {{name: {{{NOT_NULL}: {{}}}}}}"
    written(tmp_path, "product", good)
    written(tmp_path, "some file", f"page_type: 'a/b'\nfields: {{name: {{{NOT_NULL}: 3}}}}")
    written(tmp_path, "listing", "fields: {{")
    (tmp_path / "article.yaml").write_bytes(b"\xff\xfe")
    suites = load_suites(tmp_path)
    assert set(suites.good) == {"product"}
    assert set(suites.broken) == {"a/b", "listing", "article"}
    for broken in suites.broken.values():
        assert broken.reason.startswith(f"{broken.name}.yaml: ")
        assert "\n" not in broken.reason


def test_two_suites_of_one_page_type_are_both_out_of_use(tmp_path: Path) -> None:
    for name in ("one", "two"):
        written(tmp_path, name, f"page_type: product\nfields: {{name: {{{NOT_NULL}: {{}}}}}}")
    suites = load_suites(tmp_path)
    assert not suites.good
    assert "has a suite in one already" in suites.broken["product"].reason


def test_a_digest_follows_what_the_suite_says(tmp_path: Path) -> None:
    def digest(text: str) -> str:
        written(tmp_path, "product", text)
        return load_suites(tmp_path).digest_of("product")

    first = digest(f"fields: {{name: {{{NOT_NULL}: {{}}}}}}")
    assert digest(f"# a remark\nfields: {{name: {{{NOT_NULL}: }}}}") == first
    assert digest(f"fields: {{names: {{{NOT_NULL}: {{}}}}}}") != first
    assert digest("fields: {{") not in (first, "")
    assert load_suites(tmp_path).digest_of("nobody") == ""


def test_no_directory_has_no_suites(tmp_path: Path) -> None:
    assert not load_suites(tmp_path / "none").good


def test_the_demo_s_page_types_have_suites() -> None:
    suites = load_suites(SHIPPED_EXPECTATIONS)
    assert not suites.broken
    assert set(suites.good) == {one.name for one in PAGE_TYPES if one.extracts}
