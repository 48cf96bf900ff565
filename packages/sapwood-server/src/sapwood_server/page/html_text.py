"""Text as HTML: escaped, with control characters made visible; and Markdown without HTML.

Nothing that a user, a model or a tool wrote reaches a page as markup.
"""

import html
from collections.abc import Sequence
from functools import cache, lru_cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments.lexer import Lexer
from pygments.lexers import (
    get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType] # its options are any
)
from pygments.token import Comment, Generic, Keyword, Name, Number, String
from pygments.util import ClassNotFound

from sapwood.core.token_count import Count, show
from sapwood.display.quantities import ago, iso
from sapwood.display.text import one_line, plain, visible_parts

_MAX_COLOURED = 20_000
_COLOURS = (
    (Comment, "note"),
    (Keyword, "word"),
    (String, "text"),
    (Number, "number"),
    (Name.Function, "name"),
    (Name.Class, "name"),
    (Name.Tag, "word"),
    (Name.Attribute, "name"),
    (Generic.Inserted, "text"),
    (Generic.Deleted, "gone"),
)
"""Kinds of words in code, and the class of each."""


def text(value: str) -> str:
    """A text of any number of lines, escaped."""
    return html.escape(plain(value), quote=False)


def line(value: str) -> str:
    """A text on one line, escaped."""
    return html.escape(one_line(value), quote=False)


def attribute(value: str) -> str:
    """A text as the value of an attribute in double quotes."""
    return html.escape(one_line(value), quote=True)


def exact_text(value: str) -> str:
    """Every character of a text: those that cannot be seen as chips."""
    pieces = [
        f'<span class="cc hard">{html.escape(piece)}</span>' if hidden else html.escape(piece)
        for piece, hidden in visible_parts(value)
    ]
    return "".join(pieces)


def size(count: Count) -> str:
    """A number of tokens."""
    return html.escape(show(count))


def time_ago(at: int, now: int) -> str:
    """How long ago something was; the page keeps it up to date."""
    return f'<time datetime="{iso(at)}" data-at="{at // 1000}">{ago(at, now)}</time>'


def clock_time(at: int) -> str:
    """A time of day; the page shows it by the clock of its reader."""
    return f'<time datetime="{iso(at)}" data-clock="{at // 1000}">{iso(at)}</time>'


def who(model: str) -> str:
    """A short name of a model, for the gutter."""
    name = one_line(model).rpartition(":")[2] or "model"
    words = [word for word in name.split("-") if word != "claude"]
    short = words[0] if words and name.startswith("claude") else name
    return f'<abbr title="{html.escape(name)}">{html.escape(short[:9])}</abbr>'


def explained(sentence: str) -> str:
    """A small sign that opens an explanation where a word stands."""
    return (
        '<details class="why"><summary aria-label="What is this?">?</summary>'
        f"<p>{line(sentence)}</p></details>"
    )


def markdown(value: str) -> str:
    """A text in Markdown as HTML. HTML in it is shown as text, and images are links."""
    return _parser().render(plain(value))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
        ["table", "strikethrough"]
    )
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("th_open", _cell)
    parser.add_render_rule("td_open", _cell)
    return parser


def _image(
    _: RendererHTML, tokens: Sequence[Token], place: int, __: OptionsDict, ___: EnvType
) -> str:
    """An image would be fetched from elsewhere: its words and its address stand for it."""
    token = tokens[place]
    return (
        f'<span class="chip">image {escapeHtml(token.content or str(token.attrGet("src")))}</span>'
    )


def _link(
    self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[place]
    address = str(token.attrGet("href") or "")
    if not address.lower().startswith(("http://", "https://", "mailto:")):
        token.attrSet("href", "#")
    token.attrSet("rel", "noopener noreferrer nofollow")
    token.attrSet("target", "_blank")
    return self.renderToken(tokens, place, options, env)


def _cell(
    self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    """A cell of a table. Its alignment is a class, because the page allows no style attributes."""
    token = tokens[place]
    aligned = str(token.attrs.pop("style", "")).partition(":")[2]
    if aligned:
        token.attrSet("class", f"to-{aligned}")
    return self.renderToken(tokens, place, options, env)


def _code(
    _: RendererHTML, tokens: Sequence[Token], place: int, __: OptionsDict, ___: EnvType
) -> str:
    token = tokens[place]
    language = token.info.split()[0] if token.info.split() else ""
    return f"<pre><code>{highlighted(token.content, language)}</code></pre>\n"


@lru_cache(512)
def highlighted(code: str, language: str) -> str:
    """Code as HTML, coloured by classes if its language is known and it is not very long."""
    if len(code) > _MAX_COLOURED or (lexer := _lexer(language)) is None:
        return escapeHtml(code)
    pieces: list[str] = []
    for kind, value in lexer.get_tokens(code):
        name = next((name for parent, name in _COLOURS if kind in parent), "")
        words = escapeHtml(value)
        pieces.append(f'<span class="c-{name}">{words}</span>' if name else words)
    return "".join(pieces)


def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None
