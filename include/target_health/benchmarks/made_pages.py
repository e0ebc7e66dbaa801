"""Article pages as news sites serve them, made from a seed: head, navigation, text, comments."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

_TEXT = """
the a of and to in for on with after before council river market harbour school budget train
bridge season report museum weather farm energy street morning village council's committee
opened closed announced reviewed repaired planned visited measured discussed published new old
quiet busy local national early late public small large first second third figures plans works
people residents visitors engineers teachers nurses drivers members year week month day hour
decision proposal station airport hospital library garden festival concert election meeting
against between during under without because although while where when which who said told asked
added explained expects hopes wants needs finds keeps brings takes gives makes shows
"""
_WORDS = tuple(_TEXT.split())
_SECTIONS = ("politics", "economy", "local", "culture", "science", "sport", "weather", "travel")
_STYLE = ".{name}-{n}{{display:flex;margin:0 {n}px;padding:{n}px 12px;color:#1a1a{n:02d}}}"


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(_WORDS, k=count))


def sentence(rng: random.Random) -> str:
    return f"{words(rng, rng.randint(8, 24)).capitalize()}."


def paragraph(rng: random.Random) -> str:
    parts = [sentence(rng) for _ in range(rng.randint(2, 5))]
    if rng.random() < 0.4:
        link = f'<a href="/{rng.choice(_SECTIONS)}/{rng.randrange(10**6)}">{words(rng, 3)}</a>'
        parts.insert(1, f"See {link} for more.")
    return f'<p class="article__text">{" ".join(parts)}</p>'


def teaser(rng: random.Random) -> str:
    number = rng.randrange(10**6)
    return (
        f'<li class="teaser teaser--small" data-id="{number}"><a href="/{rng.choice(_SECTIONS)}/'
        f'{number}" class="teaser__link"><img src="https://img.news.example/{number}-320.jpg" '
        f'srcset="https://img.news.example/{number}-640.jpg 640w" alt="{words(rng, 5)}" '
        f'loading="lazy"><span class="teaser__title">{words(rng, 8).capitalize()}</span>'
        f'<time datetime="2026-01-{rng.randint(10, 21)}T08:00:00Z">{rng.randint(1, 23)} h</time>'
        "</a></li>"
    )


def comment(rng: random.Random) -> str:
    return (
        f'<div class="comment" id="c{rng.randrange(10**6)}"><span class="comment__by">'
        f'{words(rng, 2).title()}</span><div class="comment__text">{sentence(rng)} {sentence(rng)}'
        '</div><button type="button" class="comment__vote">+1</button></div>'
    )


def article_page(seed: int, size_bytes: int) -> bytes:
    """One page of about ``size_bytes``: a fifth is style and script, a third is the article."""
    rng = random.Random(seed)
    title = words(rng, 9).capitalize()
    linked = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": title,
        "datePublished": "2026-01-22T10:00:00Z",
        "author": [{"@type": "Person", "name": words(rng, 2).title()}],
        "isAccessibleForFree": True,
        "description": sentence(rng),
    }
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="description" content="{sentence(rng)}">'
        f'<meta property="og:title" content="{title}"><meta property="og:type" content="article">'
        f'<link rel="canonical" href="https://news.example/local/{seed}">'
        f'<script type="application/ld+json">{json.dumps(linked)}</script>'
    )
    share = size_bytes // 10
    parts = [head, "<style>"]
    parts.append(
        filled(rng, share, lambda r: _STYLE.format(name=r.choice(_WORDS), n=r.randrange(99)))
    )
    parts.append("</style><script>window.state={")
    parts.append(
        filled(rng, share, lambda r: f'"{r.choice(_WORDS)}{r.randrange(999)}":{r.random()},')
    )
    parts.append('"end":0};</script></head><body><header><nav><ul>')
    parts += [f'<li><a href="/{name}">{name.title()}</a></li>' for name in _SECTIONS]
    parts.append(f'</ul></nav></header><main><article><h1>{title}</h1><div class="article__body">')
    parts.append(filled(rng, 3 * share, paragraph))
    parts.append('</div></article><section class="comments"><h2>Comments</h2>')
    parts.append(filled(rng, 2 * share, comment))
    parts.append('</section></main><aside><h2>More</h2><ul class="teasers">')
    parts.append(filled(rng, 3 * share - len(head), teaser))
    parts.append('</ul></aside><footer><p>© News</p><a href="/terms">Terms</a></footer>')
    parts.append("</body></html>")
    return "\n".join(parts).encode()


def filled(rng: random.Random, size: int, make: Callable[[random.Random], str]) -> str:
    """Pieces in a row up to a size."""
    pieces: list[str] = []
    left = size
    while left > 0:
        piece = make(rng)
        pieces.append(piece)
        left -= len(piece) + 1
    return "\n".join(pieces)


def write_archive(path: Path, pages: list[bytes]) -> None:
    """A gzipped WARC with a request and a response a page, as crawlers write them."""
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for number, page in enumerate(pages):
            url = f"https://news.example/local/{number}"
            asked = StatusAndHeaders(
                f"GET /local/{number} HTTP/1.1", [("Host", "news.example")], is_http_request=True
            )
            writer.write_record(writer.create_warc_record(url, "request", http_headers=asked))
            answered = StatusAndHeaders(
                "200 OK",
                [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(page)))],
                protocol="HTTP/1.1",
            )
            writer.write_record(
                writer.create_warc_record(
                    url, "response", payload=BytesIO(page), http_headers=answered
                )
            )
