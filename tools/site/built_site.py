"""Checks of the built site: every link leads somewhere, and nothing is loaded from elsewhere."""

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class _Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag == "a" and (link := found.get("href")):
            self.links.append(link)
        if tag in _LOADED and (link := found.get(_LOADED[tag])):
            self.loaded.append(link)


@cache
def _page(path: Path) -> _Page:
    return _Page(path.read_text(encoding="utf-8"))


def html_pages(site: Path) -> list[Path]:
    """The pages of the site."""
    return sorted(site.rglob("*.html"))


def broken_links(site: Path) -> Iterator[str]:
    """Links within the site that lead nowhere, with the page that has them."""
    for path in html_pages(site):
        for link in (*_page(path).links, *_page(path).loaded):
            if not _is_elsewhere(link) and not _leads(site, path, link):
                yield f"{path.relative_to(site)}: {link}"


def loaded_from_elsewhere(site: Path) -> Iterator[str]:
    """What a page would load from another origin, with the page."""
    for path in html_pages(site):
        for link in _page(path).loaded:
            if _is_elsewhere(link) and not link.startswith("data:"):
                yield f"{path.relative_to(site)}: {link}"


def _is_elsewhere(link: str) -> bool:
    return bool(re.match(r"[a-z]+:|//", link))


def _leads(site: Path, page: Path, link: str) -> bool:
    parts = urlsplit(link)
    start = site if parts.path.startswith("/") else page.parent
    target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    return (
        not parts.fragment
        or target.suffix != ".html"
        or (unquote(parts.fragment) in _page(target).anchors)
    )
