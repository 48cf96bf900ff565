"""Reads the script that is written inside a prompt. Pure.

| directive | meaning |
| --- | --- |
| `[[say: text]]` | answer with text |
| `[[tool: NAME {"json": "args"}]]` | answer with a tool call |
| `[[tools: NAME {…} NAME {…}]]` | several calls in one message |
| `[[think: text]]` | think first, then take the next step in the same message |
| `[[and]]` | the next step joins the previous one in one message |
| `[[usage: n]]` `[[out: n]]` | input and output tokens to report, from here on |
| `[[sleep: s]]` | wait before the next step |
| `[[stall: s]]` | fall silent in the middle of the next step |
| `[[cut: n]]` `[[cut: n x2]]` | drop the connection after n characters of the next step |
| `[[status: 529]]` `[[status: 529 x2]]` | fail instead of the next step |
| `[[status: 529 at 10]]` | fail inside the stream, after 10 characters |

`x2` means the first two requests for that step; without it, every one.
A text that holds unbalanced brackets is written as a JSON string: `[[say: "a ]] b"]]`.
"""

import re

from msgspec import Struct, structs

from sapwood.core.content import ReplyPart, Text, Thinking
from sapwood.testing.scripted.reply import Reply
from sapwood.testing.scripted.script.directives import (
    Directive,
    ScriptError,
    directives,
    read_calls,
    read_text,
)

__all__ = ["Script", "ScriptError", "Turnout", "parse"]

_STATUS = re.compile(r"(?P<n>\d{3})(?:\s+x(?P<times>\d+))?(?:\s+at\s+(?P<at>\d+))?")
_CUT = re.compile(r"(?P<n>\d+)(?:\s+x(?P<times>\d+))?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Turnout(Struct, frozen=True):
    """A step and how it may go wrong: the first `times` requests for it, or all if `None`."""

    reply: Reply
    fault: Reply | None = None
    times: int | None = None

    def on(self, attempt: int) -> Reply:
        """What the given attempt gets, counted from 0."""
        struck = self.fault is not None and (self.times is None or attempt < self.times)
        return self.fault if struck and self.fault is not None else self.reply


class Script(Struct, frozen=True):
    """The steps of one prompt, and how what follows them goes."""

    steps: tuple[Turnout, ...]
    rest: Turnout

    def step(self, number: int) -> Turnout:
        """The step of that number; past the end, the model is done."""
        if number < len(self.steps):
            return self.steps[number]
        return self.rest if number == len(self.steps) else Turnout(_bare(self.rest.reply))


def parse(text: str) -> Script:
    """The script in a text.

    >>> script = parse('Go on. [[tool: read {"path": "a[0]"}]] [[status: 529 x2]] [[say: Done.]]')
    >>> script.step(0).reply.parts
    (ToolCall(id='', name='read', args='{"path":"a[0]"}'),)
    >>> [script.step(1).on(attempt).status for attempt in (0, 1, 2)]
    [529, 529, None]
    """
    writer = _Writer()
    for directive in directives(text):
        writer.take(directive)
    return writer.script()


def _bare(reply: Reply) -> Reply:
    return Reply(reply.parts, reply.usage, reply.out)


class _Writer:
    """Collects steps. What precedes a step waits in `pending` until the step comes."""

    def __init__(self) -> None:
        self.steps: list[Turnout] = []
        self.thoughts: list[ReplyPart] = []
        self.pending = Reply()
        self.fault: Reply | None = None
        self.times: int | None = None
        self.joins = False
        self.usage: list[tuple[int, int]] = []
        self.out: list[tuple[int, int]] = []

    def take(self, directive: Directive) -> None:
        name, value = directive.name, directive.value
        match name:
            case "say":
                self.add((Text(read_text(value)),))
            case "tool" | "tools":
                self.add(read_calls(value, several=name == "tools"))
            case "think":
                self.thoughts.append(Thinking(read_text(value)))
            case "and":
                self.joins = True
            case "usage":
                self.usage.append((len(self.steps), int(_number(directive))))
            case "out":
                self.out.append((len(self.steps), int(_number(directive))))
            case "sleep":
                self.pending = structs.replace(self.pending, sleep=_number(directive))
            case "stall":
                self.pending = structs.replace(self.pending, stall=_number(directive))
            case _:
                self.fail(directive)

    def fail(self, directive: Directive) -> None:
        """`status` and `cut`: the next step goes wrong."""
        pattern = _STATUS if directive.name == "status" else _CUT
        found = pattern.fullmatch(directive.value)
        if found is None:
            raise ScriptError(f"[[{directive.name}: {directive.value}]] has no such form")
        number = int(found["n"])
        self.times = int(found["times"]) if found["times"] else None
        if directive.name == "cut":
            self.fault = Reply(cut=number)
        else:
            self.fault = Reply(status=number, at=int(found["at"]) if found["at"] else None)

    def add(self, parts: tuple[ReplyPart, ...]) -> None:
        said = (*self.thoughts, *parts)
        if self.joins and self.steps and self.fault is None:
            before = self.steps.pop()
            joined = structs.replace(before.reply, parts=(*before.reply.parts, *said))
            turnout = Turnout(joined, _with_parts(before.fault, joined), before.times)
        else:
            turnout = self.turnout(said)
        self.steps.append(turnout)
        self.thoughts, self.joins = [], False
        self.pending, self.fault, self.times = Reply(), None, None

    def turnout(self, parts: tuple[ReplyPart, ...]) -> Turnout:
        reply = structs.replace(self.pending, parts=parts)
        return Turnout(reply, _with_parts(self.fault, reply), self.times)

    def script(self) -> Script:
        rest = self.turnout((*self.thoughts, Text("done." if self.steps else "ok")))
        counted = [self.counted(number, each) for number, each in enumerate((*self.steps, rest))]
        return Script(tuple(counted[:-1]), counted[-1])

    def counted(self, number: int, turnout: Turnout) -> Turnout:
        usage, out = _in_force(self.usage, number), _in_force(self.out, number)
        reply = structs.replace(turnout.reply, usage=usage, out=out)
        return Turnout(reply, _with_parts(turnout.fault, reply), turnout.times)


def _with_parts(fault: Reply | None, reply: Reply) -> Reply | None:
    """The reply with what goes wrong in it."""
    if fault is None:
        return None
    return structs.replace(reply, cut=fault.cut, status=fault.status, at=fault.at)


def _in_force(values: list[tuple[int, int]], number: int) -> int | None:
    """The nearest value written before the step, or else the first written after it."""
    before = [value for place, value in values if place <= number]
    if before:
        return before[-1]
    return values[0][1] if values else None


def _number(directive: Directive) -> float:
    if not _NUMBER.fullmatch(directive.value):
        raise ScriptError(f"[[{directive.name}: {directive.value}]] needs a number")
    return float(directive.value)
