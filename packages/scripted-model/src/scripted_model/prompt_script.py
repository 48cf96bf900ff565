"""Reads the script inside a prompt, and finds the step that is due. Pure.

| directive | meaning |
| --- | --- |
| `[[say: text]]` | reply with text |
| `[[tool: NAME {"json": "args"}]]` | reply with a tool call |
| `[[tools: NAME {…} NAME {…}]]` | several calls in one message |
| `[[think: text]]` | think first, then take the next step in the same message |
| `[[and]]` | put the next step into the same message as the previous one |
| `[[usage: n]]` `[[out: n]]` | input and output tokens to report, from here on |
| `[[sleep: s]]` | wait before the next step |
| `[[stall: s]]` | send nothing for a while in the middle of the next step |
| `[[cut: n]]` `[[cut: n x2]]` | drop the connection after n characters of the next step |
| `[[status: 529]]` `[[status: 529 x2]]` | fail instead of the next step |
| `[[status: 529 at 10]]` | fail inside the stream, after 10 characters |

`x2` means the first two requests for that step; without it, every request fails.
Write text with unbalanced brackets as a JSON string: `[[say: "a ]] b"]]`.

The script in force is the one in the last text of the user that contains a script. The k-th
request after that text gets the k-th step: the server counts the replies after the text. It
therefore needs no memory of a conversation, and a repeated request gets the same reply.
"""

import re
from collections.abc import Iterator

from msgspec import Struct, structs

from scripted_model.conversation import Message, ReplyPart, Text, Thinking
from scripted_model.directives import (
    Directive,
    ScriptError,
    directives,
    has_directives,
    read_calls,
    read_text,
)
from scripted_model.reply import Reply

__all__ = [
    "Script",
    "ScriptError",
    "ScriptPosition",
    "ScriptStep",
    "find_position",
    "parse_script",
    "user_text",
]

_STATUS = re.compile(r"(?P<n>\d{3})(?:\s+x(?P<times>\d+))?(?:\s+at\s+(?P<at>\d+))?")
_CUT = re.compile(r"(?P<n>\d+)(?:\s+x(?P<times>\d+))?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
# Texts of agents that quote an earlier prompt: a script in them is not played again.
_QUOTING = (
    "[Summary of the conversation before this point",
    "[The user's last request before this point",
)


class ScriptStep(Struct, frozen=True):
    """A reply, and a reply with a fault for the first `times` requests, or for all if `None`."""

    reply: Reply
    fault: Reply | None = None
    times: int | None = None

    def reply_for(self, attempt: int) -> Reply:
        """Returns the reply for this attempt, counted from 0."""
        if self.fault is not None and (self.times is None or attempt < self.times):
            return self.fault
        return self.reply


class Script(Struct, frozen=True):
    """The steps of one prompt, and the reply after the last step."""

    steps: tuple[ScriptStep, ...]
    rest: ScriptStep

    def step(self, number: int) -> ScriptStep:
        """Returns the step of this number, counted from 0."""
        if number < len(self.steps):
            return self.steps[number]
        return self.rest if number == len(self.steps) else ScriptStep(_bare(self.rest.reply))


def parse_script(text: str) -> Script:
    """Returns the script in a text.

    Raises:
        ScriptError: A directive has a wrong form.

    >>> script = parse_script(
    ...     'Go on. [[tool: read {"path": "a[0]"}]] [[status: 529 x2]] [[say: Done.]]'
    ... )
    >>> script.step(0).reply.parts
    (ToolCall(id='', name='read', args='{"path":"a[0]"}'),)
    >>> [script.step(1).reply_for(attempt).status for attempt in (0, 1, 2)]
    [529, 529, None]
    """
    builder = _ScriptBuilder()
    for directive in directives(text):
        builder.take(directive)
    return builder.script()


def _bare(reply: Reply) -> Reply:
    return Reply(reply.parts, reply.usage, reply.out)


class _ScriptBuilder:
    """Collects steps. `pending`, `fault` and `thoughts` apply to the next step."""

    def __init__(self) -> None:
        self.steps: list[ScriptStep] = []
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
        """Takes a `status` or `cut` directive: the next step fails."""
        pattern = _STATUS if directive.name == "status" else _CUT
        found = pattern.fullmatch(directive.value)
        if found is None:
            raise ScriptError(f"[[{directive.name}: {directive.value}]] has a wrong form")
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
            step = ScriptStep(joined, _with_parts(before.fault, joined), before.times)
        else:
            step = self.step(said)
        self.steps.append(step)
        self.thoughts, self.joins = [], False
        self.pending, self.fault, self.times = Reply(), None, None

    def step(self, parts: tuple[ReplyPart, ...]) -> ScriptStep:
        reply = structs.replace(self.pending, parts=parts)
        return ScriptStep(reply, _with_parts(self.fault, reply), self.times)

    def script(self) -> Script:
        rest = self.step((*self.thoughts, Text("done." if self.steps else "ok")))
        counted = [self.counted(number, each) for number, each in enumerate((*self.steps, rest))]
        return Script(tuple(counted[:-1]), counted[-1])

    def counted(self, number: int, step: ScriptStep) -> ScriptStep:
        usage, out = _in_force(self.usage, number), _in_force(self.out, number)
        reply = structs.replace(step.reply, usage=usage, out=out)
        return ScriptStep(reply, _with_parts(step.fault, reply), step.times)


def _with_parts(fault: Reply | None, reply: Reply) -> Reply | None:
    """Returns the reply with the fault in it."""
    if fault is None:
        return None
    return structs.replace(reply, cut=fault.cut, status=fault.status, at=fault.at)


def _in_force(values: list[tuple[int, int]], number: int) -> int | None:
    """Returns the nearest value before the step, or else the first one after it."""
    before = [value for position, value in values if position <= number]
    if before:
        return before[-1]
    return values[0][1] if values else None


def _number(directive: Directive) -> float:
    if not _NUMBER.fullmatch(directive.value):
        raise ScriptError(f"[[{directive.name}: {directive.value}]] needs a number")
    return float(directive.value)


class ScriptPosition(Struct, frozen=True):
    """A script and the number of the step that is due."""

    script: Script
    number: int


def find_position(messages: tuple[Message, ...], summary: str) -> ScriptPosition | None:
    """Returns the script in force and its due step, or `None` if there is no script.

    If a summary comes after the script, the agent has compacted the conversation and kept the
    prompt. The script is finished then.
    """
    replies, summarised = 0, False
    for message in reversed(messages):
        if message.role == "assistant":
            replies += 1
            continue
        for text in _texts(message):
            if has_directives(text):
                script = parse_script(text)
                return ScriptPosition(script, len(script.steps) + 1 if summarised else replies)
            summarised = summarised or summary in text
    return None


def user_text(text: str) -> str:
    """Returns the text without the reminders that an agent inserts."""
    return _REMINDER.sub("", text) if "<system-reminder>" in text else text


def _texts(message: Message) -> Iterator[str]:
    """Yields the texts of the user, the last one first."""
    for part in reversed(message.parts):
        if isinstance(part, Text) and not part.text.startswith(_QUOTING):
            yield user_text(part.text)
