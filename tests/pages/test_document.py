"""Any body at all gives a verdict, in bounded time."""

# ruff: noqa: E501
from __future__ import annotations

import gzip
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_health.pages import Response, classify
from target_health.pages.charset import to_utf8
from target_health.pages.document import PARSE_LIMIT, Document
from target_health.verdicts import VERDICTS

RUSSIAN = "<html><head><title>Страница не найдена</title></head><body><h1>Страница не найдена</h1></body></html>"
JAPANESE = "<html><head><title>ページが見つかりません</title></head><body><p>お探しのページは存在しません。</p></body></html>"
KOREAN = "<html><head><title>페이지를 찾을 수 없습니다</title></head><body><p>요청하신 페이지가 존재하지 않습니다.</p></body></html>"
CHINESE = "<html><head><title>页面不存在</title></head><body><p>抱歉，您访问的页面不存在或者已经被删除了。</p></body></html>"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (RUSSIAN, "windows-1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc-jp"),
        (KOREAN, "euc-kr"),
        (CHINESE, "gb18030"),
        (CHINESE, "big5hkscs"),
        (RUSSIAN, "utf-16"),
    ],
)
def test_a_declared_charset_is_read(text: str, encoding: str) -> None:
    if encoding == "big5hkscs":
        text = (
            text.replace("页面", "頁面")
            .replace("访问", "訪問")
            .replace("经", "經")
            .replace("删", "刪")
            .replace("过", "過")
        )
        text = text.replace("您访问", "您訪問").replace("或者已", "或已")
    body = text.encode(encoding, "replace")
    name = "big5" if encoding == "big5hkscs" else encoding
    result = classify(Response(200, body, {"Content-Type": f"text/html; charset={name}"}))
    assert result.verdict == "soft_404", result


@pytest.mark.parametrize(("text", "encoding"), [(RUSSIAN, "windows-1251"), (JAPANESE, "shift_jis")])
def test_a_charset_in_the_page_is_read(text: str, encoding: str) -> None:
    marked = text.replace("<head>", f"<head><meta charset='{encoding}'>").encode(encoding)
    assert classify(Response(200, marked)).verdict == "soft_404"


def test_utf_8_is_read_whatever_is_declared() -> None:
    body = RUSSIAN.encode()
    assert classify(
        Response(200, body, {"content-type": "text/html; charset=iso-8859-1"})
    ).title == ("Страница не найдена")


def test_an_undeclared_charset_is_guessed() -> None:
    words = (
        "Страница, которую вы ищете, была удалена или никогда не существовала на этом сайте. " * 4
    )
    text, _ = to_utf8(words.encode("windows-1251"), None)
    assert "Страница" in text.decode()


def test_a_charset_nobody_knows_costs_nothing() -> None:
    result = classify(
        Response(
            200, b"<title>caf\xe9</title><p>ol\xe9</p>", content_type="text/html; charset=x-none"
        )
    )
    assert result.verdict == "ok"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "empty"),
        (b" \r\n", "empty"),
        (b"%PDF-1.7 ...", "pdf"),
        (b"\x89PNG\r\n\x1a\n", "image"),
        (b"\xff\xd8\xff\xe0", "image"),
        (b'{"a": 1}', "json"),
        (b"[]", "json"),
        (b"<rss></rss>", "xml"),
        (b"plain words", "text"),
        (b"<!DOCTYPE html><p>x", "html"),
        (b"PK\x03\x04", "archive"),
        (bytes(range(256)) * 4, "media"),
    ],
)
def test_what_is_no_page_is_ok_and_says_what_it_is(body: bytes, kind: str) -> None:
    assert Document(body).kind == kind
    assert classify(Response(200, body)).verdict == "ok"


def test_an_empty_body_has_little_confidence_and_no_hash() -> None:
    result = classify(Response(200, b""))
    assert result.confidence <= 0.3
    assert (result.content_hash, result.text_hash, result.text_length) == (None, None, 0)


def test_hashes_are_those_of_the_body_and_of_its_text_without_digits() -> None:
    first, second = (f"<title>t</title><p>Order {n} of 2024</p>".encode() for n in (7, 81))
    a, b = classify(Response(200, first)), classify(Response(200, second))
    assert a.content_hash == hashlib.sha256(first).hexdigest()
    assert a.content_hash != b.content_hash
    assert a.text_hash == b.text_hash


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 200_000,
        b"<p>" + b"a" * 5_000_000,
        b"<a href='" * 100_000,
        b"<!--" * 200_000,
        b"<script>" + b"captcha " * 300_000,
        b"404 " * 500_000,
        b"\x00" * 100_000 + b"<p>x</p>",
        b"&" * 1_000_000,
        b"{" * 1_000_000,
        b'{"isAccessibleForFree":' * 50_000,
        b"<script type='application/ld+json'>" + b'{"isAccessibleForFree":[' * 20_000,
        b"<title>" + b"not found " * 100_000,
        b"<h1>404</h1>" * 50_000,
        "ページ".encode() * 300_000,
        b"\xe3\x83" * 300_000,
    ],
)
def test_broken_and_hostile_markup_gives_a_verdict(body: bytes) -> None:
    assert classify(Response(200, body)).verdict in VERDICTS


def test_a_50_mb_page_is_parsed_in_part_and_hashed_whole() -> None:
    body = b"<title>Big</title>" + b"<p>All work and no play makes a page long. </p>" * 1_150_000
    assert len(body) > 50_000_000
    document = Document(body)
    assert document.truncated
    assert len(document.raw) == PARSE_LIMIT
    result = classify(Response(200, body))
    assert result.verdict == "ok"
    assert result.content_hash == hashlib.sha256(body).hexdigest()


def test_a_compressed_body_that_was_not_decoded_is_no_page() -> None:
    assert Document(gzip.compress(b"<p>x</p>")).kind == "archive"


def test_a_page_without_a_body_tag_is_read() -> None:
    document = Document(b"<title>T</title><nav><a href=/>n</a></nav><main><p>Hello</p></main>")
    assert [block.text for block in document.layout.content] == ["Hello"]
    assert document.layout.links == 1


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=400),
    st.sampled_from(["", "text/html", "application/json", "text/html; charset=euc-kr"]),
)
def test_any_bytes_give_a_verdict(body: bytes, content_type: str) -> None:
    result = classify(Response(200, body, content_type=content_type))
    assert result.verdict in VERDICTS
    assert 0 <= result.confidence <= 1
    assert len(result.evidence) == len(result.why)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="<>/ah1pdiv =\"'404 notfundpgcaptch&;!-", max_size=300))
def test_any_markup_gives_the_same_verdict_twice(text: str) -> None:
    body = text.encode()
    assert classify(Response(200, body)) == classify(Response(200, body))


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_charsets_are_pages_too(charset: str) -> None:
    document = Document("<html><title>Größe</title><p>Grün</p></html>".encode(charset))
    assert (document.kind, document.title, document.text) == ("html", "Größe", "Grün")


def test_few_western_letters_that_claim_to_be_utf_8() -> None:
    page = "<html><meta charset=utf-8><title>Página não encontrada</title></html>"
    assert Document(page.encode("latin-1")).title == "Página não encontrada"
    czech = "<html lang=cs><title>Stránka nenalezena</title><p>Stránka je zřejmě smazaná</p></html>"
    assert Document(czech.encode("cp1250")).text == "Stránka je zřejmě smazaná"


def test_headings_that_link_to_other_pages_are_theirs() -> None:
    document = Document(
        b"<h1>News</h1><h2><a href='/1'>Page not found</a></h2><a href='/2'><h3>Gone</h3></a>"
        b"<h2>By <a href='/ann'>Ann</a></h2>"
    )
    assert document.headings == ["News", "By Ann"]


def test_neighbours_set_apart_by_style_are_words() -> None:
    document = Document(b"<div><span>404</span><span>Page not found</span></div><b>4<i>0</i>4</b>")
    assert [block.text for block in document.layout.blocks] == ["404 Page not found", "404"]
