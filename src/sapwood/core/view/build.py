"""`view(state, live)`: the request of a context.

Instructions, system prompt and pins, then summary, quoted turns and carried request, then the
turns. The part before the turns changes only when `head` moves or a turn is loaded, so between
these moments the provider's cached prefix stays valid.

The messages of a turn: prompt, replies, results.

The model is given no words that it did not say: `note_after` tells it how its turn ended, in the
message with the next prompt. A reply at the end that is only thinking is no message: nothing was
said, and no later request would begin with it. Earlier versions of the view did both otherwise;
they build the requests that were made with them.

Every reply with calls is followed by one message with a result for each call, in order. A call
without a result gets a placeholder.
"""

from collections.abc import Mapping
from itertools import islice

from msgspec import Struct

from sapwood.core.content import File, Text, ToolCall
from sapwood.core.history_size import live_stubs
from sapwood.core.live_path import LivePath
from sapwood.core.state import State
from sapwood.core.turn import Reply, Result, Turn
from sapwood.core.view.frames import (
    EMPTY_RESULT,
    PENDING,
    framed_instructions,
    framed_prompt,
    framed_quotation,
    framed_request,
    how_it_ended,
    how_it_was_cut,
    how_the_turn_ended,
    summary_parts,
    told_by_program,
)
from sapwood.core.view.request import Block, Message, MessagePart, Request, ToolResult

VIEW = 4
"""The version of the view. Calls that were made with another one are replayed with that one."""


def messages_of(
    turn: Turn, masked: Mapping[str, str] | None = None, *, version: int = VIEW
) -> list[Message]:
    """The messages of a turn. `masked` are the stubs in place of results, by call id. `version` is
    that of the view.
    """
    messages = [Message("user", framed_prompt(turn.prompt))]
    results: dict[str, Result] | None = None
    masked = masked or {}
    for item in turn.items:
        if type(item) is not Reply:
            continue
        _say(messages, _spoken(item, version))
        calls = item.calls
        if calls:
            if results is None:
                results = {each.call: each for each in turn.items if isinstance(each, Result)}
            answers = [_answer(turn, call, results.get(call.id), masked) for call in calls]
            messages.append(Message("user", tuple(answers)))
    if turn.status == "open" and version < 3:
        return messages
    if version == 1:
        _close(messages, turn)
    elif messages[-1].role == "assistant" and not _answers(messages[-1]):
        messages.pop()  # it thought, and said nothing
    return messages


def note_after(turn: Turn, *, version: int = VIEW) -> Text | None:
    """What the next prompt tells the model about the end of this turn; None if it just ended."""
    last = next((item for item in reversed(turn.items) if type(item) is Reply), None)
    if turn.status == "completed" and last is not None:
        if cut := how_it_was_cut(last.ended):
            return Text(told_by_program(f"Your reply before this was {cut.strip('[]')}."))
        if _answers_in(last):
            return None
    if turn.status == "open":
        return None
    return Text(told_by_program(how_the_turn_ended(turn, version=version)))


def _answers_in(reply: Reply) -> bool:
    return any(isinstance(part, Text | File) and part.text.strip() for part in reply.parts)


def _spoken(reply: Reply, version: int) -> tuple[MessagePart, ...]:
    spoken: list[MessagePart] = [
        part for part in reply.parts if type(part) is not Text or part.text.strip()
    ]
    if version == 1 and not reply.calls and (cut := how_it_was_cut(reply.ended)):
        spoken.append(Text(cut))
    return tuple(spoken)


def _say(messages: list[Message], parts: tuple[MessagePart, ...]) -> None:
    if not parts:
        return
    if messages[-1].role == "assistant":
        parts = (*messages.pop().parts, *parts)
    messages.append(Message("assistant", parts))


def _answer(
    turn: Turn, call: ToolCall, result: Result | None, masked: Mapping[str, str]
) -> ToolResult:
    if result is None:
        missing = PENDING if turn.status == "open" else how_it_ended(turn)
        return ToolResult(call.id, call.name, missing, error=True)
    stub = masked.get(call.id)
    shown = stub or turn.shown(result)
    files = () if stub else result.files
    text = shown if shown.strip() else EMPTY_RESULT
    return ToolResult(call.id, call.name, text, result.error, files)


def _close(messages: list[Message], turn: Turn) -> None:
    if turn.status != "completed" or not _answers(messages[-1]):
        _say(messages, (Text(how_it_ended(turn)),))


def _answers(message: Message) -> bool:
    if message.role == "assistant":
        for part in message.parts:
            if type(part) in (Text, File):
                return True
    return False


class _Built(Struct, frozen=True):
    """The messages of a live path, and what the next prompt has to tell about the last turn.

    `ended` and `after` are the same for the ended turns alone.
    """

    live: LivePath
    version: int
    messages: tuple[Message, ...]
    note: tuple[Text, ...]
    ended: tuple[Message, ...]
    after: tuple[Text, ...]

    def begins(self, live: LivePath, version: int) -> bool:
        """Whether that path has all ended turns of this one in the same form, and perhaps more."""
        mine, its, count = self.live.context, live.context, len(self.live.turns)
        if self.version != version or not 0 < count <= len(live.turns) or mine.mask or its.mask:
            return False
        front = (mine.head, mine.summary, mine.request, mine.loaded, mine.cuts)
        if front != (its.head, its.summary, its.request, its.loaded, its.cuts):
            return False
        return live.turns[count - 1] is self.live.turns[count - 1]  # and so are all before it


_newest: list[_Built] = []
"""At most one. A request is built for the model, and again when its call is decided, mostly of the
same live path; the next one has the same ended turns. With 100,000 tokens, building all of it takes
milliseconds. A live path never changes."""


def view(
    state: State,
    live: LivePath,
    model: str | None = None,
    instruction: str = "",
    *,
    version: int = VIEW,
    summarised: int = 0,
) -> Request:
    """Builds the request that would be sent now.

    `model` replaces the agent's own model. An `instruction` is put at the end, after the prefix
    that a provider has cached. `version` is that of the view. With `summarised`, the request has
    only so many of the oldest turns, and no instruction: a provider that writes the summary itself
    gets the instruction apart.
    """
    if summarised:
        messages = _messages(live, version, summarised)
        return Request(state.settings.model if model is None else model, _system(state), messages)
    built = next(iter(_newest), None)
    if built is None or built.live is not live or built.version != version:
        built = _build(live, version, built)
        _newest[:] = [built]
    messages = built.messages
    if instruction:
        messages = _instructed(messages, (*built.note, Text(instruction)))
    return Request(
        model=state.settings.model if model is None else model,
        system=_system(state),
        messages=messages,
    )


def _instructed(
    messages: tuple[Message, ...], instruction: tuple[Text, ...]
) -> tuple[Message, ...]:
    if messages and messages[-1].role == "user":
        return (*messages[:-1], Message("user", (*messages[-1].parts, *instruction)))
    return (*messages, Message("user", instruction))


def front_texts(live: LivePath) -> tuple[Text, ...]:
    """The texts before the first live turn: summary, quoted turns, carried request."""
    front: list[Text] = []
    if live.summary is not None:
        front += summary_parts(live.summary)
    front += [framed_quotation(loaded) for loaded in live.loaded]
    if live.request:
        front.append(framed_request(live.request))
    return tuple(front)


def _system(state: State) -> tuple[Block, ...]:
    read = tuple(
        Block("instructions", each.name, framed_instructions(each)) for each in state.instructions
    )
    system = state.settings.system
    own = (Block("system", "", system),) if system.strip() else ()
    return read + own + tuple(Block("pin", pin.name, pin.text) for pin in state.pins)


def _build(live: LivePath, version: int, known: _Built | None) -> _Built:
    """Builds the messages of a live path, from those of an earlier one if that is its beginning."""
    messages: list[Message] = []
    after, count = front_texts(live), 0
    if known is not None and known.begins(live, version):
        messages, after, count = list(known.ended), known.after, len(known.live.turns)
    masked = live_stubs(live, count)
    for turn, shown in zip(live.turns[count:], masked, strict=False):
        after = _add(messages, after, turn, shown, version)
    ended, note = tuple(messages), after
    if live.open is not None:
        note = _add(messages, after, live.open, masked[-1], version)
    if not messages and note:
        return _Built(live, version, (Message("user", note),), (), ended, after)
    return _Built(live, version, tuple(messages), note, ended, after)


def _messages(live: LivePath, version: int, max_turns: int) -> tuple[Message, ...]:
    """The messages of the oldest turns."""
    messages: list[Message] = []
    after = front_texts(live)
    for turn, shown in islice(zip(live.all_turns, live_stubs(live), strict=True), max_turns):
        after = _add(messages, after, turn, shown, version)
    return tuple(messages)


def _add(
    messages: list[Message],
    before: tuple[Text, ...],
    turn: Turn,
    masked: Mapping[str, str],
    version: int,
) -> tuple[Text, ...]:
    """Adds the messages of a turn, with `before` in front of its prompt.

    Returns what the next prompt has to tell about the end of the turn.
    """
    first, *rest = messages_of(turn, masked, version=version)
    parts = (*before, *first.parts)
    if messages and messages[-1].role == "user":  # the turn before has no answer
        parts = (*messages.pop().parts, *parts)
    messages += [Message("user", parts), *rest]
    note = note_after(turn, version=version) if version > 1 else None
    return (note,) if note else ()
