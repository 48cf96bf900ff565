"""What was written for later: focus, archives, packages; and what was found again."""

from sapwood.core.counting import Count, show
from sapwood.display.garden.sections import entries
from sapwood.display.text import plain, wrapped
from sapwood.display.times import clock
from sapwood.garden.focus import Focus
from sapwood.garden.searching import Passage

__all__ = ["archived_lines", "focus_lines", "handed_lines", "passage_lines"]


def focus_lines(focus: Focus, width: int) -> list[str]:
    """The stack, the most important first, and the background."""
    if not focus.topics and not focus.background:
        return ["Nothing is in focus. Type: context focus TOPIC"]
    lines = ["In focus:"] if focus.topics else ["Nothing is in focus."]
    lines += [f"  {topic.priority}. {plain(topic.name)}" for topic in focus.topics]
    if focus.background:
        names = (
            f"{topic.name} (archived)" if topic.archived else topic.name
            for topic in focus.background
        )
        lines += ["In the background:", *entries(names, width)]
    return lines


def archived_lines(topic: str, turns: int, tokens: Count, path: str, text: str) -> list[str]:
    """An archive that was made, or its text where it was not stored."""
    if not path:
        return plain(text).splitlines()
    count = f"{turns} turn{'' if turns == 1 else 's'}"
    return [f'Archived "{plain(topic)}": {count}, {show(tokens)} tokens.', f"  {path}"]


def handed_lines(text: str, path: str) -> list[str]:
    """A package, and where it is."""
    return [*plain(text).splitlines(), *([f"Written to {path}"] if path else [])]


def passage_lines(hits: tuple[Passage, ...], width: int) -> list[str]:
    """Each place with the words around."""
    lines: list[str] = []
    for hit in hits:
        lines.append(f"{hit.where}  {clock(hit.at)}" if hit.at else hit.where)
        lines += wrapped(hit.excerpt, width, "  ")
    return lines or ["Nothing was found."]
