"""Pages that say under status 200 that they do not exist, by language and by framework."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from target_health.pages import Response, classify

CHROME = (
    "<nav><a href='/'>Acme</a><a href='/a'>One</a><a href='/b'>Two</a></nav>{}<footer>Acme Ltd, 12 Harbour "
    "Street. <a href='/imprint'>Imprint</a></footer>"
)

#: A heading and a sentence as sites of that language write them.
SAID: dict[str, tuple[str, str]] = {
    "en": ("Page not found", "Sorry, we couldn't find the page you were looking for."),
    "en casual": (
        "Oops!",
        "That page can’t be found. It looks like nothing was found at this location.",
    ),
    "de": ("Seite nicht gefunden", "Die von Ihnen gesuchte Seite existiert leider nicht mehr."),
    "fr": ("Page introuvable", "La page que vous recherchez n'existe pas ou a été déplacée."),
    "es": ("Página no encontrada", "La página que buscas no existe o ha sido eliminada."),
    "pt": ("Página não encontrada", "A página que você procura não existe."),
    "it": ("Pagina non trovata", "La pagina che stai cercando non esiste più."),
    "nl": ("Pagina niet gevonden", "De pagina die u zoekt bestaat niet meer."),
    "sv": ("Sidan hittades inte", "Sidan du letar efter finns tyvärr inte."),
    "da": ("Siden blev ikke fundet", "Siden, du leder efter, findes ikke."),
    "nb": ("Fant ikke siden", "Siden du leter etter finnes ikke lenger."),
    "fi": ("Sivua ei löytynyt", "Etsimääsi sivua ei valitettavasti löydy."),
    "pl": (
        "Nie znaleziono strony",
        "Strona, której szukasz, nie istnieje lub została przeniesiona.",
    ),
    "cs": ("Stránka nenalezena", "Stránka, kterou hledáte, neexistuje."),
    "sk": ("Stránka sa nenašla", "Stránka, ktorú hľadáte, neexistuje."),
    "hu": ("Az oldal nem található", "A keresett oldal nem létezik."),
    "ro": ("Pagina nu a fost găsită", "Ne pare rău, pagina căutată nu există."),
    "ru": ("Страница не найдена", "Возможно, она была удалена или вы ошиблись в адресе."),
    "uk": ("Сторінку не знайдено", "Сторінка, яку ви шукаєте, не існує."),
    "bg": ("Страницата не е намерена", "Търсената страница не съществува."),
    "el": ("Η σελίδα δεν βρέθηκε", "Η σελίδα που ψάχνετε δεν υπάρχει."),
    "tr": ("Sayfa bulunamadı", "Aradığınız sayfa mevcut değil veya kaldırılmış."),
    "ar": ("الصفحة غير موجودة", "عذراً، لم نتمكن من العثور على الصفحة التي تبحث عنها."),
    "fa": ("صفحه یافت نشد", "صفحه‌ای که به دنبال آن هستید وجود ندارد."),
    "he": ("הדף לא נמצא", "הדף שחיפשת אינו קיים."),
    "ja": (
        "ページが見つかりません",
        "お探しのページは削除されたか、URLが変更された可能性があります。",
    ),
    "ko": ("페이지를 찾을 수 없습니다", "요청하신 페이지가 삭제되었거나 주소가 변경되었습니다."),
    "zh-Hans": ("页面不存在", "抱歉，您访问的页面不存在或已被删除。"),
    "zh-Hant": ("找不到頁面", "很抱歉，您要找的頁面不存在。"),
    "th": ("ไม่พบหน้าที่คุณต้องการ", "ขออภัย ไม่พบหน้านี้"),
    "vi": ("Không tìm thấy trang", "Trang bạn tìm kiếm không tồn tại."),
    "id": ("Halaman tidak ditemukan", "Maaf, halaman yang Anda cari tidak ada."),
    "hr": ("Stranica nije pronađena", "Stranica koju tražite ne postoji."),
    "lt": ("Puslapis nerastas", "Ieškomas puslapis neegzistuoja."),
    "et": ("Lehte ei leitud", "Otsitud lehte ei ole olemas."),
    "hi": ("पृष्ठ नहीं मिला", "आप जिस पेज को खोज रहे हैं वह मौजूद नहीं है।"),
    "ca": ("Pàgina no trobada", "La pàgina que busqueu no existeix."),
}


@pytest.mark.parametrize("language", SAID)
def test_heading_and_sentence_in_a_site_frame(language: str) -> None:
    heading, sentence = SAID[language]
    page = CHROME.format(f"<main><h1>{heading}</h1><p>{sentence}</p></main>")
    result = classify(Response(200, f"<title>Acme</title>{page}".encode()))
    assert result.verdict == "soft_404", result


@pytest.mark.parametrize("language", SAID)
def test_title_alone_of_a_script_rendered_page(language: str) -> None:
    heading, _ = SAID[language]
    if heading == "Oops!":
        pytest.skip("says nothing by itself")
    body = (
        f"<html><head><title>{heading} | Acme</title></head><body><div id=root></div></body></html>"
    )
    assert classify(Response(200, body.encode())).verdict == "soft_404"


@pytest.mark.parametrize("language", SAID)
def test_sentence_alone_beside_the_number(language: str) -> None:
    _, sentence = SAID[language]
    page = CHROME.format(f"<main><div class=big>404</div><p>{sentence}</p></main>")
    assert classify(Response(200, f"<title>Acme</title>{page}".encode())).verdict == "soft_404"


MADE_BY: dict[str, str] = {
    "WordPress": "<html><head><title>Page not found &#8211; Blog</title></head><body class='error404 wp-"
    "custom-logo'><h1>Oops! That page can&rsquo;t be found.</h1><p>It looks like nothing was found at this "
    "location. Maybe try a search?</p><form><input type=search name=s></form><h2>Recent Posts</h2><ul><li>"
    "<a href='/1'>Hello world and other first words</a></li></ul></body></html>",
    "Shopify": "<html><head><title>404 Not Found – Rings</title></head><body class='template-404'><p>404</p>"
    "<h1>Page not found</h1><a href='/collections/all'>Continue shopping</a></body></html>",
    "Next.js": "<html><head><title>404: This page could not be found.</title></head><body><div id='__next'>"
    "<h1>404</h1><h2>This page could not be found.</h2></div><script id='__NEXT_DATA__' type='application/"
    'json\'>{"props":{},"page":"/404"}</script></body></html>',
    "Nuxt": "<html><head><title>404 - Page not found: /x</title></head><body><div id='__nuxt'></div></body>",
    "Rails": "<html><head><title>The page you were looking for doesn't exist (404)</title></head><body><div "
    "class='dialog'><h1>The page you were looking for doesn't exist.</h1><p>You may have mistyped the address "
    "or the page may have moved.</p></div></body></html>",
    "nginx": "<html><head><title>404 Not Found</title></head><body><center><h1>404 Not Found</h1></center><hr>"
    "<center>nginx/1.25</center></body></html>",
    "Apache": "<title>404 Not Found</title><h1>Not Found</h1><p>The requested URL was not found on this "
    "server.</p><hr><address>Apache/2.4 Server at example.com Port 80</address>",
    "Tomcat": "<title>HTTP Status 404 – Not Found</title><h1>HTTP Status 404 – Not Found</h1><p><b>Type</b> "
    "Status Report</p><p><b>Description</b> The origin server did not find a current representation for the "
    "target resource.</p>",
    "IIS": "<title>404 - File or directory not found.</title><h1>Server Error</h1><h2>404 - File or directory "
    "not found.</h2><h3>The resource you are looking for might have been removed, had its name changed, or is "
    "temporarily unavailable.</h3>",
    "Express": "<html><head><title>Error</title></head><body><pre>Cannot GET /nowhere</pre></body></html>",
    "Go": "404 page not found\n",
    "raw host": "404: Not Found",
    "GitHub Pages": "<title>Site not found &middot; GitHub Pages</title><h1>404</h1><p><strong>There isn't a "
    "GitHub Pages site here.</strong></p>",
    "Drupal": "<html><head><title>Page not found | Site</title></head><body class='path-404'><h1>Page not found"
    "</h1><p>The requested page could not be found.</p></body></html>",
    "Magento": "<html><head><title>404 Not Found</title></head><body class='cms-no-route cms-noroute-index'>"
    "<h1>Whoops, our bad...</h1><dl><dt>The page you requested was not found, and we have a fine guess why."
    "</dt></dl></body></html>",
    "Laravel": "<title>Not Found</title><div class='code'>404</div><div class='message'>Not Found</div>",
    "prerendered": "<html><head><title>Acme</title><meta name='prerender-status-code' content='404'></head>"
    "<body><div id=app></div></body></html>".replace("'404'", '"404"'),
    "object store": '<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>The specified key does not '
    "exist.</Message></Error>",
    "JSON": '{"statusCode":404,"error":"Not Found","message":"Cannot GET /x"}',
    "expired listing": "<title>Listings</title><h1>This listing is no longer available</h1><a href='/'>Back</a>",
    "Instagram": "<title>Instagram</title><h2>Sorry, this page isn't available.</h2><p>The link you followed "
    "may be broken, or the page may have been removed. <a href='/'>Go back</a></p>",
}


@pytest.mark.parametrize("name", MADE_BY)
def test_error_page_of_a_framework(name: str) -> None:
    result = classify(Response(200, MADE_BY[name].encode()))
    assert result.verdict == "soft_404", result


def test_a_whole_shop_around_the_message() -> None:
    menu = "".join(
        f"<li><a href='/c/{n}'>Category number {n} and its goods</a></li>" for n in range(250)
    )
    body = (
        f"<title>Page not found - Shop</title><div><ul>{menu}</ul></div><main><h1>Page not found</h1>"
        "<p>Perhaps you will like these:</p></main>"
    )
    assert classify(Response(200, body.encode())).verdict == "soft_404"


def test_the_status_speaks_first() -> None:
    assert classify(Response(404, MADE_BY["Rails"].encode())).verdict == "not_found"
    assert classify(Response(301, MADE_BY["Rails"].encode())).verdict == "redirect"


def test_the_address_of_an_error_page_adds_to_what_the_page_says() -> None:
    body = (
        b"<title>Acme</title><div class=n>404</div><p>Back to the start page</p>"
        + b"<p>Imprint</p>" * 9
    )
    result = classify(Response(200, body, url="https://example.com/en/404.html"))
    assert "soft_404:url" in result.evidence


def test_evidence_leaves_the_reserved_words_to_others() -> None:
    for body in MADE_BY.values():
        words = classify(Response(200, body.encode())).evidence
        assert not {"soft_404:probe", "soft_404:redirect", "soft_404:looks"} & set(words)


def test_an_impossible_url_is_no_error_page() -> None:
    page = b"<title>Hello</title><p>Some words to read.</p>"
    assert classify(Response(200, page, url="http://[no.host/404")).verdict == "ok"
