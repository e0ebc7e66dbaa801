"""Marks that stand on many pages, and what must stand beside them."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from target_health.pages import Response, classify

MENU = "<nav>" + "".join(f"<a href='/{n}'>Part {n}</a>" for n in range(20)) + "</nav>"
WIDGET = "<div class='g-recaptcha' data-sitekey='6L'></div><script src='https://www.google.com/recaptcha/api.js'></script>"
CHECK = "<p>We need to check that you are not a robot.</p>"

PAGES: dict[str, tuple[str, str]] = {
    "a check in a site's own page": ("challenge", f"{MENU}<h1>One more thing</h1>{CHECK}{WIDGET}"),
    "a check with a login in the menu": (
        "challenge",
        f"<nav><a href='/'>Home</a><form><input name=user><input type=password></form></nav>{CHECK}{WIDGET}",
    ),
    "the letters of a picture": ("challenge", f"{CHECK}<img src='/c.png'><input name=c>"),
    "a refusal that offers a puzzle": (
        "challenge",
        "<title>Доступ ограничен</title><h2>Доступ ограничен: проблема с IP</h2><p>Решите капчу, чтобы продолжить.</p>",
    ),
    "a cookie and the same page again": (
        "challenge",
        "<script>document.cookie='t=1';window.location.href=window.location.href;</script>",
    ),
    "a cookie and another page": (
        "ok",
        "<script>document.cookie='lang=en';location.href='/en';</script>",
    ),
    "a newsletter": (
        "ok",
        f"{MENU}<h1>Newsletter</h1>{CHECK}<form><input type=email name=email>{WIDGET}</form>",
    ),
    "a newsletter alone": (
        "ok",
        f"<h1>Newsletter</h1>{CHECK}<form><input type=email name=email>{WIDGET}</form>",
    ),
    "a widget and thanks": ("ok", f"<h1>Thank you</h1><p>Your message has been sent.</p>{WIDGET}"),
    "a word in a menu's page": (
        "ok",
        f"{MENU}<h1>Robots</h1><p>Check whether a robot suits you.</p>",
    ),
    "an age gate": (
        "ok",
        "<h1>Age verification</h1><p>Access to this website is restricted to adults. Please confirm that you are 18.</p>",
    ),
    "Fastly's script on a good page": (
        "ok",
        "<h1>Steel kettle</h1><p>Boils a litre in three minutes.</p><script src='/_fs-ch-1T1wms/script.js'></script>",
    ),
    "Fastly's page": (
        "challenge",
        "<title>Client Challenge</title><link href='/_fs-ch-1T1wms/styles.css'>",
    ),
}


@pytest.mark.parametrize(("verdict", "page"), PAGES.values(), ids=PAGES)
def test_what_stands_beside_a_hint_decides(verdict: str, page: str) -> None:
    result = classify(Response(200, f"<html><body>{page}</body></html>".encode()))
    assert result.verdict == verdict, result


#: Ways to refuse without a vendor's name, each judged with a site's menu around it too.
REFUSALS = (
    "Von Ihrem Netzwerk gehen ungewöhnlich viele Anfragen aus.",
    "Trop de requêtes ont été effectuées depuis votre connexion.",
    "Ha realizado demasiadas peticiones. Inténtelo de nuevo más tarde.",
    "Você fez muitas requisições. Tente novamente mais tarde.",
    "С вашего IP-адреса поступает слишком много запросов.",
    "귀하의 IP에서 과도한 요청이 감지되었습니다.",
    "短時間に大量のアクセスがありました。",
    "您的存取次數過多，請稍後再試。",
    "IP adresinizden çok fazla istek gönderildi.",
    "Zbyt wiele zapytań z Twojego adresu IP.",
    "Your request looks automated and was not processed.",
    "Sorry, we detected a high volume of activity from your IP.",
    "We detected suspicious traffic from your network and have stopped it.",
    "Votre comportement ressemble à celui d'un robot.",
    "İsteğiniz engellendi: IP adresiniz kısıtlandı.",
)


@pytest.mark.parametrize("menu", ["", MENU], ids=["bare", "menu"])
@pytest.mark.parametrize("said", REFUSALS)
def test_a_refusal_in_a_sentence(said: str, menu: str) -> None:
    page = f"<html><title>shop.example</title><body>{menu}<div><p>{said}</p></div></body></html>"
    assert classify(Response(200, page.encode())).verdict == "soft_block"
