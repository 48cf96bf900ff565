"""The difference between two contexts as lines of text."""

from sapwood.conversation.answers import ContextsCompared
from sapwood.core.content import Text
from sapwood.core.turn import Turn
from sapwood.display.text import cut

__all__ = ["comparison_lines"]


def comparison_lines(compared: ContextsCompared, width: int) -> list[str]:
    """A line for each turn that one side alone shows, behind a minus or a plus."""
    found = compared.diff
    if found.same:
        return [compared.message]
    lines = [_turn("-", turn, width) for turn in found.only_left]
    lines += [_turn("+", turn, width) for turn in found.only_right]
    lines.append(f"{found.shared} turn{'' if found.shared == 1 else 's'} in both.")
    if found.front_differs:
        lines.append("What stands before the turns differs: summary or carried request.")
    if found.mask_differs:
        lines.append("Other tool results are masked.")
    return lines


def _turn(sign: str, turn: Turn, width: int) -> str:
    words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
    return cut(f"{sign} {turn.agent}:{turn.first} {words}", width)
