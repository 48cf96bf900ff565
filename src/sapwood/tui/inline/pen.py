"""The painter of what is printed: the ground is the terminal's, and nothing offers to be opened."""

from msgspec import structs
from rich.console import Console
from rich.text import Text as Words
from textual.strip import Strip

from sapwood.core.timeline.row_labels import fold_label
from sapwood.core.timeline.rows import Fold
from sapwood.display.text import cut
from sapwood.runtime.timeline_reader import EventCache
from sapwood.tui.inline.tape import Item, Rule
from sapwood.tui.transcript.ink import Lines
from sapwood.tui.transcript.look import Look
from sapwood.tui.transcript.painter import Painter

__all__ = ["Pen"]


class Pen(Painter):
    """Draws for one width and one look."""

    def __init__(self, console: Console, look: Look, width: int, events: EventCache) -> None:
        plain = structs.replace(look, code_ground=look.ground)
        super().__init__(console, plain, width, events, lambda strip: strip)

    def item(self, item: Item, now: int, *, working: bool = False) -> list[Strip]:
        """The lines of something to print. Raises `NotLoaded`."""
        if isinstance(item.what, Rule):
            return self.finished(self._rule(item.what))
        return self.draw(item.what, dim=item.dim, opened=False, now=now, working=working)

    def _rule(self, rule: Rule) -> Lines:
        look = self.look
        match rule.kind:
            case "heading":
                return self._line("── ", rule.words, "─", look.faint, f"bold {look.model}")
            case "window":
                return self._line("━━ ", rule.words, "━", look.warning, f"bold {look.warning}")
            case "note":
                return self._line("╌╌╌ ", rule.words, "╌", look.faint, look.accent)

    def _fold(self, row: Fold, now: int) -> Lines:
        return self._rule(Rule(f"{fold_label(row)} · {row.cause}"))

    def _line(self, before: str, words: str, fill: str, faint: str, style: str) -> Lines:
        room = self.width - 4
        text = Words.assemble((before, faint), (f"{cut(words, room - len(before) - 1)} ", style))
        return self.across(text.append(fill * max(0, room - text.cell_len), faint))
