"""The text of a web page, with its links: headings, lists and code stay recognizable. Pure.

What a page hides from people by attributes of its elements, and characters that nobody sees, are
left out: they would be words for the model alone. What a style sheet or a script hides is kept.

It reads each character once, whatever a page contains: what is never closed ends the page. The
parser of the standard library takes quadratic time for some pages, so it is not used.
"""

import re
from html import unescape
from urllib.parse import urljoin

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "select"})
_BLOCKS = frozenset(
    "address article aside blockquote body br dd details div dl dt fieldset figcaption figure "
    "footer form header hr li main nav ol p pre section summary table tr ul h1 h2 h3 h4 h5 "
    "h6".split()
)
_LINES = frozenset({"br", "dd", "dt", "li", "tr"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9-]{0,20}")
_ENDS = {tag: re.compile(f"</{tag}", re.IGNORECASE) for tag in _SKIPPED}
_VALUE = r"""\s{0,9}=\s{0,9}("[^"]*"|'[^']*'|[^\s"'>]+)"""
_READ = ("href", "alt", "style", "aria-hidden")
_ATTRIBUTES = {name: re.compile(rf"\s{name}{_VALUE}", re.IGNORECASE) for name in _READ}
_HIDING_STYLE = re.compile(
    r"display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden"
    r"|(?:opacity|font-size)\s{0,9}:\s{0,9}0(?![.\d])",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"""\"[^"]*"|'[^']*'""")
_HIDDEN = re.compile(r"\shidden(?=[\s=/]|$)", re.IGNORECASE)
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_MAX_TAG = 8_000
_SPACE = re.compile(r"\s+")
_GAPS = re.compile(r"\n{3,}")
_LINK_SCHEMES = ("http://", "https://")


def web_text(page: str, address: str) -> tuple[str, str]:
    """The title of a page in HTML, and its text, with links as absolute addresses.

    >>> web_text("<title>Trees</title><h1>Oak</h1><p>See <a href=b>more</a>.", "http://a.example/")
    ('Trees', '# Oak\\n\\nSee [more](http://a.example/b).')
    """
    reader = _PageReader(address)
    at = 0
    while at < len(page):
        start = page.find("<", at)
        reader.text(page[at : start if start >= 0 else len(page)])
        at = len(page) if start < 0 else _after_markup(page, start, reader)
    reader.close_link()
    title = _SPACE.sub(" ", "".join(reader.title)).strip()
    lines = (line.rstrip() for line in "".join(reader.pieces).split("\n"))
    return title, _GAPS.sub("\n\n", "\n".join(lines)).strip()


def without_unseen(text: str) -> str:
    """The text without characters that nobody sees, and without sequences for terminals."""
    return _UNSEEN.sub("", text)


def _after_markup(page: str, start: int, reader: "_PageReader") -> int:
    """Reads a tag or a comment; returns where the text continues."""
    if page.startswith("<!--", start):
        end = page.find("-->", start)
        return len(page) if end < 0 else end + 3
    name = _NAME.match(page, start + 1)
    if name is None and page[start + 1 : start + 2] not in ("!", "?"):
        reader.text("<")
        return start + 1
    end = page.find(">", start)
    if end < 0:
        return len(page)
    if name is None:
        return end + 1
    tag = name[0].lower()
    if tag in _SKIPPED:
        closing = _ENDS[tag].search(page, end)
        return len(page) if closing is None else closing.start()
    if tag.startswith("/"):
        reader.end(tag[1:])
    else:
        reader.start(tag, page[start : min(end, start + _MAX_TAG)])
    return end + 1


class _PageReader:
    """Collects the pieces of a text."""

    def __init__(self, address: str) -> None:
        self.pieces: list[str] = []
        self.title: list[str] = []
        self._address = address
        self._in_title = False
        self._in_code = False
        self._link = ""
        self._hidden, self._depth = "", 0

    def text(self, text: str) -> None:
        """Adds text: as it is in `pre`, with single blanks elsewhere."""
        if self._hidden:
            return
        text = without_unseen(_unescaped(text))
        if self._in_title:
            self.title.append(text)
        elif text:
            self.pieces.append(text if self._in_code else _SPACE.sub(" ", text))

    def start(self, tag: str, whole: str) -> None:
        """Starts a line for a block, and notes links and hidden elements."""
        if self._hidden:
            self._depth += tag == self._hidden
        elif tag not in _VOID and _hides(whole):
            self._hidden, self._depth = tag, 1
        elif tag == "title":
            self._in_title = True
        elif tag == "a":
            self.close_link()
            self._link = _absolute(self._address, _attribute(whole, "href"))
            self.pieces += ["["] if self._link else []
        elif tag in ("td", "th"):
            self.pieces.append(" | ")
        elif tag == "img":
            self.pieces.append(_SPACE.sub(" ", without_unseen(_attribute(whole, "alt"))))
        elif tag in _BLOCKS:
            self._in_code = self._in_code or tag == "pre"
            self.pieces.append("\n" if tag in _LINES else "\n\n")
            self.pieces.append("- " if tag == "li" else _HEADINGS.get(tag, ""))

    def end(self, tag: str) -> None:
        """Ends a line after a block."""
        if self._hidden:
            self._depth -= tag == self._hidden
            self._hidden = self._hidden if self._depth else ""
        elif tag == "title":
            self._in_title = False
        elif tag == "a":
            self.close_link()
        elif tag in _BLOCKS:
            self._in_code = self._in_code and tag != "pre"
            self.pieces.append("\n" if tag in _LINES else "\n\n")

    def close_link(self) -> None:
        """Ends the link that is open, if one is."""
        if self._link:
            self.pieces.append(f"]({self._link})")
        self._link = ""


def _hides(tag: str) -> bool:
    """Whether people do not see what is in an element with this tag."""
    return (
        _HIDDEN.search(_QUOTED.sub("", tag)) is not None
        or _attribute(tag, "aria-hidden").lower() == "true"
        or _HIDING_STYLE.search(_attribute(tag, "style")) is not None
    )


def _attribute(tag: str, name: str) -> str:
    found = _ATTRIBUTES[name].search(tag)
    return _unescaped(found[1].strip("\"'")) if found else ""


def _unescaped(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a number with thousands of digits
        return text


def _absolute(address: str, link: str) -> str:
    """The address of a link; '' if it is none of the web, or only a place in the page."""
    if not link or link.startswith("#"):
        return ""
    try:
        found = urljoin(address, link.strip())
    except ValueError:
        return ""
    if not found.startswith(_LINK_SCHEMES):
        return ""
    scheme, _, rest = found.partition("://")
    place, slash, path = rest.partition("/")
    return _SPACE.sub("%20", f"{scheme}://{place.rpartition('@')[2]}{slash}{path}")
