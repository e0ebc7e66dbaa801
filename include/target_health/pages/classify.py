"""From a response to its verdict, with the evidence that speaks for it."""

from __future__ import annotations

from target_health.pages import paywall, soft_404
from target_health.pages.document import Document
from target_health.pages.markers import Markers, shipped_markers
from target_health.pages.marks import Finding, header_findings, looks_marked, page_findings
from target_health.pages.response import PageVerdict, Paywall, Response
from target_health.verdicts import verdict

#: Letters of content from which a page that nothing speaks against is surely one.
_SURE = 400


def classify(response: Response, markers: Markers | None = None) -> PageVerdict:
    """What the site really served. Pure; time is linear in the body and bounded above 2 MB.

    The two soft-block rules that need a site's history are applied to landed rows, not here.
    """
    markers = markers if markers is not None else shipped_markers()
    headers = response.lowered_headers()
    has_item = response.has_item()
    content_type = response.content_type or headers.get("content-type", "")
    document = Document(response.body or b"", content_type)
    delivered = response.status is not None and (
        200 <= response.status < 300 and response.error != "proxy"
    )

    found = header_findings(headers, markers)
    if document.raw and not (document.is_long and not _worth_a_look(document, markers)):
        found += page_findings(document, headers, markers, has_item=has_item)
        if delivered and not any(
            finding.evidence.startswith(("challenge", "soft_block")) for finding in found
        ):
            found += soft_404.find(document, response.url, markers)
    state: Paywall = "UNKNOWN"
    if delivered and not found:
        state, paid = paywall.judge(document, markers)
        found += paid
    found = _distinct(found)
    word = verdict(
        response.status, response.error, [finding.evidence for finding in found], has_item
    )
    return PageVerdict(
        verdict=word,
        evidence=tuple(finding.evidence for finding in found),
        confidence=round(_confidence(word, found, document, has_item=has_item), 2),
        paywall=state if word in ("ok", "paywalled") else "UNKNOWN",
        why=tuple(finding.why for finding in found),
        title=document.title,
        text_length=len(document.text),
        content_hash=document.content_hash,
        text_hash=document.text_hash,
    )


def _worth_a_look(document: Document, markers: Markers) -> bool:
    return looks_marked(document.title, document.headings, markers) or soft_404.is_suspicious(
        document, markers
    )


def _distinct(findings: list[Finding]) -> list[Finding]:
    best: dict[str, Finding] = {}
    for finding in findings:
        kept = best.get(finding.evidence)
        if kept is None or finding.confidence > kept.confidence:
            best[finding.evidence] = finding
    return list(best.values())


def _confidence(word: str, found: list[Finding], document: Document, *, has_item: bool) -> float:
    speaking = [
        finding.confidence for finding in found if finding.evidence.partition(":")[0] == word
    ]
    if speaking:
        return max(speaking)
    if word != "ok" or has_item:
        # The status, or the record that was extracted, says it.
        return 0.95
    return _KIND_CONFIDENCE.get(document.kind) or _text_confidence(document)


#: How surely an answer that is no page is what the site has to say.
_KIND_CONFIDENCE = {
    "empty": 0.2,
    "json": 0.9,
    "pdf": 0.8,
    "image": 0.8,
    "media": 0.8,
    "archive": 0.8,
    "font": 0.8,
}


def _text_confidence(document: Document) -> float:
    """The more text, the surer; an application's shell has none, and what it will show cannot
    be seen from here."""
    if not document.letters:
        return 0.3
    return 0.5 + 0.45 * min(1.0, document.letters / _SURE)
