"""What holds for every request, as one function per rule. Each returns the faults that it finds.

`view` builds requests that keep all rules. The rules are checked before each model call and by the
proofs: a fault is a defect in Sapwood, never a mistake of the user.
"""

from collections.abc import Iterable
from itertools import pairwise

from sapwood.core.content import Text, ToolCall
from sapwood.core.events import Pin
from sapwood.core.live_path import LivePath
from sapwood.core.state import State
from sapwood.core.view.request import Message, Request, ToolResult


def check(request: Request, state: State, live: LivePath) -> list[str]:
    """Returns everything that is wrong with a request; empty for a valid one."""
    new = unchecked(request)
    faults = [
        *repeated_roles(new),
        *unpaired_calls(new),
        *blank_parts(new),
        *missing_pins(request, state.pins),
        *missing_request(request, live),
    ]
    if not faults:
        _sound[:] = [request.messages]
    return faults


_sound: list[tuple[Message, ...]] = []
"""The messages of the newest valid request; at most one. The next request mostly begins with them,
and messages never change."""


def unchecked(request: Request) -> Request:
    """The end of a request: from the last prompt on that `check` has found valid.

    What comes before a prompt has no effect on the rules for what follows.
    """
    known, shared = next(iter(_sound), ()), 0
    for mine, its in zip(known, request.messages, strict=False):
        if mine is not its:
            break
        shared += 1
    for index in range(shared - 1, 0, -1):
        message = request.messages[index]
        if message.role == "user" and not _results(message):
            return Request(request.model, request.system, request.messages[index:])
    return request


def repeated_roles(request: Request) -> list[str]:
    """The first message is the user's, and the two roles alternate."""
    roles = [message.role for message in request.messages]
    faults = ["the first message is the assistant's"] if roles[:1] == ["assistant"] else []
    return faults + [
        f"messages {i} and {i + 1} are both of the {a}"
        for i, (a, b) in enumerate(pairwise(roles))
        if a == b
    ]


def unpaired_calls(request: Request) -> list[str]:
    """Every tool call has one result, in the next message, and every result has a call."""
    faults: list[str] = []
    waiting: list[str] = []
    for message in request.messages:
        results, calls = _results(message), _calls(message)
        if results != waiting and sorted(results) != sorted(waiting):
            faults.append(f"calls {waiting} are answered by results {results}")
        waiting = calls
    if waiting:
        faults.append(f"calls {waiting} are never answered")
    return faults


def blank_parts(request: Request) -> list[str]:
    """No message is empty and no text is blank: providers refuse both."""
    faults: list[str] = []
    for index, message in enumerate(request.messages):
        if not message.parts:
            faults.append(f"message {index} is empty")
        for part in message.parts:
            if type(part) is Text and not part.text.strip():
                faults.append(f"message {index} holds a blank text")
            elif type(part) is ToolResult and not part.content.strip():
                faults.append(f"message {index} holds an empty result")
    return faults + [
        f"the {block.kind} '{block.name}' is blank"
        for block in request.system
        if not block.text.strip()
    ]


def missing_pins(request: Request, pins: Iterable[Pin]) -> list[str]:
    """The system prompt contains every pin, word for word."""
    shown = {(block.name, block.text) for block in request.system if block.kind == "pin"}
    return [f"pin '{pin.name}' is missing" for pin in pins if (pin.name, pin.text) not in shown]


def missing_request(request: Request, live: LivePath) -> list[str]:
    """The last user request is in the messages, word for word, until a bare clear.

    It is the newest request of the live path, or else the one that is carried in front of it.
    """
    last = next((t.prompt for t in reversed(live.all_turns) if t.is_request), live.request)
    texts = [part.text for part in last if isinstance(part, Text)]
    return [f"not in view: {text[:40]!r}" for text in texts if not _is_shown(text, request)]


def _is_shown(text: str, request: Request) -> bool:
    """Whether a message of the user has the text. Mostly the last one does."""
    return any(
        text in part.text
        for message in reversed(request.messages)
        if message.role == "user"
        for part in message.parts
        if isinstance(part, Text)
    )


def _calls(message: Message) -> list[str]:
    return [part.id for part in message.parts if type(part) is ToolCall]


def _results(message: Message) -> list[str]:
    return [part.call for part in message.parts if type(part) is ToolResult]
