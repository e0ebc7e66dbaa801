"""Secrets in URLs: user info and the values of listed parameters are never kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from target_health.readers.sql_text import literal

REDACTED = "REDACTED"


class Redaction:
    """The same rule for columns (SQL) and for quarantined lines (Python)."""

    def __init__(self, parameters: Sequence[str]) -> None:
        names = "|".join(re.escape(name) for name in sorted(parameters))
        self._parameters = rf"([?&;#](?:{names})=)[^&;#\s]+" if names else None
        self._anywhere = re.compile(r"(://)[^/?#\s\"'<>@]*@")
        self._pairs = re.compile(rf"(?i)([?&;#](?:{names})=)[^&;#\s\"'<>,]+") if names else None

    def sql(self, url: str) -> str:
        """A URL column without its secrets; most URLs are passed through untouched."""
        without_user = (
            rf"CASE WHEN contains({url}, '@') THEN regexp_replace({url}, "
            rf"'^(\s*[A-Za-z][A-Za-z0-9+.-]*:/*|\s*/*)[^/?#@]*@', '\1') ELSE {url} END"
        )
        if not self._parameters:
            return without_user
        pattern = literal("(?i)" + self._parameters)
        return (
            f"CASE WHEN contains({url}, '@') OR CASE WHEN contains({url}, '=') "
            f"THEN regexp_matches({url}, {pattern}) ELSE false END THEN "
            rf"regexp_replace({without_user}, {pattern}, '\1{REDACTED}', 'g') ELSE {url} END"
        )

    def text(self, line: str) -> str:
        """A quarantined line without the secrets of the URLs in it."""
        line = self._anywhere.sub(r"\1", line)
        return self._pairs.sub(rf"\1{REDACTED}", line) if self._pairs else line
