"""The output of `sapwood run`: text for people, or JSON lines for programs."""

import sys
from typing import Protocol

import click
from msgspec import Struct

from sapwood.cli.console import columns
from sapwood.cli.exit_codes import Exit
from sapwood.cli.output.event_text import event_value, json_line, usage_value
from sapwood.cli.output_gate import styled, unstyled
from sapwood.core import events
from sapwood.core.content import ReplyPart, Text, ToolCall, Usage
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta
from sapwood.core.plural import counted
from sapwood.core.view.frames import how_it_was_cut
from sapwood.display.quantities import usage_line
from sapwood.display.text import cut, plain, readable, wrapped

_EXCERPT = 400


class RunSummary(Struct, frozen=True):
    """How a run ended, and what it used. `agent` is None if the run failed before it had one.

    `blocked` has a line for each tool call that was not allowed.
    """

    agent: AgentId | None
    exit: Exit
    used: Usage
    problem: str = ""
    blocked: tuple[str, ...] = ()


class RunOutput(Protocol):
    """Receives everything that happens in a run, and prints it."""

    def delta(self, agent: AgentId, delta: Delta) -> None:
        """Prints a piece of a reply."""
        ...

    def event(self, recorded: events.Recorded) -> None:
        """Prints an event of the agent."""
        ...

    def answer(self, line: str, answer: str) -> None:
        """Prints the answer to the command `line`."""
        ...

    def note(self, words: str) -> None:
        """Prints a note about the run itself."""
        ...

    def end(self, summary: RunSummary) -> None:
        """Prints the summary at the end of the run."""
        ...


class TextOutput:
    """Prints replies on stdout as they arrive, and everything else on stderr if `notes` is set."""

    def __init__(self, *, notes: bool) -> None:
        self._notes = notes
        self._streamed = ""
        self._at_start = True
        self._written = ""
        self._held = ""

    def delta(self, agent: AgentId, delta: Delta) -> None:
        if delta.kind == "text":
            self._streamed += delta.text
            self._write(delta.text)

    def event(self, recorded: events.Recorded) -> None:
        match recorded.event:
            case events.ReplyAdded(parts, ended=ended):
                self._reply(parts)
                if ended != "done":
                    self.note(how_it_was_cut(ended))
            case events.ToolFinished(blocked=blocked) if blocked:
                self.note(plain(blocked))
            case events.ToolFinished(_, content, True):
                for line in wrapped(cut(content, _EXCERPT), columns(), "  "):
                    self._write_note(line)
            case events.ContextTrimmed(cause, _, turns):
                self._write_note(f"({cause}: {counted(turns, 'turn')} removed from view)")
            case events.CheckpointMissed(reason):
                self._write_note(f"(no checkpoint: {reason})")
            case events.MailReceived(_, _, sender):
                self._write_note(f"(mail from {sender or 'outside'})")
            case _:
                pass

    def answer(self, line: str, answer: str) -> None:
        self._new_line()
        if answer:
            click.echo(answer)  # the gate shows control characters, and lets our styles pass

    def note(self, words: str) -> None:
        self._new_line()
        click.echo(words, err=True)

    def end(self, summary: RunSummary) -> None:
        self._new_line()
        if summary.problem:
            click.echo(f"{styled('Error:', fg='red')} {summary.problem}", err=True)
        used = f" · {usage_line(summary.used)}" if summary.used.input else ""
        self._write_note(f"agent {summary.agent}{used}")

    def _reply(self, parts: tuple[ReplyPart, ...]) -> None:
        """Prints the part of a reply that did not arrive in pieces, as from another process."""
        text = "".join(part.text for part in parts if isinstance(part, Text))
        if self._streamed.startswith(text):
            self._streamed = self._streamed[len(text) :]
        elif text.startswith(self._streamed):
            self._write(text[len(self._streamed) :])
            self._streamed = ""
        else:
            self._new_line()
            self._write(text)
            self._streamed = ""
        if not self._streamed:
            self._new_line()
        for part in parts:
            if isinstance(part, ToolCall):
                self._write_note(cut(f"→ {part.name} {part.args}", columns()))

    def _write(self, text: str) -> None:
        """Prints a piece of a reply as it would be in the whole, wherever the reply was cut."""
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""  # the first half of a line end?
        self._print(text.removesuffix("\r"))

    def _print(self, text: str) -> None:
        if shown := readable(text, self._written):
            click.echo(shown, nl=False)
            sys.stdout.flush()
            self._at_start = shown.endswith("\n")
            self._written = text[-1:]

    def _new_line(self) -> None:
        held, self._held = self._held, ""
        self._print(held)
        if not self._at_start:
            click.echo()
            self._at_start = True
        self._written = ""

    def _write_note(self, words: str) -> None:
        if self._notes:
            self._new_line()
            click.echo(styled(words, dim=True), err=True)


class JsonOutput:
    """Prints everything as JSON lines on stdout, each with a `type`."""

    def delta(self, agent: AgentId, delta: Delta) -> None:
        named = {"name": delta.name} if delta.name else {}
        self._print("delta", agent=agent, kind=delta.kind, text=delta.text, **named)

    def event(self, recorded: events.Recorded) -> None:
        if not isinstance(recorded.event, events.ReplyStreamed):  # its words were printed as deltas
            self._print("event", **event_value(recorded))

    def answer(self, line: str, answer: str) -> None:
        self._print("answer", command=line, says=unstyled(answer))

    def note(self, words: str) -> None:
        self._print("note", says=words)

    def end(self, summary: RunSummary) -> None:
        problem = {"error": summary.problem} if summary.problem else {}
        self._print(
            "end",
            agent=summary.agent,
            exit=int(summary.exit),
            used=usage_value(summary.used),
            blocked=summary.blocked,
            **problem,
        )

    def _print(self, type_: str, **fields: object) -> None:
        click.echo(json_line({"type": type_, **fields}))
        sys.stdout.flush()
