"""Pages that look like something else and are what the site has to say."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from target_health.pages import Response, classify

LOREM = (
    "We looked at the numbers of last year again and found that most visitors came from search. "
    "The rest arrived through links in newsletters, and a few typed the address by hand. "
)
RECAPTCHA = "<script src='https://www.google.com/recaptcha/api.js' async defer></script>"
TURNSTILE = "<script src='https://challenges.cloudflare.com/turnstile/v0/api.js'></script>"
NAV = (
    "<nav><a href='/'>Home</a><a href='/shop'>Shop</a><a href='/blog'>Blog</a><a href='/about'>About"
    "</a><a href='/contact'>Contact</a></nav>"
)

NORMAL: dict[str, str] = {
    "login page": "<title>Sign in</title><h1>Sign in</h1><form><input type=email name=email><input type="
    "password name=password><button>Sign in</button></form><a href='/forgot'>Forgot password?</a>",
    "login with reCAPTCHA": f"<title>Log in - Forum</title><h1>Log in</h1><form><input name=user><input "
    f"type=password name=pw><div class='g-recaptcha' data-sitekey='6L'></div><p>Please verify you are "
    f"human</p></form>{RECAPTCHA}",
    "contact form with reCAPTCHA": f"{NAV}<h1>Contact us</h1><p>Write to us.</p><form><input name=name>"
    f"<input type=email name=mail><textarea name=text></textarea><div class='g-recaptcha' data-sitekey="
    f"'6L'></div></form>{RECAPTCHA}",
    "short page with a reCAPTCHA form": f"{NAV}<main><h1>Contact Skeen</h1><p>For booking and press, write "
    f"to us.</p><form><div class='g-recaptcha' data-sitekey='6Lc'></div><button>Send</button></form>"
    f"</main>{RECAPTCHA}",
    "newsletter with Turnstile": f"{NAV}<h1>Handmade rings</h1><p>{LOREM}</p><form><input type=email name="
    f"email><div class='cf-turnstile' data-sitekey='0x'></div></form>{TURNSTILE}",
    "article about CAPTCHAs": "<title>What is a CAPTCHA, and why does it hate you?</title><h1>What is a "
    "CAPTCHA?</h1><p>A CAPTCHA asks a visitor to prove you are human: to verify you are human it shows "
    "letters, pictures or a checkbox that says I'm not a robot. Cloudflare's page says Just a moment "
    "while it is checking your browser.</p>" + f"<p>{LOREM}</p>" * 4,
    "short article about CAPTCHAs": "<article><h1>Captchas are getting harder</h1><p>Are you a robot? "
    "More sites ask you to solve the CAPTCHA before you may read on, says a study.</p></article>",
    "article about being blocked": "<title>Why your IP address has been blocked</title><article><h1>Why "
    "your IP has been blocked</h1><p>A site may answer access denied, or 403 Forbidden, when too many "
    "requests came from your network.</p>" + f"<p>{LOREM}</p>" * 3 + "</article>",
    "search with no hits": f"{NAV}<title>Search results for zzz</title><h1>No results for “zzz”</h1><form>"
    "<input name=q></form><p>We couldn't find any pages matching your search.</p>",
    "search with no hits in German": f"{NAV}<title>Suche - Beispiel</title><h1>Suchergebnisse</h1><p>Zu "
    "Ihrer Suche wurden keine Seiten gefunden. Der Suchbegriff wurde nicht gefunden.</p>",
    "empty cart": f"{NAV}<title>Cart</title><h1>Your cart is empty</h1><a href='/'>Continue shopping</a>",
    "nearly empty": "<html><head><title>Ping</title></head><body>pong</body></html>",
    "nearly empty tag page": f"<title>Tags | Blog</title>{NAV}<h1>Tags</h1>",
    "coming soon": "<title>Acme</title><h1>Coming soon</h1><p>Our new shop opens in spring.</p>",
    "cookie wall": "<title>Zeitung</title><h1>Wir verwenden Cookies</h1><p>Mit Ihrer Zustimmung verwenden "
    "wir und unsere Partner Cookies, um Inhalte zu personalisieren.</p><button>Akzeptieren</button>"
    "<button>Ablehnen</button>",
    "product not available": f"{NAV}<title>Oak table 120 cm | Shop</title><h1>Oak table 120 cm</h1><img src"
    "='/t.jpg'><p>This product is currently not available.</p><span itemprop='price'>399.00</span><p>Solid "
    "oak with an oiled surface, 120 by 80 cm, for up to six people. Delivered in two parcels.</p>"
    "<button>Notify me</button>",
    "how we fixed our 404s": "<title>How we fixed our 404s</title><h1>How we fixed our 404s</h1>"
    f"<p>Last spring one page in ten was not found. {LOREM}</p><p>{LOREM}</p>",
    "how to make a 404 page": "<title>How to create a custom 404 page | Docs</title><h1>How to create a "
    "custom 404 page</h1><p>Put a file named 404.html into the root. It is shown when a page is not found."
    f"</p><pre>ErrorDocument 404 /404.html</pre><p>{LOREM}</p>",
    "reference of status 404": "<title>404 Not Found - HTTP | MDN</title><h1>404 Not Found</h1><p>The HTTP "
    "404 Not Found client error response status code indicates that the server cannot find the requested "
    "resource. Links that lead to a 404 page are often called broken or dead links and can be subject to "
    "link rot.</p><h2>Status</h2><pre><code>404 Not Found</code></pre><h2>Examples</h2>"
    + f"<p>{LOREM}</p>"
    * 8,
    "index of error pages": "<title>Error page templates</title><h1>Error page templates</h1><ul><li><a "
    "href='404.html'>404: Not Found</a></li><li>403: Forbidden</li><li>500: Internal Server Error</li><li>"
    "503: Service Unavailable</li><li>429: Too Many Requests</li></ul>",
    "room 404": "<title>Room 404 - Hotel Bellevue</title><h1>Room 404</h1><p>A quiet double room.</p>",
    "Peugeot 404": "<title>Peugeot 404</title><h1>Peugeot 404</h1><p>A family car built from 1960.</p>",
    "subscribe box": f"<title>News</title><h1>Storm over the bay</h1><p>{LOREM * 6}</p><div class='paywall-"
    "banner'>Subscribe to continue supporting us. Already a subscriber? Log in</div>",
    "application shell": "<!doctype html><html><head><title>App</title></head><body><noscript>You need to "
    "enable JavaScript to run this app.</noscript><div id=root></div><script src='/static/js/main.js'>"
    "</script></body></html>",
    "shell behind Imperva and reCAPTCHA": "<!doctype html><html><head><title>App</title>"
    f"{RECAPTCHA}</head><body><div id='app'></div><script type='module' src='/assets/i.js'></script>"
    "<script src='/_Incapsula_Resource?SWJIYLWA=719d34' async></script></body></html>",
    "shell that asks for cookies": "<!doctype html><title>Shop</title><body><noscript>Please enable "
    "JavaScript and cookies to use this shop.</noscript><div id='__next'></div><script src='/_next/a.js'>"
    "</script></body>",
    "shell with a hidden not-found view": "<title>Portal</title><div id='nf' style='display:none'><h1>404"
    "</h1><p>Page not found</p></div><main><h1>Welcome</h1><p>Choose a department.</p></main>",
    "Cloudflare's passive script": f"<title>Rings</title>{NAV}<h1>Rings</h1><p>{LOREM}</p><script>a.src='/"
    "cdn-cgi/challenge-platform/scripts/jsd/main.js'</script>",
    "PerimeterX on a good page": f"<title>Lamp</title>{NAV}<h1>Lamp</h1><p>{LOREM}</p><script>window."
    "_pxAppId='PX1'</script><script src='https://client.perimeterx.net/PX1/main.min.js'></script>",
    "DataDome on a good page": f"<title>Lamp</title>{NAV}<h1>Lamp</h1><p>{LOREM}</p><script>window."
    "ddjskey='A'</script><script src='https://js.datadome.co/tags.js' async></script>",
    "Akamai pixel on a good page": f"<title>Lamp</title>{NAV}<h1>Lamp</h1><p>{LOREM}</p><img src='/akam/13/"
    "pixel_1?a=b' style='visibility:hidden'>",
    "AWS WAF on a good page": "<title>Shop</title><div id=root></div><script src='https://a.b.token."
    "awswaf.com/a/challenge.js' defer></script><script src='/main.js'></script>",
    "plumber": f"<title>Blocked drains cleared fast</title>{NAV}<h1>Blocked drains</h1><p>We clear drains "
    "all over the city, day and night. Call us for a quote.</p>",
    "bookshop": f"<title>Forbidden Planet - comics and games</title>{NAV}<h1>Forbidden Planet</h1><p>Comics, "
    "games and toys.</p>",
    "security product": f"<title>DDoS protection for everyone</title>{NAV}<h1>DDoS protection</h1>"
    + f"<p>{LOREM}</p>" * 8,
    "missing person": "<title>Missing boy found after two days</title><h1>Missing boy found</h1><p>The boy "
    "who went missing on Monday has been found.</p>",
    "job has a link": f"{NAV}<title>Driver wanted</title><h1>Driver wanted</h1><p>Send your documents. If "
    f"the link is broken, call us.</p><p>{LOREM}</p>",
}


@pytest.mark.parametrize("name", NORMAL)
def test_a_normal_page_is_ok(name: str) -> None:
    result = classify(Response(200, NORMAL[name].encode(), url="https://example.com/x"))
    assert result.verdict == "ok", result
    assert result.evidence == ()


@pytest.mark.parametrize("body", ["[]", "{}", '{"items":[],"total":0}', '[{"id":1}]', "null"])
def test_an_api_that_answers_nothing_is_ok(body: str) -> None:
    result = classify(
        Response(200, body.encode(), {"Content-Type": "application/json; charset=utf-8"})
    )
    assert result.verdict == "ok"


def test_a_shell_is_ok_with_little_confidence() -> None:
    assert (
        classify(Response(200, b"<div id=root></div><script src=/a.js></script>")).confidence < 0.5
    )


def test_cookies_and_servers_of_vendors_alone_say_nothing() -> None:
    headers = {
        "Server": "cloudflare",
        "CF-RAY": "8",
        "X-Datadome": "protected",
        "X-Iinfo": "1",
        "Set-Cookie": "__cf_bm=1, datadome=2, _px3=4, incap_ses_1=5, visid_incap_1=6",
    }
    page = f"<title>Lamp</title>{NAV}<h1>Lamp</h1><p>{LOREM}</p>".encode()
    assert classify(Response(200, page, headers)).verdict == "ok"
