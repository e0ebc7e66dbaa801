"""Challenges as vendors serve them, shortened: what is kept is what a reader of the source sees."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from target_health.pages import Response, classify

CHALLENGES: dict[str, tuple[dict[str, str], str]] = {
    "cloudflare managed": (
        {"cf-mitigated": "challenge", "server": "cloudflare"},
        "<!DOCTYPE html><html lang=en-US><head><title>Just a moment...</title>"
        '<meta http-equiv="refresh" content="360"></head><body><div class="main-wrapper">'
        '<noscript><span id="challenge-error-text">Enable JavaScript and cookies to continue'
        "</span></noscript></div><script>(function(){window._cf_chl_opt = {cvId: '3'};"
        "a.src = '/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8';}());</script>",
    ),
    "cloudflare without its header": (
        {},
        "<title>Just a moment...</title><body><div id='x'></div><script>"
        "window._cf_chl_opt={cType:'managed'}</script>",
    ),
    "cloudflare in German": (
        {},
        '<html lang="de-DE"><title>Nur einen Moment…</title><body class="no-js"><h1>beispiel.de'
        "</h1><p>Bestätigen Sie, dass Sie ein Mensch sind. Dies kann einige Sekunden dauern.</p>"
        "<p>beispiel.de muss die Sicherheit Ihrer Verbindung überprüfen.</p><script>"
        "window._cf_chl_opt={}</script>",
    ),
    "cloudflare 1020": (
        {},
        "<title>Access denied</title><h1><span>Error</span> <span>1020</span></h1>"
        "<span>Ray ID: 7d1</span><h2>Access denied</h2><p>This website is using a security "
        "service to protect itself from online attacks.</p>",
    ),
    "cloudflare captcha of 2014": (
        {},
        "<title>Attention Required! | CloudFlare</title><h1>One more step</h1><h2>Please complete "
        "the security check to access site.com</h2><form id='challenge-form'><input name="
        "'recaptcha_response_field'></form><h2>Why do I have to complete a CAPTCHA?</h2>",
    ),
    "a shop's own page around Turnstile": (
        {},
        "<title>Muster Shop</title><header><img alt=logo></header><h1>Einen Augenblick bitte</h1>"
        "<p>Bitte bestätigen Sie, dass Sie ein Mensch sind.</p><div class='cf-turnstile' "
        "data-sitekey='0x4AAA'></div><script src='https://challenges.cloudflare.com/turnstile/v0/"
        "api.js'></script>",
    ),
    "akamai interstitial": (
        {"server": "AkamaiGHost"},
        '<html><head><title></title></head><body><div id="sec-if-cpt-container" role="main">'
        '<div class="behavioral-content"></div></div><script src="/aKz/init"></script></body>',
    ),
    "akamai proof of work": (
        {},
        '<html><head><meta http-equiv="refresh" content="5; URL=\'/?bm-verify=AAQA\'" /><title>'
        "&nbsp;</title></head><body><script>var i=1;xhr.open('POST','/_sec/verify?provider="
        "interstitial');</script></body></html>",
    ),
    "datadome": (
        {"x-datadome": "protected", "x-dd-b": "1"},
        "<html lang=en><head><title>leboncoin.fr</title></head><body style='margin:0'><p id=cmsg>"
        "Please enable JS and disable any ad blocker</p><script>var dd={'rt':'c','cid':'AHr',"
        "'hsh':'0577','t':'fe','s':2089,'host':'geo.captcha-delivery.com'}</script>"
        "<script src='https://ct.captcha-delivery.com/c.js'></script></body></html>",
    ),
    "datadome as JSON": (
        {"content-type": "application/json"},
        '{"url":"https://geo.captcha-delivery.com/captcha/?initialCid=AHrl&hash=05&t=fe&s=1"}',
    ),
    "perimeterx": (
        {},
        "<title>Access to this page has been denied</title><div class=px-captcha-container>"
        "<h1>Press &amp; Hold to confirm you are<br>a human (and not a bot).</h1><div "
        "id='px-captcha'></div><p>Reference ID 3f5</p></div><script>window._pxUuid='x'</script>",
    ),
    "perimeterx branded": (
        {},
        "<title>Robot or human?</title><header><a href='/'>Store</a></header><h1>Robot or human?"
        "</h1><p>Activate and hold the button to confirm that you’re human. Thank You!</p>"
        "<div id='px-captcha'></div><footer><a href='/terms'>Terms</a></footer>",
    ),
    "perimeterx as JSON": (
        {"content-type": "application/json"},
        '{"appId":"PXabc","jsClientSrc":"/abc/init.js","blockScript":"/abc/captcha.js","vid":""}',
    ),
    "imperva iframe": (
        {"x-iinfo": "9-1-0", "x-cdn": "Imperva"},
        '<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"></head>'
        '<body><iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=23&incident_id=1-2" '
        'height="100%">Request unsuccessful. Incapsula incident ID: 1-2</iframe></body></html>',
    ),
    "imperva script": (
        {},
        '<html><head><META NAME="robots" CONTENT="noindex,nofollow"><script src="/_Incapsula_'
        'Resource?SWJIYLWA=5074a744e2e3d891814e9a2dace20bd4"></script><body></body></html>',
    ),
    "imperva bare script": (
        {},
        "<html><script src='/_Incapsula_Resource?SWJIYLWA=1'></script></html>",
    ),
    "distil": (
        {},
        "<title>Pardon Our Interruption</title><h1>Pardon Our Interruption...</h1><p>As you were "
        "browsing something about your browser made us think you were a bot. There are a few "
        "reasons this might happen:</p><ul><li>You've disabled JavaScript</li></ul>",
    ),
    "aws waf challenge": (
        {},
        "<!DOCTYPE html><html><head><title></title><script>window.awsWafCookieDomainList = [];"
        "window.gokuProps = {'key':'AQ'};</script><script src='https://a.b.us-west-2.token.awswaf"
        ".com/a/challenge.js'></script></head><body><div id='challenge-container'></div><script>"
        "AwsWafIntegration.checkForceRefresh().then(f)</script><noscript><h1>JavaScript is "
        "disabled</h1>In order to continue, we need to verify that you're not a robot.</noscript>",
    ),
    "aws waf by header": ({"x-amzn-waf-action": "captcha"}, ""),
    "sucuri": (
        {},
        "<html><title>You are being redirected...</title><noscript>Javascript is required. Please "
        "enable javascript before you are allowed to see this page.</noscript><script>var s={},u,"
        "sucuri_cloudproxy_js='',S='cz0n';</script></html>",
    ),
    "f5": (
        {},
        "<html><head><noscript>Please enable JavaScript to view the page content.<br/>Your support "
        "ID is: 123.</noscript><script>(function(){window['bobcmn']='10111'})();</script><script "
        "src='/TSPD/08?type=9'></script></head><body></body></html>",
    ),
    "kasada": (
        {"x-kpsdk-ct": "0a"},
        "<!DOCTYPE html><html><head></head><body><script>window.KPSDK={};KPSDK.now=typeof "
        "performance;KPSDK.start=KPSDK.now();</script><script src='/149e9513-01fa/2d206a39/ips.js"
        "?KP_UIDz=x'></script></body></html>",
    ),
    "ddos-guard": (
        {"server": "ddos-guard"},
        '<!doctype html><html><head><title>DDoS-Guard</title></head><body data-ddg-origin="true">'
        "<h1 id='title'>Checking your browser before accessing example.ru</h1><p>Please wait a few "
        "seconds.</p></body></html>",
    ),
    "servicepipe": (
        {},
        "<html><head><title></title></head><body><div id='id_spinner'></div><div id="
        "'id_captcha_frame_div'></div><script src='/exhkqyad'></script></body></html>",
    ),
    "qrator": (
        {"server": "QRATOR"},
        "<html><head><script src='/__qrator/qauth_utm_v2.js'></script></head><body></body></html>",
    ),
    "yandex": (
        {},
        "<title>Вы не робот?</title><form action='/checkcaptcha?key=1'><h1>Подтвердите, что "
        "запросы отправляли вы, а не робот</h1><div class='CheckboxCaptcha'>Я не робот</div>"
        "<p>Нам очень жаль, но запросы с вашего устройства похожи на автоматические.</p></form>",
    ),
    "google": (
        {},
        '<html><head><title>https://www.google.com/search?q=x</title></head><body><form id="captcha'
        '-form" action="index" method="post"><div id="recaptcha" class="g-recaptcha" data-sitekey="'
        '6L"></div></form><b>About this page</b><p>Our systems have detected unusual traffic from '
        "your computer network. This page checks to see if it's really you sending the requests, "
        "and not a robot.</p></body></html>",
    ),
    "amazon": (
        {},
        "<title dir=ltr>Amazon.com</title><h4>Enter the characters you see below</h4><p>Sorry, we "
        "just need to make sure you're not a robot. For best results, please make sure your "
        "browser is accepting cookies.</p><form action='/errors/validateCaptcha'><input name="
        "'field-keywords' id='captchacharacters' type='text'></form><a href='/gp/c'>Conditions</a>",
    ),
    "amazon button": (
        {},
        "<title>Amazon.de</title><h4>Click the button below to continue shopping</h4><form action="
        "'/errors/validateCaptcha'><button>Continue shopping</button></form>",
    ),
    "naver": (
        {},
        "<html lang=ko><title>네이버</title><h1>보안 확인을 완료해 주세요</h1><p>이 단계는 실제 사용자임을 "
        "확인하고 자동 접속을 막기 위한 절차입니다.</p><img src='https://ncpt.naver.com/x'></html>",
    ),
    "coupang": (
        {},
        "<html lang=ko><title>쿠팡</title><h1>로봇이 아닙니다</h1><p>쿠팡 서비스를 안전하게 이용하기 위해 "
        "아래 버튼을 눌러 주세요.</p></html>",
    ),
    "gmarket": (
        {},
        "<html lang=ko><title>G마켓</title><p>G마켓에서 자동화된 접근이 감지되었습니다. 아래 보안문자를 입력해 "
        "주세요.</p><input type=text name=captchaText></html>",
    ),
    "alibaba punish": (
        {},
        "<html><head><title>Captcha Interception</title></head><body><div>Sorry, we have detected "
        "unusual traffic from your network.</div><script>window._config_={action:'captcha',url:"
        "'/_____tmd_____/punish?x5secdata=abc'}</script></body></html>",
    ),
    "alibaba cookie": (
        {},
        "<html><script>var arg1='3ABC';function setCookie(name,value){document.cookie=name+'='+"
        "value;document.location.reload();}setCookie('acw_sc__v2',x);</script></html>",
    ),
    "baidu": (
        {},
        "<html><head><title>百度安全验证</title></head><body><div class='timeout'>网络不给力，请稍后重试"
        "</div><script src='https://wappass.baidu.com/static/captcha/tuxing.js'></script></body>",
    ),
    "weibo": (
        {},
        "<html><head><title>Sina Visitor System</title></head><body><span id='message'></span>"
        "<script>var url='https://passport.weibo.com/visitor/genvisitor';</script></body></html>",
    ),
    "jd": (
        {},
        "<title>京东验证</title><body><div id=app2>快速验证</div><p>京东 验证一下，购物无忧</p></body>",
    ),
    "radware": (
        {},
        "<title>Radware Captcha Page</title><p>We apologize for the inconvenience...</p><p>...but "
        "your activity and behavior on this site made us think that you are a bot.</p><p>Please "
        "solve this CAPTCHA to request unblock to the website</p>",
    ),
    "reblaze": (
        {},
        "<html><head><script>window.rbzns={seed:'x'};winsocks();</script></head><body></body>",
    ),
    "vercel": (
        {"x-vercel-mitigated": "challenge"},
        "<title>Vercel Security Checkpoint</title><p>We're verifying your browser</p>",
    ),
    "anubis": (
        {},
        "<title>Making sure you&#39;re not a bot!</title><h1>Making sure you&#39;re not a bot!</h1>"
        "<script id='anubis_challenge' type='application/json'>{}</script><details><p>You are "
        "seeing this because the administrator of this website has set up Anubis to protect the "
        "server against the scourge of AI companies aggressively scraping websites.</p></details>",
    ),
    "siteground": (
        {},
        "<html><head><title>Robot Challenge Screen</title></head><body>Checking the site connection"
        " security<script>sgchallenge='20:1'</script></body></html>",
    ),
    "fastly": (
        {},
        "<title>Client Challenge</title><noscript>JavaScript is disabled in your browser.</noscript>"
        "<div id='loading-error'>A required part of this site couldn’t load.</div>"
        "<script src='/_fs-ch-1T1wmsGaOgGaSxcX/script.js'></script>",
    ),
    "imunify360": (
        {},
        "<title>One moment, please...</title><h1>Please wait while your request is being verified..."
        "</h1><form id='wsidchk-form' action='/z0f76a1d14fd21a8fb5fd0d03e0fdc3d3cedae52f'></form>",
    ),
    "testcookie": (
        {},
        "<html><body><script type='text/javascript' src='/aes.js'></script><script>function toNumbers"
        "(d){};document.cookie='__test='+toHex(slowAES.decrypt(c,2,a,b));location.href='/?i=1';"
        "</script><noscript>This site requires Javascript to work</noscript></body></html>",
    ),
    "edgeone": (
        {},
        "<html><head><script src='/__tst_status'></script></head><body><script>document.cookie="
        "'EO_Bot_Ssid=1;';location.reload()</script></body></html>",
    ),
    "river security": (
        {},
        "<html><head><meta charset=utf-8><script>$_ts=window['$_ts'];if(!$_ts)$_ts={};$_ts.cd="
        "'q';</script></head><body></body></html>",
    ),
    "reload gate": (
        {},
        "<html><body><script>document.cookie='humans_21909=1';document.location.reload(true)"
        "</script></body></html>",
    ),
    "employer's page around reCAPTCHA": (
        {},
        "<title>Security Check | Jobs</title><img src='/logo.png'><h1>Help us keep our site safe"
        "</h1><p>Please complete the CAPTCHA below to continue to the job listing.</p><form><div "
        "class='g-recaptcha' data-sitekey='6Lc'></div></form><a href='/help'>Help</a>",
    ),
    "hCaptcha in Russian": (
        {},
        "<title>Проверка</title><h2>Подтвердите, что вы не робот</h2><div class='h-captcha' "
        "data-sitekey='a'></div><script src='https://hcaptcha.com/1/api.js'></script>",
    ),
    "widget alone": (
        {},
        "<html><body><form method=post><div class='g-recaptcha' data-sitekey='6L'></div></form>"
        "<script src='https://www.google.com/recaptcha/api.js'></script></body></html>",
    ),
    "generic Korean": (
        {},
        "<title>접속 확인</title><h1>자동입력 방지</h1><p>비정상적인 접근이 감지되었습니다. 아래 문자를 입력해 "
        "주세요.</p><img src='/captcha.php'><input name='captcha_code'>",
    ),
    "generic Japanese": (
        {},
        "<title>アクセス確認</title><p>ロボットではないことを確認するため、画像に表示されている文字を入力してください。</p>"
        "<img src='/captcha.jpg'><input type=text name=captcha>",
    ),
    "generic Chinese": (
        {},
        "<title>安全验证</title><p>检测到异常访问，请拖动滑块完成验证后继续。</p><div id=slider></div>",
    ),
    "generic Spanish": (
        {},
        "<title>Verificación de seguridad</title><h1>Un momento, por favor</h1><p>Estamos "
        "comprobando que no eres un robot antes de continuar.</p>",
    ),
    "generic Portuguese": (
        {},
        "<title>Verificação de segurança</title><h1>Confirme que você é humano</h1><p>Marque a "
        "caixa para continuar.</p>",
    ),
    "generic French": (
        {},
        "<title>Vérification</title><h1>Vérifiez que vous n’êtes pas un robot</h1><p>Cette "
        "vérification nous aide à protéger le site.</p>",
    ),
    "generic Italian": (
        {},
        "<title>Controllo di sicurezza</title><p>Conferma di non essere un robot per continuare "
        "la navigazione.</p>",
    ),
    "generic Turkish": (
        {},
        "<title>Güvenlik kontrolü</title><p>Devam etmek için lütfen robot olmadığınızı "
        "doğrulayın.</p>",
    ),
    "generic Polish": ({}, "<title>Weryfikacja</title><h1>Potwierdź, że nie jesteś robotem</h1>"),
    "sogou": (
        {},
        "<title>搜狗搜索</title><p>用户您好，我们的系统检测到您网络中存在异常访问请求。此验证码用于确认这些请求是您的正常行为"
        "而不是自动程序发出的，需要您协助验证。</p><img src='/antispider/util/seccode.php'>",
    ),
}


@pytest.mark.parametrize("name", CHALLENGES)
@pytest.mark.parametrize("status", [200, 403, 503])
def test_a_challenge_in_place_of_content_is_a_challenge(name: str, status: int) -> None:
    headers, body = CHALLENGES[name]
    result = classify(Response(status, body.encode(), headers))
    assert result.verdict == "challenge", result
    assert result.evidence[0].startswith("challenge:")
    assert len(result.why) == len(result.evidence)
    assert result.paywall == "UNKNOWN"


def test_evidence_names_the_vendor() -> None:
    headers, body = CHALLENGES["datadome"]
    assert "challenge:datadome" in classify(Response(200, body.encode(), headers)).evidence


def test_an_item_with_a_value_outweighs_the_mark() -> None:
    headers, body = CHALLENGES["perimeterx"]
    taken = classify(Response(200, body.encode(), headers, item={"title": "Lamp", "price": 12}))
    empty = classify(Response(200, body.encode(), headers, item={"title": "", "tags": []}))
    assert taken.verdict == "ok"
    assert empty.verdict == "challenge"


ARTICLE = (
    "<p>" + "The harbour was rebuilt after the storm, and ships came back slowly. " * 60 + "</p>"
)


@pytest.mark.parametrize("name", CHALLENGES)
def test_the_same_marks_on_a_page_with_content_are_no_challenge(name: str) -> None:
    _, body = CHALLENGES[name]
    if body.startswith("{"):
        pytest.skip("JSON has no page around it")
    page = f"<html><head><title>Harbour news</title></head><body>{ARTICLE}{body}</body></html>"
    assert classify(Response(200, page.encode())).verdict == "ok"
