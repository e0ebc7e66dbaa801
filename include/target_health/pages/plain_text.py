"""Visible text as it is measured: white space collapsed, letters counted.

Both are asked of every page, so they work on whole strings, never on single characters where
most are ASCII.
"""

from __future__ import annotations

import re
import string

#: What `str.isspace` holds for, the commonest first.
_ASCII_SPACES = "\n\t\r\x0b\x0c\x1c\x1d\x1e\x1f"
_OTHER_SPACES = (
    "\xa0\u3000\u2002\u2003\u2009\u202f\u200a\u2028\u2029\x85\u1680\u2000\u2001\u2004\u2005\u2006"
    "\u2007\u2008\u205f"
)
_OTHERS = re.compile(r"[^\x00-\x7f]+")
_NO_ASCII_LETTERS = bytes(set(range(128)) - set(string.ascii_letters.encode()))

#: Characters of a text that are looked at to tell how, and words there from which it is dense:
#: words are costly to part and join, white space in long runs to replace.
_SAMPLE = 4_000
_DENSE = 400


def collapsed(text: str) -> str:
    """What `" ".join(text.split())` gives, several times faster on dense text."""
    if len(text[:_SAMPLE].split()) < _DENSE:
        return " ".join(text.split())
    for space in _ASCII_SPACES if text.isascii() else _ASCII_SPACES + _OTHER_SPACES:
        if space in text:
            text = text.replace(space, " ")
    for run in ("        ", "  "):
        while run in text:
            text = text.replace(run, " ")
    return text.strip(" ")


def count_letters(text: str) -> int:
    """Letters of any alphabet."""
    if text.isascii():
        return len(text.encode().translate(None, _NO_ASCII_LETTERS))
    ascii_letters = len(text.encode("ascii", "ignore").translate(None, _NO_ASCII_LETTERS))
    return ascii_letters + sum(map(str.isalpha, "".join(_OTHERS.findall(text))))
