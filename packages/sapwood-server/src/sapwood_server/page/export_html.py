"""A conversation as a single HTML file, to read: no script, no request, the rows of the web page.

Its own policy forbids scripts and every address outside the file, whatever the conversation has in
it. Buttons are left out. Turns that left view are behind a line that opens.
"""

import re
from collections.abc import Sequence
from importlib.resources import files

from sapwood.conversation.call import OpenSpace
from sapwood.conversation.open_timeline import OpenTimeline, RowsPage, key_text
from sapwood.core.content import File
from sapwood.core.ids import AgentId
from sapwood.core.plural import counted
from sapwood.core.state import State
from sapwood.core.timeline.row_content import (
    HiddenMessages,
    MessageEvent,
    PromptText,
    message_parts,
)
from sapwood.core.timeline.rows import Fold, Row, fold_label
from sapwood.display.quantities import clock, now
from sapwood_server.page.html_text import line, text, time_ago
from sapwood_server.page.row_html import row_html

Pictures = dict[tuple[AgentId, int, int], str]
"""The address of each image, by agent, version and its number among the files of the event."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_PICTURES = ("image/gif", "image/jpeg", "image/png", "image/webp")
_BUTTONS = re.compile(r'<button\b[^>]*>.*?</button>|<a class="grip".*?</a>', re.DOTALL)
_EMPTY_ACTS = re.compile(r'<span class="acts[^"]*">\s*</span>')
_FONTS = re.compile(r"@font-face \{[^}]*\}\s*")
_LIGHT = re.compile(r"\[data-theme=light\] (\{[^}]*\})")
_STYLE = """
html, body { height: auto } body { max-width: 1080px; margin: 0 auto; padding: 20px 0 60px }
.about { padding: 0 20px 14px 108px } .foldbox > summary.div { cursor: pointer }
.foldbox[open] > summary .tri { transform: rotate(90deg) } .row { content-visibility: visible }
@media (max-width: 480px) { .about { padding-left: 20px } }
@media print { .row { break-inside: avoid } }
"""


async def export_html(space: OpenSpace, agent: AgentId, *, everything: bool) -> str:
    """The file. Without `everything`, turns that left view are named, but not in the file."""
    timeline = OpenTimeline(space, agent)
    try:
        await timeline.wait_until_complete()
        state = (await space.dispatcher.open(agent)).state
        page = await timeline.page(0, 10**9)
        inside: dict[str, RowsPage] = {}
        if everything:
            for each in page.rows:
                if isinstance(each.row, Fold):
                    key = key_text(each.row.key)
                    inside[key] = await timeline.fold(key, 0, 10**9)
        pictures = await _pictures(space, [page, *inside.values()])
    finally:
        timeline.close()
    return _document(state, _rows(page, inside, pictures, now()))


def _rows(page: RowsPage, inside: dict[str, RowsPage], pictures: Pictures, at: int) -> str:
    def picture(row: Row, number: int) -> str:
        return pictures.get((row.agent, row.version, number), "")

    parts: list[str] = []
    for number, each in enumerate(page.rows):
        html = row_html(each, page.first + number, page.total, at, picture).html
        if isinstance(each.row, Fold) and isinstance(each.content, HiddenMessages):
            found = inside.get(key_text(each.row.key))
            rows = _rows(found, {}, pictures, at) if found else ""
            parts.append(_fold(each.row, each.content.request, rows, at))
        else:
            parts.append(_EMPTY_ACTS.sub("", _BUTTONS.sub("", html)))
    return "".join(parts)


def _fold(row: Fold, request: str, rows: str, at: int) -> str:
    words = (
        f"<b>{fold_label(row)}</b><span>{line(row.cause)} · {time_ago(row.at, at)} · "
        f"{counted(row.turns, 'turn')}</span>"
    )
    carried = ""
    if request:
        carried = (
            '<div class="row carried"><div class="gut"><span class="you">your last request</span>'
            f'</div><div class="body"><div class="words">{text(request)}</div></div></div>'
        )
    if not rows:
        return f'<article class="foldbox"><div class="div">{words}</div>{carried}</article>'
    return (
        f'<article><details class="foldbox"><summary class="div"><span class="tri" '
        f'aria-hidden="true">▸</span>{words}</summary><div class="inside" role="feed" '
        f'aria-label="Turns out of view">{rows}</div></details>{carried}</article>'
    )


async def _pictures(space: OpenSpace, pages: Sequence[RowsPage]) -> Pictures:
    """The images of prompts as addresses that contain them."""
    found: Pictures = {}
    for each in (row for page in pages for row in page.rows):
        row, content = each.row, each.content
        if not (isinstance(row, Row) and isinstance(content, PromptText)) or content.image is None:
            continue
        for recorded in await space.log.read(space.space, row.agent, row.version, row.version):
            if isinstance(recorded.event, MessageEvent):
                images = [part for part in message_parts(recorded.event) if isinstance(part, File)]
                file = images[content.image]
                if file.media_type in _PICTURES:
                    address = file.data_url
                    found[row.agent, row.version, content.image] = address
    return found


def _document(state: State, rows: str) -> str:
    title = line(state.name) or line(state.agent)
    folder = line(state.workspace.folder.rstrip("/").rpartition("/")[2])
    facts = " · ".join(filter(None, (folder, line(state.settings.model), clock(now()))))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="referrer" content="no-referrer">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_style()}</style></head><body><main>"
        f'<header class="about"><h1 class="h1">{title}</h1><p class="faint">{facts} · written by '
        "<code>sapwood export --html</code>. Green next to a row means that the model sees it."
        "</p></header>"
        f'<div role="feed" aria-label="Timeline">{rows}</div></main></body></html>'
    )


def _style() -> str:
    """The style sheet of the page, without fonts, light or dark as the reader's system is."""
    style = (files("sapwood_server") / "static" / "sapwood.css").read_text("utf-8")
    style = _FONTS.sub("", style)
    light = _LIGHT.search(style)
    themes = f"@media (prefers-color-scheme: light) {{ :root {light[1]} }}" if light else ""
    return f"{style}\n{themes}\n{_STYLE}"
