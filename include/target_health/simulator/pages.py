"""The page types of simulated sites, with the items that extraction gets from them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, slots=True)
class PageType:
    """``size`` is a factor on the site's median size; ``extracts`` whether it yields items."""

    name: str
    path: str
    extracts: bool
    size: float
    paywall: bool = False


PAGE_TYPES: tuple[PageType, ...] = (
    PageType("product", "/product/", extracts=True, size=1.0),
    PageType("listing", "/list/", extracts=True, size=1.6),
    PageType("article", "/article/", extracts=True, size=1.2, paywall=True),
    PageType("section", "/section/", extracts=False, size=1.5),
    PageType("page", "/page/", extracts=False, size=0.7),
)
PAGE_TYPE_NAMES = tuple(page_type.name for page_type in PAGE_TYPES)
PAGE_TYPE = pd.CategoricalDtype(list(PAGE_TYPE_NAMES))

# Page types and their shares by the kind of site.
SITE_KINDS: dict[str, dict[str, float]] = {
    "shop": {"product": 0.62, "listing": 0.30, "page": 0.08},
    "news": {"article": 0.80, "section": 0.20},
    "market": {"product": 0.50, "listing": 0.50},
    "magazine": {"article": 0.70, "section": 0.20, "page": 0.10},
    "outlet": {"product": 0.75, "listing": 0.25},
}

# What extraction makes of a page that is served: complete, one field missing (normal for a few
# pages), nothing, or what an extractor makes of a page that was redesigned under it.
ITEM_STATES = ("complete", "partial", "none", "broken")
ITEM_STATE = pd.CategoricalDtype(list(ITEM_STATES))

_ADJECTIVES = (
    "Blue",
    "Oak",
    "Slim",
    "Classic",
    "Süße",
    "Nordic",
    "Compact",
    "Vintage",
    "Light",
    "Steel",
    "Linen",
    "Cosy",
    "Rapid",
    "Quiet",
    "Amber",
    "Façade",
)
_NOUNS = (
    "lamp",
    "table",
    "jacket",
    "kettle",
    "backpack",
    "chair",
    "scarf",
    "headphones",
    "mug",
    "bicycle",
    "notebook",
    "sofa",
    "camera",
    "blanket",
    "watch",
    "bowl",
)
_SUBJECTS = (
    "Council",
    "Rail company",
    "Museum",
    "Harbour",
    "Orchestra",
    "University",
    "Farmers",
    "Weather service",
    "Team",
    "Bakery",
    "Court",
    "Library",
    "Airline",
    "Hospital",
    "Startup",
    "Théâtre",
)
_NEWS = (
    "opens new site",
    "plans for winter",
    "reports record year",
    "looks for volunteers",
    "changes its timetable",
    "wins award",
    "delays decision",
    "publishes figures",
    "answers critics",
    "expands to the north",
    "names new head",
    "cuts prices",
    "invites children",
    "reopens after repair",
    "warns of storm",
    "celebrates jubilee",
)
PRODUCT_NAMES = tuple(f"{adjective} {noun}" for adjective in _ADJECTIVES for noun in _NOUNS)
HEADLINES = tuple(f"{subject} {news}" for subject in _SUBJECTS for news in _NEWS)
AUTHORS = (
    "A. Novak",
    "B. Silva",
    "C. Meier",
    "D. Okafor",
    "E. Lindqvist",
    "F. Moreau",
    "G. Rossi",
    "H. Tanaka",
)
SECTIONS = ("local", "world", "science", "sport")
