"""`view(state, live)`: the request of a context.

System prompt and pins, then summary and carried request, then the turns. The part before the turns
changes only when `head` moves, so between moves the provider's cached prefix stays valid.
"""

from sapwood.core.content import Text
from sapwood.core.live_path import LivePath
from sapwood.core.result_masks import mask_edges
from sapwood.core.state import State
from sapwood.core.view.frames import framed_request, framed_summary
from sapwood.core.view.request import Block, Message, Request
from sapwood.core.view.turns import messages_of

__all__ = ["front_texts", "view"]


def view(state: State, live: LivePath, model: str | None = None, instruction: str = "") -> Request:
    """Builds the request that would be sent now.

    `model` replaces the agent's own model. An `instruction` is put at the end, after the prefix
    that a provider has cached.
    """
    messages = _messages(live)
    if instruction:
        messages = _instructed(messages, Text(instruction))
    return Request(
        model=state.settings.model if model is None else model,
        system=_system(state),
        messages=messages,
    )


def _instructed(messages: tuple[Message, ...], instruction: Text) -> tuple[Message, ...]:
    if messages and messages[-1].role == "user":
        return (*messages[:-1], Message("user", (*messages[-1].parts, instruction)))
    return (*messages, Message("user", (instruction,)))


def front_texts(live: LivePath) -> tuple[Text, ...]:
    """The texts before the first live turn: the summary and the carried request."""
    front: list[Text] = []
    if live.summary is not None:
        front.append(framed_summary(live.summary))
    if live.request:
        front.append(framed_request(live.request))
    return tuple(front)


def _system(state: State) -> tuple[Block, ...]:
    system = state.settings.system
    head = (Block("system", "", system),) if system.strip() else ()
    return head + tuple(Block("pin", pin.name, pin.text) for pin in state.pins)


def _messages(live: LivePath) -> tuple[Message, ...]:
    mask = live.context.mask
    over = mask.over if mask else 0
    messages = [
        message
        for turn, edge in zip(live.all_turns, mask_edges(live), strict=True)
        for message in messages_of(turn, edge, over)
    ]
    front = front_texts(live)
    if not front:
        return tuple(messages)
    if not messages:
        return (Message("user", front),)
    return (Message("user", (*front, *messages[0].parts)), *messages[1:])
