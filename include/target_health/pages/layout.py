"""The visible page by blocks: which text is content, which is navigation, links or a form.

A page is an interstitial, an error page or an article by its content, and the navigation that a
site puts around everything is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from lxml import etree

from target_health.pages.plain_text import count_letters

#: Elements visited at most. Only short pages are laid out, so few reach it.
_WALK_LIMIT = 30_000

_ENOUGH = 12_000

#: Letters of a paragraph that tells something.
_PARAGRAPH = 130

_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    ]
)
_CHROME_TAGS = frozenset(("nav", "footer", "aside"))
_CHROME_ROLES = frozenset(("navigation", "contentinfo", "banner", "search", "menu", "menubar"))
_CHROME_CLASSES = frozenset(
    [
        "nav",
        "navbar",
        "navigation",
        "sidebar",
        "menu",
        "footer",
        "breadcrumb",
        "breadcrumbs",
        "site-footer",
        "site-nav",
        "main-nav",
        "topbar",
        "navbar-nav",
        "page-footer",
        "global-footer",
        "dropdown-menu",
        "skip-link",
    ]
)
_HIDDEN_CLASSES = frozenset(
    ["modal", "hidden", "d-none", "hide", "is-hidden", "visually-hidden", "sr-only"]
)
_SKIPPED = frozenset(("select", "option", "datalist", "iframe", "object", "title"))
#: Elements within a line, whose attributes are not asked for.
_PLAIN = frozenset(("a", "b", "i", "em", "strong", "br", "u", "small", "sup", "sub", "font", "wbr"))
_SEPARATE = frozenset(("span", "a", "button", "label", "strong"))
_QUOTED = frozenset(("pre", "code", "samp", "kbd", "textarea", "option", "label", "dt", "th"))
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_OTHER_CODES = re.compile(
    r"(?<![\d.,:])(?:400|401|403|405|408|410|429|451|500|501|502|503|504)(?![\d.,:]\d|\d)"
)
_CODE = re.compile(r"[{}<>=;]")
_CJK = re.compile(r"[぀-ヿ㐀-鿿가-힣฀-๿]")
_USER_INPUTS = frozenset(("text", "email", "password", "search", "tel", "url", "number", "date"))
_ASKS_WHO = re.compile(r"mail|user|login|name|phone|first|last|company|subject|zip|city", re.I)
_CAPTCHA_FIELD = re.compile(r"captcha|verif|auth.?code|field-keywords|answer|response|token", re.I)


def letters(text: str) -> int:
    """How much text this is, in letters of an alphabet; a CJK or Thai character says as much as
    two and a half of them. Beyond some thousand it makes no difference how much."""
    text = text[:_ENOUGH]
    count = count_letters(text)
    return count if text.isascii() else count + len(_CJK.findall(text)) * 3 // 2


@dataclass(slots=True)
class Block:
    """A run of text with no block element inside."""

    text: str
    tag: str
    link_chars: int
    chrome: bool
    quoted: bool

    @property
    def is_link(self) -> bool:
        return self.link_chars * 2 > len(self.text)


@dataclass(slots=True)
class Layout:
    """Counts are of visible things, those of inputs without navigation's. `plain_inputs` are
    text fields that do not ask for a name or an address. `noscript` is text for readers without
    JavaScript."""

    blocks: list[Block] = field(default_factory=list)
    noscript: str = ""
    links: int = 0
    user_inputs: int = 0
    plain_inputs: int = 0
    password_inputs: int = 0
    search_inputs: int = 0
    captcha_inputs: int = 0
    images: int = 0
    complete: bool = True
    _content_letters: int | None = None
    _visible_lowered: str | None = None

    @classmethod
    def of_text(cls, text: str) -> Layout:
        lines = [" ".join(line.split()) for line in text.split("\n")[:2_000]]
        return cls([Block(line, "p", 0, False, False) for line in lines if line])

    @property
    def content(self) -> list[Block]:
        """Blocks that are neither navigation nor mainly links."""
        return [block for block in self.blocks if not block.chrome and not block.is_link]

    @property
    def content_letters(self) -> int:
        if self._content_letters is None:
            self._content_letters = sum(
                letters(block.text) * (len(block.text) - block.link_chars) // len(block.text)
                for block in self.content
            )
        return self._content_letters

    @property
    def other_codes(self) -> int:
        """How many HTTP error codes but 404 stand on the page by themselves or as labels: a list
        of them, or a gallery of error pages, is about errors and none itself."""
        return len(
            {
                code
                for block in self.blocks
                if len(block.text) < 60
                for code in _OTHER_CODES.findall(block.text)
            }
        )

    @property
    def visible(self) -> str:
        return "\n".join(block.text for block in self.blocks)

    @property
    def visible_lowered(self) -> str:
        if self._visible_lowered is None:
            self._visible_lowered = self.visible.lower()
        return self._visible_lowered

    @property
    def shows_code(self) -> bool:
        """Whether source code stands on the page for readers."""
        return any(
            block.quoted and block.tag in ("pre", "code") and len(_CODE.findall(block.text)) >= 2
            for block in self.blocks
        )

    @property
    def told(self) -> int:
        """How many paragraphs of content tell something."""
        return sum(letters(block.text) >= _PARAGRAPH for block in self.content)


def lay_out(root: etree._Element | None) -> Layout:
    """Walks the page once; elements that are not shown are left out.

    The head is walked too: without a `<body>` tag the parser leaves `<nav>` or `<main>` in it.
    """
    layout = Layout()
    if root is None:
        return layout
    walker = _Walker(layout)
    visited = 0
    events = etree.iterwalk(root, events=("start", "end"))
    for event, element in events:
        if event == "end":
            walker.leave(element)
            continue
        visited += 1
        if visited > _WALK_LIMIT:
            layout.complete = False
            break
        if not walker.enter(element, is_root=element is root):
            events.skip_subtree()
    walker.flush()
    layout.noscript = " ".join(walker.noscript)
    return layout


class _Walker:
    """The state of the walk: the block being gathered and what it stands in."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.noscript: list[str] = []
        self.pieces: list[str] = []
        self.link_chars = 0
        self.links_open = 0
        self.chrome_open = 0
        self.quoted_open = 0
        #: For each element entered and not yet left, whether it is navigation or the like.
        self.chrome: list[bool] = []
        self.tag = "body"
        self.skipping: etree._Element | None = None

    def enter(self, element: etree._Element, *, is_root: bool) -> bool:
        """False where the subtree is not to be walked."""
        tag = element.tag
        if tag in _PLAIN:
            if tag == "a":
                self.links_open += 1
                self.layout.links += element.get("href") is not None
            self.chrome.append(False)
            self._add(element.text)
            return True
        if not isinstance(tag, str):
            self.skipping = element
            return False
        if tag in _BLOCKS:
            self.flush()
            self.tag = tag
        names = (element.get("class") or "").lower().split()
        if tag in _SKIPPED or (not is_root and _hidden(tag, element, names)):
            self.skipping = element
            return False
        if tag == "noscript":
            self.noscript.append(" ".join(_texts(element)))
            self.skipping = element
            return False
        if tag in ("input", "textarea"):
            self._count_input(tag, element)
        elif tag == "img":
            self.layout.images += 1
        chrome = tag in _CHROME_TAGS or (not is_root and _is_chrome(tag, element, names))
        self.chrome.append(chrome)
        self.chrome_open += chrome
        if tag in _QUOTED:
            self.quoted_open += 1
        self._add(element.text)
        return True

    def leave(self, element: etree._Element) -> None:
        tag = element.tag
        if tag in _BLOCKS or tag == "br":
            self.flush()
            self.tag = "div"
        if self.skipping is element:
            self.skipping = None
        else:
            if tag == "a":
                self.links_open -= 1
            self.chrome_open -= self.chrome.pop()
            if tag in _QUOTED:
                self.quoted_open -= 1
        if tag in _SEPARATE and not element.tail and element.getnext() is not None:
            self._part()
        self._add(element.tail)

    def flush(self) -> None:
        if self.pieces:
            text = " ".join("".join(self.pieces).split())
            if text:
                self.layout.blocks.append(
                    Block(
                        text,
                        self.tag,
                        min(self.link_chars, len(text)),
                        self.chrome_open > 0,
                        self.quoted_open > 0,
                    )
                )
            self.pieces = []
        self.link_chars = 0

    def _part(self) -> None:
        """Neighbours in one line that styles set apart, but for single characters."""
        if self.pieces and len(self.pieces[-1].strip()) > 1:
            self.pieces.append(" ")

    def _add(self, text: str | None) -> None:
        if text:
            self.pieces.append(text)
            if self.links_open > 0:
                self.link_chars += len(text.strip())

    def _count_input(self, tag: str, element: etree._Element) -> None:
        kind = (element.get("type") or "text").lower() if tag == "input" else "text"
        if kind not in _USER_INPUTS or (self.chrome_open and kind != "search"):
            return
        name = f"{element.get('name') or ''} {element.get('id') or ''}"
        if kind != "password" and _CAPTCHA_FIELD.search(name):
            self.layout.captcha_inputs += 1
        elif kind == "search" or name.split()[:1] in (["q"], ["s"], ["query"], ["search"]):
            self.layout.search_inputs += 1
        else:
            self.layout.user_inputs += 1
            self.layout.password_inputs += kind == "password"
            plain = tag == "input" and kind == "text" and not _ASKS_WHO.search(name)
            self.layout.plain_inputs += plain


def _hidden(tag: str, element: etree._Element, names: list[str]) -> bool:
    if tag in ("main", "body"):
        return False
    if names and not _HIDDEN_CLASSES.isdisjoint(names):
        return True
    style = element.get("style")
    if style is not None and _HIDDEN_STYLE.search(style):
        return True
    return element.get("hidden") is not None or (tag == "dialog" and element.get("open") is None)


def _is_chrome(tag: str, element: etree._Element, names: list[str]) -> bool:
    if tag in ("body", "main", "article", "html"):
        return False
    if names and not _CHROME_CLASSES.isdisjoint(names):
        return True
    name = element.get("id")
    if name is not None and name.lower() in _CHROME_CLASSES:
        return True
    return element.get("role") in _CHROME_ROLES


def _texts(element: etree._Element) -> Iterable[str]:
    for text in element.itertext():
        stripped = text.strip()
        if stripped:
            yield stripped
