"""Texts about challenges, refusals and errors quote all of their words and are none."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from target_health.pages import Response, classify

NAV = "<nav>" + "".join(f"<a href='/{n}'>Part {n}</a>" for n in range(15)) + "</nav>"

TEXTS: dict[str, tuple[str, str]] = {
    "article": (
        "Are you a robot? The trouble with CAPTCHAs",
        "<p>Researchers have found that the puzzles are getting harder for people and easier for machines: people needed between nine and fifteen seconds for each of them, in a study of 1,400.</p><p>The name was coined in 2003 by a group at a university in Pittsburgh. The first ones showed distorted letters that users had to type, and later ones pictures of traffic lights.</p><p>The visitor now sees a box that says “Verify you are human” for a moment, and then nothing at all. Critics say that the new methods trade puzzles for tracking, and that some people fail.</p>",
    ),
    "headlines": (
        "Tech news",
        "<h2><a href='/1'>Are you a robot? The trouble with CAPTCHAs</a></h2><p>Why puzzles get harder.</p><h2><a href='/2'>Access denied</a></h2><p>How doors got passwords.</p><h2><a href='/3'>Page not found</a></h2><p>The error that all know.</p>",
    ),
    "status code": (
        "403 Forbidden - HTTP",
        "<h1>403 Forbidden</h1><p>The HTTP 403 Forbidden response status code indicates that the server understood the request but refused to process it. It is similar to 401, except that authenticating makes no difference to the outcome.</p>",
    ),
    "status code not found": (
        "404 Not Found - HTTP | Docs",
        "<h1>404 Not Found</h1><p>The 404 Not Found status code indicates that the server cannot find the requested resource. Links that lead to a 404 page are often called broken or dead links and can be subject to link rot, which owners do not notice.</p>",
    ),
    "how": (
        "How we fixed our 404s | Blog",
        "<h1>How we fixed our 404s</h1><p>Last year a third of our broken links came from a single migration. We wrote a small tool that reads the log and lists each address that answered 404.</p><p>After two weeks the number of pages not found had fallen. When a page is removed, the editor is asked where visitors should go instead.</p>",
    ),
    "why": (
        "Why is my IP address blocked? | Help centre",
        "<h1>Why is my IP address blocked?</h1><p>Your IP address is blocked after five wrong attempts to sign in. The block ends by itself after an hour. If you share the connection with others, contact us with your IP address.</p>",
    ),
    "why a captcha": (
        "Why do I see a captcha? | Help",
        "<h1>Why do I have to complete a captcha?</h1><p>We sometimes ask you to confirm that you are human. It helps us to keep your account safe.</p>",
    ),
    "condition": (
        "Hosting help",
        "<h1>Unblock an address</h1><p>If your IP address is blocked by our firewall, choose Unblock in the panel.</p>",
    ),
    "question": (
        "Access denied error when opening folder - Forum",
        "<h1>Access denied error when opening folder</h1><p>Whenever I open the folder on drive D I get this. What can I do?</p><p>Take ownership of it.</p>",
    ),
    "question in German": (
        "Zugriff verweigert beim Löschen - Forum",
        "<h1>Zugriff verweigert beim Löschen</h1><p>Beim Löschen einer Datei kommt Zugriff verweigert. Was tun?</p>",
    ),
    "question about a route": (
        "php - 404 page not found when route exists - Q&A",
        "<h1>404 page not found when route exists</h1><p>I have defined a route but I get 404 page not found.</p><pre>Route::get('/x', {a: 1};</pre><p>Clear the cache of routes, then try once more.</p>",
    ),
    "issue": (
        "Page not found after deploy · Issue #12",
        "<h1>Page not found after deploy #12</h1><p>Every route but / shows “Page not found”. It works on my machine.</p><pre>module.exports = {base: '/'};</pre>",
    ),
    "issue about a challenge": (
        "403 with Just a moment... · Issue #88",
        "<h1>403 with Just a moment... #88</h1><p>I get the page: Enable JavaScript and cookies to continue.</p><pre>&lt;title&gt;Just a moment...&lt;/title&gt; window._cf_chl_opt={cvId:'3'}</pre>",
    ),
    "vendor's documentation": (
        "Response page",
        "<h1>Response page</h1><p>The answer loads a script from captcha-delivery.com.</p><pre>var dd={'cid':'x','host':'geo.captcha-delivery.com'}</pre><p>You can add your logo.</p>",
    ),
    "customized page": (
        "Customize the page",
        "<h1>Customize the page</h1><p>It has an element with the id px-captcha.</p><pre>&lt;div id='px-captcha'&gt;&lt;/div&gt; window._pxUuid = 'x';</pre>",
    ),
    "rate limits": (
        "Rate limits | API",
        "<h1>Rate limits</h1><p>When you make too many requests, the API answers 429.</p><pre>{'error': 'Too many requests'}</pre>",
    ),
    "quoted title": (
        "「ページが見つかりません」と表示される場合の対処法",
        "<h1>「ページが見つかりません」と表示される</h1><p>URLが正しいかご確認ください。ブックマークが古い場合があります。</p>",
    ),
    "Chinese help": (
        "访问过于频繁怎么办 - 帮助中心",
        "<h1>提示访问过于频繁怎么办？</h1><p>请等待十分钟后再试。</p>",
    ),
    "film": (
        "File Not Found (2011)",
        "<h1>File Not Found (2011)</h1><p>A short film about a clerk who loses a file and finds a friend.</p>",
    ),
    "quiz": (
        "Quiz",
        "<h1>Are you a robot?</h1><p>Take our test and find out.</p><ol><li>Do you dream of sheep?</li><li>Do you ever rust?</li></ol>",
    ),
    "café": (
        "Just a Moment",
        "<h1>Just a Moment café</h1><p>Open daily 9 to 5. Coffee and cake.</p>",
    ),
    "poem": (
        "One moment",
        "<h1>One moment, please</h1><p>One moment, please, before the day begins.</p>",
    ),
    "door": (
        "Muzeum",
        "<h1>Режим работы</h1><p>Доступ в зал 3 временно ограничен из-за ремонта.</p>",
    ),
    "terms": (
        "Acceptable use",
        "<h1>Acceptable use</h1><p>Automated access to this website is allowed for search engines. Requests that exceed one a second may be blocked. Your IP address may be logged.</p>",
    ),
}


@pytest.mark.parametrize(("title", "body"), TEXTS.values(), ids=TEXTS)
def test_a_text_about_it_is_none(title: str, body: str) -> None:
    page = f"<html><head><title>{title}</title></head><body>{NAV}<main>{body}</main></body></html>"
    result = classify(Response(200, page.encode()))
    assert (result.verdict, result.evidence) == ("ok", ())


def test_data_that_holds_an_error_is_data() -> None:
    for body in (
        '{"results":[{"id":1,"status":404,"note":"sku"}],"count":1}',
        '{"articles":[{"title":"not found"}]}',
        '[{"url":"https://a.example","error":"not found"}]',
        '{"data":{"error":"not found"},"ok":true}',
    ):
        assert classify(Response(200, body.encode())).verdict == "ok", body
    for body in ('{"status":404,"data":null}', '{"error":{"code":404}}', '{"detail":"Not found."}'):
        assert classify(Response(200, body.encode())).verdict == "soft_404", body
