"""Judging pages, and parsing or reading them alone, as pieces in one process without threads."""

from __future__ import annotations

import time

from lxml import html
from warcio.archiveiterator import ArchiveIterator

from target_health.benchmarks.made_pages import article_page
from target_health.benchmarks.measuring import Report
from target_health.pages import Response, classify, shipped_markers
from target_health.pages.warc import iter_responses

#: Pages that differ; a benchmark's pages are these in turn, so that making them stays short.
DISTINCT = 300


def made(count: int, size_bytes: int) -> list[bytes]:
    distinct = [article_page(seed, size_bytes) for seed in range(min(count, DISTINCT))]
    return [distinct[number % len(distinct)] for number in range(count)]


def judge_pages(count: int, size_bytes: int) -> Report:
    """Classify pages; what comes before the first one is not counted."""
    pages, markers = made(count, size_bytes), shipped_markers()
    classify(Response(200, pages[0]), markers)
    began = time.process_time()
    verdicts = [
        classify(Response(200, page, url="https://news.example/local/1"), markers).verdict
        for page in pages
    ]
    return rate_of(began, len(pages), verdicts.count("ok"))


def parse_pages(count: int, size_bytes: int) -> Report:
    """lxml alone on the same pages."""
    pages = made(count, size_bytes)
    html.document_fromstring(pages[0])
    began = time.process_time()
    parsed = [html.document_fromstring(page).tag for page in pages]
    return rate_of(began, len(pages), parsed.count("html"))


def judge_archive(path: str) -> Report:
    """Classify every response of an archive."""
    markers = shipped_markers()
    began = time.process_time()
    verdicts = [
        classify(Response(stored.status, stored.body, stored.headers, stored.url), markers).verdict
        for stored in iter_responses(path)
    ]
    return rate_of(began, len(verdicts), verdicts.count("ok"))


def read_archive(path: str) -> Report:
    """warcio alone: every response's body."""
    began = time.process_time()
    bodies = 0
    with open(path, "rb") as stream:
        for record in ArchiveIterator(stream):
            if record.rec_type == "response":
                bodies += bool(record.content_stream().read())
    return rate_of(began, bodies, bodies)


def rate_of(began: float, count: int, good: int) -> Report:
    """Per second of processor, which is what one core does when nothing else wants it."""
    return {"per_second": count / (time.process_time() - began), "count": count, "good": good}
