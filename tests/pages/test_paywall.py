"""Articles that were withheld, and those that only declare it."""

# ruff: noqa: E501
from __future__ import annotations

import json

import pytest

from target_health.pages import Response, classify

PARAGRAPH = (
    "The council decided on Monday to close the old bridge for two years while engineers replace the "
    "bearings, and shopkeepers on both banks fear for their trade. "
)
FULL = "".join(f"<p>{PARAGRAPH}</p>" for _ in range(14))
TEASER = f"<p>{PARAGRAPH}</p>"

NOTICES = {
    "en": "To continue reading this article, subscribe now. Already a subscriber? Log in",
    "de": "Dieser Artikel ist nur für Abonnenten. Jetzt weiterlesen mit SZ Plus. Schon Abonnent? Anmelden",
    "fr": "Il vous reste 57 % de cet article à lire. La suite est réservée aux abonnés.",
    "es": "Para seguir leyendo, suscríbete. ¿Ya eres suscriptor? Inicia sesión",
    "pt": "Conteúdo exclusivo para assinantes. Assine para continuar lendo.",
    "it": "Questo è un articolo riservato agli abbonati. Abbonati per continuare a leggere.",
    "nl": "Dit artikel is exclusief voor abonnees. Verder lezen? Neem een abonnement.",
    "sv": "Det här innehållet är endast för prenumeranter. Redan prenumerant? Logga in",
    "pl": "Artykuł tylko dla prenumeratorów. Wykup prenumeratę, aby czytać dalej.",
    "ru": "Материал доступен только подписчикам. Оформите подписку, чтобы читать дальше.",
    "ja": "この記事は有料会員限定です。ログインして続きを読む",
    "ko": "이 기사는 구독자 전용입니다. 구독하고 계속 읽으세요.",
    "zh": "订阅后阅读全文。此内容为付费会员专享。",
}


def page(declared: object, body: str, *, key: str = "isAccessibleForFree", **more: object) -> bytes:
    data = {"@context": "https://schema.org", "@type": "NewsArticle", "headline": "Bridge", **more}
    if declared is not None:
        data[key] = declared
    script = f'<script type="application/ld+json">{json.dumps(data)}</script>'
    return f"<html><head><title>Bridge</title>{script}</head><body><h1>Bridge</h1>{body}</body></html>".encode()


@pytest.mark.parametrize("language", NOTICES)
@pytest.mark.parametrize("declared", [False, "False", "false", "http://schema.org/False"])
def test_declared_with_a_notice_and_a_teaser_is_paywalled(language: str, declared: object) -> None:
    body = f"{TEASER}<div class='offer'><p>{NOTICES[language]}</p></div>"
    result = classify(Response(200, page(declared, body)))
    assert result.verdict == "paywalled", result
    assert result.paywall == "PAYWALLED"
    assert {"paywalled:schema_org", "paywalled:notice"} <= set(result.evidence)


@pytest.mark.parametrize("language", NOTICES)
def test_a_long_first_part_before_the_notice_is_paywalled_too(language: str) -> None:
    result = classify(Response(200, page(False, f"{FULL}<p>{NOTICES[language]}</p>")))
    assert result.verdict == "paywalled"


@pytest.mark.parametrize("declared", [False, "False"])
def test_declared_and_served_is_ok(declared: object) -> None:
    result = classify(Response(200, page(declared, FULL)))
    assert result.verdict == "ok"
    assert result.paywall == "PAYWALLED"
    assert result.evidence == ()


def test_the_part_declared_as_paid_is_looked_at() -> None:
    part = {"@type": "WebPageElement", "isAccessibleForFree": "False", "cssSelector": ".paid"}
    empty = page("True", f"{TEASER}<div class='paid'></div>", hasPart=part)
    served = page("True", f"{TEASER}<div class='paid'>{FULL}</div>", hasPart=[part])
    assert classify(Response(200, empty)).verdict == "paywalled"
    assert classify(Response(200, served)).verdict == "ok"


@pytest.mark.parametrize("declared", [True, "True", "true", "https://schema.org/True"])
def test_declared_free_is_free_whatever_is_sold_beside_it(declared: object) -> None:
    body = f"{FULL}<div class='paywall-offer'><p>{NOTICES['en']}</p></div>"
    result = classify(Response(200, page(declared, body)))
    assert (result.verdict, result.paywall) == ("ok", "FREE")


def test_microdata() -> None:
    body = (
        "<body itemscope itemtype='https://schema.org/NewsArticle'><meta itemprop='isAccessibleForFree' "
        f"content='false'><h1>Bridge</h1>{TEASER}<p>{NOTICES['en']}</p></body>"
    )
    assert classify(Response(200, body.encode())).verdict == "paywalled"


@pytest.mark.parametrize("language", NOTICES)
def test_one_phrase_alone_is_no_paywall(language: str) -> None:
    result = classify(Response(200, page(None, f"{FULL}<p>{NOTICES[language]}</p>")))
    assert (result.verdict, result.paywall) == ("ok", "UNKNOWN")


def test_labels_beside_other_articles_are_no_notice() -> None:
    others = "".join(
        f"<div><span>Article réservé aux abonnés</span><a href='/{n}'>Autre article numéro {n}</a></div>"
        for n in range(8)
    )
    assert classify(Response(200, page(False, f"{FULL}{others}"))).verdict == "ok"


def test_locked_tier_with_a_notice() -> None:
    body = (
        "<html><head><meta property='article:content_tier' content='locked'></head><body><h1>Bridge</h1>"
        f"{TEASER}<p>{NOTICES['fr']}</p></body></html>"
    )
    assert classify(Response(200, body.encode())).verdict == "paywalled"


@pytest.mark.parametrize("status", [None, 403, 404, 500, 301])
def test_a_page_that_did_not_come_is_unknown(status: int | None) -> None:
    result = classify(Response(status, page(False, f"{TEASER}<p>{NOTICES['en']}</p>")))
    assert result.paywall == "UNKNOWN"
    assert not any(word.startswith("paywalled:") for word in result.evidence)


@pytest.mark.parametrize(
    "broken", ['{"isAccessibleForFree": fals', "[[[[", '{"isAccessibleForFree": {}}', ""]
)
def test_broken_structured_data_says_nothing(broken: str) -> None:
    body = f"<script type='application/ld+json'>{broken}</script><h1>Bridge</h1>{FULL}"
    assert classify(Response(200, body.encode())).paywall == "UNKNOWN"
