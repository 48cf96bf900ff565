"""A conversation as people read it: who said what, with dividers where something was left out."""

import click

from sapwood.core.content import Note, PromptPart, Text, Thinking, ToolCall
from sapwood.core.live import Live
from sapwood.core.turn import Reply, Result, Turn
from sapwood.core.view.build import front_texts
from sapwood.core.view.framing import how_it_was_cut
from sapwood.display.text import cut, plain, wrapped

__all__ = ["conversation", "divider", "turn_lines"]

_RESULT_LINES = 8


def conversation(live: Live, width: int, *, whole: bool = False) -> list[str]:
    """What is in view, oldest first. Long results are cut, unless all of it is asked for."""
    lines: list[str] = []
    if live.context.head is not None or front_texts(live):
        lines += [divider("earlier turns are out of view", width), ""]
    for text in front_texts(live):
        lines += [*wrapped(text.text, width), ""]
    for turn in live.all_turns:
        lines += [*turn_lines(turn, width, whole=whole), ""]
    return lines[:-1] if lines else ["Nothing is in view."]


def divider(words: str, width: int) -> str:
    """A line across the screen with words in it."""
    side = "─" * max(1, (width - len(words) - 2) // 2)
    return click.style(cut(f"{side} {words} {side}", width), dim=True)


def turn_lines(turn: Turn, width: int, *, whole: bool = False) -> list[str]:
    """One turn: the prompt, what the model said and did, and how it ended."""
    lines = [_head("you", f"{turn.agent}:{turn.first}", width)]
    for part in turn.prompt:
        lines += _prompt(part, width)
    for item in turn.items:
        lines += _reply(item, width) if isinstance(item, Reply) else _result(item, width, whole)
    if turn.status == "open":
        lines.append(click.style("(open)", fg="yellow"))
    elif turn.status != "completed":
        told = f"({turn.status}: {plain(turn.reason)})" if turn.reason else f"({turn.status})"
        lines += [click.style(line, fg="yellow") for line in wrapped(told, width)]
    return lines


def _head(who: str, place: str, width: int) -> str:
    gap = max(1, width - len(who) - len(place))
    return click.style(who, bold=True) + " " * gap + click.style(place, dim=True)


def _prompt(part: PromptPart, width: int) -> list[str]:
    if isinstance(part, Note):
        label = f"[{part.origin}{f' from {part.source}' if part.source else ''}]"
        return [click.style(label, dim=True), *wrapped(part.text, width)]
    return wrapped(part.text, width)


def _reply(reply: Reply, width: int) -> list[str]:
    lines: list[str] = []
    for part in reply.parts:
        match part:
            case Text(text) if text.strip():
                lines += [click.style(reply.model or "model", bold=True), *wrapped(text, width)]
            case ToolCall(_, name, args):
                lines.append(click.style(cut(f"→ {name} {args}", width), fg="cyan"))
            case Text() | Thinking():
                pass
    if reply.ended != "done":
        lines.append(click.style(how_it_was_cut(reply.ended), fg="yellow"))
    return lines


def _result(result: Result, width: int, whole: bool) -> list[str]:
    lines = wrapped(result.content, width, "  ")
    over = len(lines) - _RESULT_LINES
    if over > 1 and not whole:
        lines = [*lines[:_RESULT_LINES], f"  … {over} more lines"]
    colour = "red" if result.error else None
    return [click.style(line, dim=True, fg=colour) for line in lines]
