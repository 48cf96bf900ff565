"""Draws a terminal as SVG, still or animated. Does no I/O."""

from collections.abc import Sequence
from html import escape

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.strip import Strip

WIDTH, HEIGHT = 8.43, 18.0
_MARGIN, _BAR = 10.0, 30.0
_FONT = "'Fira Code','DejaVu Sans Mono',Menlo,Consolas,monospace"
_NORMAL = "15171a e06c62 8fbf6b e3a857 6fa3d8 b58bd0 62b5b0 dcd8cc"
_BRIGHT = "6b7078 f08a80 a9d588 f0c27f 8fbcea cba6e3 84cfca f4f1e8"


def _palette(colours: str) -> list[tuple[int, int, int]]:
    values = [bytes.fromhex(colour) for colour in colours.split()]
    return [(red, green, blue) for red, green, blue in values]


THEME = TerminalTheme((21, 23, 26), (220, 216, 204), _palette(_NORMAL), _palette(_BRIGHT))
"""The colours of a terminal for programs that name them only."""
GROUND = "#15171a"

Frame = tuple[float, Sequence[Strip]]
"""The seconds for which a frame is shown, and its lines."""


def still(strips: Sequence[Strip], title: str, ground: str = "") -> str:
    """One picture. `ground` is the colour of the window, by default that of its middle line."""
    columns = max(strip.cell_length for strip in strips)
    lines = "".join(_line(strip, y) for y, strip in enumerate(strips))
    return _window(columns, len(strips), title, lines, ground or _ground(strips))


def moving(frames: Sequence[Frame], title: str, ground: str = "") -> str:
    """An animation that repeats. Each line is drawn once and shown in its frames."""
    total = sum(seconds for seconds, _ in frames)
    rows = max(len(strips) for _, strips in frames)
    columns = max(strip.cell_length for _, strips in frames for strip in strips)
    drawn: list[str] = []
    for y in range(rows):
        spans: dict[str, list[tuple[float, float]]] = {}
        at = 0.0
        for seconds, strips in frames:
            line = _line(strips[y], y) if y < len(strips) else ""
            times = spans.setdefault(line, [])
            if times and times[-1][1] == at:
                times[-1] = (times[-1][0], at + seconds)
            else:
                times.append((at, at + seconds))
            at += seconds
        drawn += [_shown(line, times, total) for line, times in spans.items() if line]
    return _window(columns, rows, title, "".join(drawn), ground or _ground(frames[0][1]))


def _shown(line: str, times: list[tuple[float, float]], total: float) -> str:
    if times == [(0.0, total)]:
        return line
    marks = [(0.0, "hidden")] if times[0][0] > 0 else []
    for start, end in times:
        marks.append((start, "visible"))
        if end < total:
            marks.append((end, "hidden"))
    values = ";".join(value for _, value in marks)
    keys = ";".join(f"{at / total:.4f}" for at, _ in marks)
    return (
        f'<g visibility="hidden">{line}<animate attributeName="visibility" calcMode="discrete" '
        f'values="{values}" keyTimes="{keys}" dur="{total:.2f}s" repeatCount="indefinite"/></g>\n'
    )


def _window(columns: int, rows: int, title: str, lines: str, ground: str) -> str:
    width, height = columns * WIDTH + 2 * _MARGIN, rows * HEIGHT + _BAR + _MARGIN
    dots = "".join(
        f'<circle cx="{20 + 18 * number}" cy="15" r="5.5" fill="{colour}"/>'
        for number, colour in enumerate(("#e06c62", "#e3a857", "#8fbf6b"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="{escape(title)}">\n'
        f"<style>text{{font:14px {_FONT};white-space:pre}}.b{{font-weight:700}}"
        ".i{font-style:italic}.u{text-decoration:underline}</style>\n"
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="9" fill="{ground}" '
        'stroke="#3a3f45"/>\n'
        f'{dots}<text x="{width / 2:.0f}" y="20" text-anchor="middle" fill="#8a8f98">'
        f"{escape(title)}</text>\n"
        f'<g transform="translate({_MARGIN} {_BAR})">\n{lines}</g>\n</svg>\n'
    )


def _line(strip: Strip, y: int) -> str:
    """Draws the backgrounds first, then the text; runs of spaces are not drawn."""
    grounds: list[str] = []
    words: list[str] = []
    x = 0
    for text, style, _ in Segment.simplify(strip):
        cells = cell_len(text)
        fore, back = _colours(style)
        if back:
            grounds.append(
                f'<rect x="{x * WIDTH:.1f}" y="{y * HEIGHT:.1f}" width="{cells * WIDTH + 0.3:.1f}" '
                f'height="{HEIGHT + 0.3:.1f}" fill="{back}"/>'
            )
        if text.strip():
            words.append(_words(text, x, y, fore, style))
        x += cells
    return "".join([*grounds, *words, "\n"]) if grounds or words else ""


def _words(text: str, x: int, y: int, colour: str, style: Style | None) -> str:
    lead = len(text) - len(text.lstrip(" "))
    shown = text.strip(" ")
    marks = [
        name
        for name, on in (
            ("b", style and style.bold),
            ("i", style and style.italic),
            ("u", style and style.underline),
        )
        if on
    ]
    kind = f' class="{" ".join(marks)}"' if marks else ""
    return (
        f'<text x="{(x + lead) * WIDTH:.1f}" y="{y * HEIGHT + 13.5:.1f}" fill="{colour}"{kind} '
        f'textLength="{cell_len(shown) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(shown).replace(' ', '&#160;')}</text>"
    )


def _colours(style: Style | None) -> tuple[str, str]:
    fore = _hex(style.color, foreground=True) if style and style.color else "#dcd8cc"
    back = _hex(style.bgcolor, foreground=False) if style and style.bgcolor else ""
    if style and style.reverse:
        return back or GROUND, fore
    return fore, back


def _hex(colour: Color, *, foreground: bool) -> str:
    return colour.get_truecolor(THEME, foreground=foreground).hex


def _ground(strips: Sequence[Strip]) -> str:
    """The most frequent background colour."""
    for _, style, _ in strips[len(strips) // 2]:
        if style and style.bgcolor:
            return _hex(style.bgcolor, foreground=False)
    return GROUND
