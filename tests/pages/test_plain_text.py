"""White space and letters of a page's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_health.pages.plain_text import collapsed, count_letters

SPACES = "".join(char for char in map(chr, range(0x110000)) if char.isspace())
TEXTS = st.one_of(st.text(), st.text(alphabet=f"ab é字{SPACES}"))


@given(TEXTS, st.booleans())
def test_collapsing_is_splitting_and_joining(text: str, dense: bool) -> None:
    if dense:
        text = "a b " * 300 + text
    assert collapsed(text) == " ".join(text.split())


@given(TEXTS)
def test_letters_are_those_of_any_alphabet(text: str) -> None:
    assert count_letters(text) == sum(map(str.isalpha, text))


@pytest.mark.parametrize("space", SPACES)
def test_each_kind_of_space_in_dense_text(space: str) -> None:
    text = "on a day " * 100 + f"{space}{space} in é May{space}"
    assert collapsed(text) == " ".join(text.split())
