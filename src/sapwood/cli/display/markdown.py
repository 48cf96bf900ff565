"""A conversation as Markdown, to be read, kept and shared."""

from collections.abc import Iterable

from sapwood.core.content import Note, Text, Thinking, ToolCall
from sapwood.core.state import State
from sapwood.core.turn import Reply, Turn
from sapwood.core.view.framing import how_it_ended, how_it_was_cut
from sapwood.display.text import one_line, plain
from sapwood.display.times import clock

__all__ = ["markdown"]


def markdown(state: State, turns: Iterable[Turn], front: Iterable[Text] = ()) -> str:
    """The conversation, its parts as headings; what tools gave back stands in fences."""
    title = one_line(state.name) or state.agent
    lines = [
        f"# {title}",
        "",
        f"Agent `{state.agent}`, {state.settings.model or 'no model'}, "
        f"started {clock(state.created)}.",
        "",
    ]
    for text in front:
        lines += [*(f"> {line}".rstrip() for line in plain(text.text).split("\n")), ""]
    for turn in turns:
        lines += _turn(turn)
    return "\n".join(lines).rstrip() + "\n"


def _turn(turn: Turn) -> list[str]:
    lines = [f"## You ({turn.agent}:{turn.first})", ""]
    for part in turn.prompt:
        if isinstance(part, Note):
            lines += [f"*{part.origin}{f' from {part.source}' if part.source else ''}*", ""]
        lines += [plain(part.text), ""]
    for item in turn.items:
        if isinstance(item, Reply):
            lines += _reply(item)
        else:
            failed = " (failed)" if item.error else ""
            lines += [f"Result{failed}:", "", *_fenced(item.content), ""]
    if turn.status not in ("completed", "open"):
        lines += [f"*{one_line(how_it_ended(turn).strip('[]'))}*", ""]
    return lines


def _reply(reply: Reply) -> list[str]:
    lines: list[str] = []
    if any(isinstance(part, Text) and part.text.strip() for part in reply.parts):
        lines += [f"### {reply.model or 'Model'}", ""]
    for part in reply.parts:
        match part:
            case Text(text):
                lines += [plain(text), ""]
            case ToolCall(_, name, args):
                lines += [f"Called `{name}`:", "", *_fenced(args, "json"), ""]
            case Thinking():
                pass
    if reply.ended != "done":
        lines += [f"*{how_it_was_cut(reply.ended).strip('[]')}*", ""]
    return lines


def _fenced(text: str, language: str = "") -> list[str]:
    """A fence that is longer than any in the text."""
    shown = plain(text)
    fence = "```"
    while fence in shown:
        fence += "`"
    return [f"{fence}{language}", shown.rstrip("\n"), fence]
