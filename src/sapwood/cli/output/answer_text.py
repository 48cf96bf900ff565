"""The answers of the conversation service as lines for a terminal."""

from collections.abc import Sequence
from itertools import groupby
from typing import assert_never

from sapwood.cli.output.agent_list import agents_table
from sapwood.cli.output.agent_window import context_lines
from sapwood.cli.output_gate import styled
from sapwood.conversation import answers
from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.log_values import SearchHit
from sapwood.core.view.request import MessagePart, Request, ToolResult
from sapwood.display.quantities import clock
from sapwood.display.text import indented, one_line, pieces, wrapped
from sapwood.display.timeline_text import comparison_lines


def hit_lines(hits: Sequence[SearchHit], width: int) -> list[str]:
    """Returns the conversations with the place of each hit and its sentence."""
    lines: list[str] = []
    shown = ""
    for hit in hits:
        if hit.name and hit.ref.agent != shown:
            lines.append(styled(one_line(hit.name), bold=True))
        shown = hit.ref.agent
        place = ", ".join(
            filter(None, ("" if hit.source and not hit.place else hit.shown_place, hit.source))
        )
        lines.append(f"{styled(place, fg='cyan')} {styled(clock(hit.at), dim=True)}")
        lines += _marked(hit, width)
    return lines or ["Nothing was found."]


def _marked(hit: SearchHit, width: int) -> list[str]:
    """The sentence in lines, with the words that were found in bold.

    The marks are counted without spaces, because lines are broken at spaces.
    """
    letters = [found for piece, found in pieces(hit) for char in piece if not char.isspace()]
    at = 0
    lines: list[str] = []
    for line in wrapped(hit.snippet, width, "  "):
        words: list[str] = []
        for word in line.strip().split(" "):
            runs = groupby(zip(word, letters[at:], strict=False), key=lambda pair: pair[1])
            at += len(word)
            words.append("".join(_run(found, [char for char, _ in run]) for found, run in runs))
        lines.append(f"  {' '.join(words)}")
    return lines


def _run(found: bool, chars: list[str]) -> str:
    return styled("".join(chars), bold=True) if found else "".join(chars)


def request_lines(request: Request) -> list[str]:
    """Returns all blocks and messages of a request."""
    lines: list[str] = []
    for block in request.system:
        name = f"{block.kind} {block.name}".rstrip()
        lines += [styled(name, bold=True), *indented(block.text, "  "), ""]
    for message in request.messages:
        lines.append(styled(message.role, bold=True))
        for part in message.parts:
            lines += _part(part)
        lines.append("")
    return lines[:-1]


def _part(part: MessagePart) -> list[str]:
    match part:
        case Text() | File():
            return indented(part.text, "  ")
        case Thinking(text):
            return [styled(line, dim=True) for line in indented(text, "  ~ ")]
        case ToolCall(id_, name, args):
            return indented(f"→ {name} {args} [{id_}]", "  ")
        case ToolResult(call, name, content, error):
            head = f"  ← {name} [{call}]{' failed' if error else ''}"
            rows = [f"    {file.text}" for file in part.files]
            return [head, *indented(content, "    "), *rows]


def answer_text(answer: answers.Answer, width: int, now: int) -> str:
    """Returns the text of an answer for a terminal of this width. `now` is the current time."""
    match answer:
        case answers.AgentTree(agents):
            return "\n".join(agents_table(agents, width, now))
        case answers.ContextShown(breakdown):
            return "\n".join(context_lines(breakdown, width))
        case answers.SearchResults(hits=hits):
            return "\n".join(hit_lines(hits, width))
        case answers.RequestReplayed(replayed=replayed):
            shown = [*request_lines(replayed.request), ""] if replayed else []
            return "\n".join([*shown, answer.message])
        case answers.PromptToEdit(prompt=prompt):
            return "\n".join([answer.message, *indented(prompt, "  ")])
        case answers.ContextsCompared():
            return "\n".join(comparison_lines(answer, width))
        case (
            answers.Prompted()
            | answers.Changed()
            | answers.Forked()
            | answers.ConversationStarted()
            | answers.Switched()
            | answers.MailSent()
            | answers.MailRead()
            | answers.MailShown()
            | answers.Waited()
            | answers.StillWaiting()
            | answers.AgentsKilled()
            | answers.Compacted()
            | answers.PassageShown()
            | answers.FilesReverted()
            | answers.SettingShown()
            | answers.SettingsShown()
            | answers.PermissionsShown()
            | answers.HelpShown()
            | answers.JobShown()
            | answers.ArgumentNeeded()
            | answers.Left()
        ):
            return answer.message
        case _:
            assert_never(answer)
