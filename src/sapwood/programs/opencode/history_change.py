"""Brings a session to a history: which messages are removed, restored and written, as events.

Turns that the session has stay where they are, with their ids. From the first turn on that it does
not have, messages are written behind them. Texts in front become a compaction whose summary they
are; it keeps the turns that stayed.

opencode decides by the tokens of the last answer whether it compacts before the next prompt. After
a change they are those of another history, so the last answer is written without them.
"""

import random
import string
import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.core.content import File, Text, ToolCall
from sapwood.core.view.request import Message, ToolResult
from sapwood.programs.agent_provider import History, HistoryTurn
from sapwood.programs.opencode.program import PROGRAM
from sapwood.programs.opencode.rows import ABORTED, WRITER
from sapwood.programs.opencode.session_log import (
    Json,
    SessionLog,
    StoredMessage,
    as_object,
    is_summary,
    read_log,
)
from sapwood.programs.prompt_parts import PICTURES, prompt_text, shows

Event = tuple[str, Json]
_LETTERS = string.ascii_letters + string.digits
_NO_TOKENS: Json = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
_OF_THE_ORIGINAL = frozenset({"time", "tokens", "cost"})
"""What a copy of a message does not have: no model was called for it."""


class Ids:
    """Makes ids in opencode's form, each later than the one before it."""

    def __init__(self, after: int = 0) -> None:
        self._at = max(int(time.time() * 1000), after + 1)

    def now(self) -> int:
        """The next moment, in milliseconds since 1970."""
        self._at += 1
        return self._at

    def make(self, prefix: str, writer: str = "") -> str:
        """The next id: 48 bits of time and counter, the writer if given, then random letters."""
        number = (self.now() * 4096) & ((1 << 48) - 1)
        letters = "".join(random.choices(_LETTERS, k=14 - len(writer)))
        return f"{prefix}_{number:012x}{writer}{letters}"


class MessageForm(Struct, frozen=True):
    """What every new message has: its session, model and folder."""

    session: str
    folder: str
    provider: str
    model: str
    agent: str = "build"


class WantedTurn(Struct):
    """A turn that the session must have. `own` are ids of messages that it has or had."""

    messages: list[StoredMessage]
    own: bool = False


class WantedMessages(Struct):
    """The turns, the texts in front of them, and what could not be carried."""

    turns: list[WantedTurn]
    front: list[str]
    loss: str = ""

    @property
    def content(self) -> list[object]:
        """What the model must be sent."""
        said = [message.content for turn in self.turns for message in turn.messages]
        return [["front", *self.front], *said] if self.front else [*said]


def shown_content(log: SessionLog) -> list[object]:
    """What the model is sent next."""
    found = _sent(log.in_view)
    if len(found) > 1 and found[0].compaction is not None and is_summary(found[1]):
        return [["front", found[1].text], *(each.content for each in found[2:])]
    return [each.content for each in found]


def _sent(messages: Sequence[StoredMessage]) -> list[StoredMessage]:
    """The messages that opencode sends: it leaves out empty ones, and failed ones."""
    return [
        each
        for each in messages
        if each.compaction is not None or (len(each.content) > 1 and not _failed(each))
    ]


def _failed(message: StoredMessage) -> bool:
    error = as_object(message.info.get("error"))
    return bool(error) and error.get("name") != ABORTED


def wanted_history(
    history: History, log: SessionLog, session: str, home: Path, copies: Path
) -> WantedMessages:
    """The messages of a history: opencode's own verbatim, everything else from the neutral form."""
    logs = {session: log}
    turns: list[WantedTurn] = []
    rewritten = 0
    for turn in history.turns:
        found = _own_messages(turn, session, logs, home, copies)
        if found is None:
            rewritten += turn.native is not None and turn.native.session.program == PROGRAM.name
            turns.append(WantedTurn(list(_neutral(turn.messages))))
        else:
            turns.append(found)
    loss = (
        f"opencode's own rows of {rewritten} turn(s) were not found, so these turns were written "
        "from Sapwood's log."
        if rewritten
        else ""
    )
    return WantedMessages(turns, _front(history, logs), loss)


def _front(history: History, logs: dict[str, SessionLog]) -> list[str]:
    """The texts in front as one. A summary that opencode wrote is used in its own words."""
    own = [each.text for log in logs.values() for each in log.known.values() if is_summary(each)]
    found = [
        next((each for each in own if each and shows(text, each)), text) for text in history.front
    ]
    return ["\n\n".join(found)] if found else []


def _own_messages(
    turn: HistoryTurn, session: str, logs: dict[str, SessionLog], home: Path, copies: Path
) -> WantedTurn | None:
    native = turn.native
    if native is None or native.session.program != PROGRAM.name:
        return None
    name = native.session.id or session
    if name and name not in logs:
        try:
            logs[name] = read_log(home, name, copies)
        except OSError:
            return None
    if name not in logs:
        return None
    found = _sent(logs[name].turn_from(native.passage.first))
    return WantedTurn(found, own=name == session) if found else None


def _neutral(messages: Sequence[Message]) -> Iterator[StoredMessage]:
    """Messages of other programs. Thoughts are left out: their signatures are not known here."""
    results = {
        part.call: part for each in messages for part in each.parts if isinstance(part, ToolResult)
    }
    for each in messages:
        parts: list[Json] = []
        for part in each.parts:
            if isinstance(part, Text | File):
                parts.append({"type": "text", "text": prompt_text(part)})
                if isinstance(part, File) and part.media_type in PICTURES:
                    parts.append({"type": "file", "mime": part.media_type, "url": part.data_url})
            elif isinstance(part, ToolCall):
                parts.append(_tool_part(part, results.get(part.id)))
        if parts:
            role = "user" if each.role == "user" else "assistant"
            yield StoredMessage({"role": role}, {str(n): part for n, part in enumerate(parts)})


def _tool_part(call: ToolCall, result: ToolResult | None) -> Json:
    try:
        arguments = msgspec.json.decode(call.args, type=Json)
    except msgspec.MsgspecError:
        arguments = {"arguments": call.args}
    state: Json = {"input": arguments, "time": {"start": 0, "end": 0}}
    if result is None or result.error:
        words = result.content if result else "There is no result."
        state |= {"status": "error", "error": words or "It failed."}
    else:
        state |= {"status": "completed", "output": result.content, "title": "", "metadata": {}}
    return {"type": "tool", "callID": call.id, "tool": call.name, "state": state}


def plan_events(log: SessionLog, wanted: WantedMessages, form: MessageForm) -> list[Event]:
    """The events that bring the session to the history. Nothing is removed that is not known."""
    kept = _kept_turns(log, wanted)
    keep = {message.id for turn in wanted.turns[:kept] for message in turn.messages}
    newest = max((each.order[0] for each in log.present), default=0)
    ids = Ids(newest)
    present = log.present
    events: list[Event] = []
    if log.reverted:  # otherwise the next prompt removes what follows it
        info = {key: value for key, value in log.session.items() if key != "revert"}
        events.append(("session.updated.1", {"sessionID": form.session, "info": info}))
    for message in present:
        if message.id not in keep:
            removed = {"sessionID": form.session, "messageID": message.id}
            events.append(("message.removed.1", removed))
    for turn in wanted.turns[:kept]:
        for message in turn.messages:
            if not log.is_whole(message.id):
                events += _written(message, form.session)
    if wanted.front:
        first = next((m.id for turn in wanted.turns[:kept] for m in turn.messages), "")
        for message in _pair("\n\n".join(wanted.front), first, form, ids):
            events += _written(message, form.session)
    for turn in wanted.turns[kept:]:
        for message in _copies(turn.messages, form, ids):
            events += _written(message, form.session)
    answers = [m for turn in wanted.turns[:kept] for m in turn.messages if not m.is_prompt]
    if events and answers and _has_tokens(answers[-1].info.get("tokens")):
        info = {**answers[-1].info, "tokens": deepcopy(_NO_TOKENS)}
        events.append(("message.updated.1", {"sessionID": form.session, "info": info}))
    return events


def _has_tokens(tokens: object) -> bool:
    found = as_object(tokens)
    return any(found.get(name) for name in (*_NO_TOKENS, "total") if name != "cache") or any(
        as_object(found.get("cache")).values()
    )


def _kept_turns(log: SessionLog, wanted: WantedMessages) -> int:
    """How many turns at the beginning are those of the session, in its order."""
    last = (-1, "")
    for number, turn in enumerate(wanted.turns):
        if not turn.own:
            return number
        orders = [message.order for message in turn.messages]
        if any(a >= b for a, b in zip([last, *orders], orders, strict=False)):
            return number
        last = orders[-1]
    return len(wanted.turns)


def _written(message: StoredMessage, session: str) -> list[Event]:
    at = int(message.info["time"]["created"])
    events: list[Event] = [("message.updated.1", {"sessionID": session, "info": message.info})]
    for part in message.parts.values():
        data = {"sessionID": session, "part": part, "time": at}
        events.append(("message.part.updated.1", data))
    return events


def _copies(
    messages: Sequence[StoredMessage], form: MessageForm, ids: Ids
) -> Iterator[StoredMessage]:
    """Messages with new ids, behind all others."""
    prompt = ""
    for message in messages:
        name = ids.make("msg")
        prompt = name if message.is_prompt or not prompt else prompt
        info = _info(message, name, prompt, form, ids)
        parts: dict[str, Json] = {}
        for part in message.parts.values():
            writer = WRITER if part["type"] == "compaction" else ""
            own = {"id": ids.make("prt", writer), "sessionID": form.session, "messageID": name}
            parts[own["id"]] = {**deepcopy(part), **own}
        yield StoredMessage(info, parts)


def _info(message: StoredMessage, name: str, prompt: str, form: MessageForm, ids: Ids) -> Json:
    at = ids.now()
    known = {key: value for key, value in message.info.items() if key not in _OF_THE_ORIGINAL}
    shared: Json = {"id": name, "sessionID": form.session, "agent": form.agent}
    if message.is_prompt:
        model = {"providerID": form.provider, "modelID": form.model}
        return {"role": "user", "model": model, **known, **shared, "time": {"created": at}}
    own: Json = {
        "role": "assistant",
        "mode": form.agent,
        "providerID": form.provider,
        "modelID": form.model,
        "path": {"cwd": form.folder, "root": "/"},
        "cost": 0,
        "tokens": deepcopy(_NO_TOKENS),
        "finish": "stop",
    }
    times = {"created": at, "completed": at}
    return {**own, **known, **shared, "parentID": prompt, "time": times}


def _pair(text: str, tail: str, form: MessageForm, ids: Ids) -> list[StoredMessage]:
    """A compaction with this summary; it keeps the messages from `tail` on."""
    part: Json = {"type": "compaction", "auto": False}
    if tail:
        part["tail_start_id"] = tail
    answer = StoredMessage(
        {"role": "assistant", "summary": True, "mode": "compaction"},
        {"0": {"type": "text", "text": text}},
    )
    pair = [StoredMessage({"role": "user"}, {"0": part}), answer]
    return list(_copies(pair, form, ids))
