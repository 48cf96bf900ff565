"""A session as its log has it: every message that it ever had, and which of them are in view.

A message that was removed stays in the log, so it can be written again. Its parts went with it: if
opencode writes only the message again, as it does when it has summarised a turn late, it is empty,
and the model is not sent it. Before Sapwood changes a
session, it copies the log to a file of its own: a session that lost rows is completed from there.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast  # messages are JSON of the program

import msgspec
from msgspec import Struct

from sapwood.private_files import append_line
from sapwood.programs.opencode.session_database import NAME, StoredEvent, events_of
from sapwood.programs.transcripts.row_file import decode_json

Json = dict[str, Any]

_VOLATILE = frozenset({"id", "sessionID", "messageID", "time", "metadata", "title", "synthetic"})
_SENT = frozenset({"text", "tool", "file", "reasoning"})
_STATE = ("status", "input", "output", "error")


class StoredMessage(Struct):
    """A message with its parts, in the form in which opencode stores them."""

    info: Json
    parts: dict[str, Json] = {}
    last: int = 0

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.info["id"])

    @property
    def is_prompt(self) -> bool:
        """Whether the user wrote it."""
        return self.info.get("role") == "user"

    @property
    def order(self) -> tuple[int, str]:
        """Its place in the session."""
        return int(as_object(self.info.get("time")).get("created") or 0), self.id

    @property
    def compaction(self) -> Json | None:
        """The part that makes it the first half of a compaction."""
        return next(
            (each for each in self.parts.values() if each.get("type") == "compaction"), None
        )

    @property
    def text(self) -> str:
        """Its text."""
        texts = (each.get("text") or "" for each in self.parts.values() if each["type"] == "text")
        return "\n\n".join(filter(None, texts))

    @property
    def content(self) -> list[object]:
        """What the model is sent of it: equal for two messages that say the same."""
        found: list[object] = [self.info.get("role")]
        for part in self.parts.values():
            if part.get("type") not in _SENT or part.get("ignored"):
                continue
            said = {key: value for key, value in part.items() if key not in _VOLATILE}
            if state := as_object(said.get("state")):
                said["state"] = {key: state[key] for key in _STATE if key in state}
            found.append(said)
        return found


class SessionLog:
    """The messages of a session. `seq` is the number of the newest event, -1 without one."""

    def __init__(self, events: Iterable[StoredEvent] = ()) -> None:
        self.known: dict[str, StoredMessage] = {}
        self.removed: set[str] = set()
        self._stored: dict[str, set[str]] = {}
        self.session: Json = {}
        self.seq = -1
        for event in events:
            self._take(event)

    def _take(self, event: StoredEvent) -> None:
        self.seq = max(self.seq, event.seq)
        data = decode_json(event.data, dict[str, Any])
        kind = event.type.rpartition(".")[0]
        if kind in ("session.created", "session.updated"):
            self.session = data.get("info") or self.session
        elif kind == "message.updated" and (info := as_object(data.get("info"))):
            name = str(info.get("id"))
            self.known.setdefault(name, StoredMessage({})).info = info
            self.known[name].last = event.seq
            self.removed.discard(name)
        elif kind == "message.part.updated" and (part := as_object(data.get("part"))):
            name = str(part.get("messageID"))
            if (message := self.known.get(name)) is not None:
                message.parts[str(part.get("id"))] = part
                message.last = event.seq
                self._stored.setdefault(name, set()).add(str(part.get("id")))
        elif kind == "message.part.removed":
            if (message := self.known.get(str(data.get("messageID")))) is not None:
                message.parts.pop(str(data.get("partID")), None)
        elif kind == "message.removed":
            self.removed.add(str(data.get("messageID")))
            self._stored.pop(str(data.get("messageID")), None)

    def is_whole(self, name: str) -> bool:
        """Whether a message is stored with all parts that it ever had."""
        is_stored = name in self.known and name not in self.removed
        return is_stored and self.known[name].parts.keys() <= self._stored.get(name, set())

    @property
    def present(self) -> list[StoredMessage]:
        """The messages that are stored, in their order, with the parts that are stored."""
        found: list[StoredMessage] = []
        for name, each in self.known.items():
            if name not in self.removed:
                stored = self._stored.get(name, set())
                parts = {key: part for key, part in each.parts.items() if key in stored}
                found.append(StoredMessage(each.info, parts, each.last))
        return sorted(found, key=lambda each: each.order)

    @property
    def reverted(self) -> str:
        """The message from which on the session is reverted; empty if it is not."""
        return str(as_object(self.session.get("revert")).get("messageID") or "")

    @property
    def in_view(self) -> list[StoredMessage]:
        """What the model is sent next: a compaction, the messages it kept, and what follows."""
        found = self.present
        if self.reverted:
            ids = [each.id for each in found]
            found = found[: ids.index(self.reverted)] if self.reverted in ids else found
        for place in reversed(range(len(found))):
            part, answer = found[place].compaction, found[place + 1 : place + 2]
            if part is None or not answer or not is_summary(answer[0]):
                continue
            ids = [each.id for each in found]
            tail = part.get("tail_start_id")
            kept = found[ids.index(tail) : place] if tail in ids[:place] else []
            return [*found[place : place + 2], *kept, *found[place + 2 :]]
        return found

    def turn_from(self, prompt: str) -> list[StoredMessage]:
        """The messages of a turn, removed or not: a prompt and the answers to it."""
        first = self.known.get(prompt)
        if first is None:
            return []
        answers = [each for each in self.known.values() if each.info.get("parentID") == prompt]
        return [first, *sorted(answers, key=lambda each: each.order)]


def as_object(value: object) -> Json:
    """A JSON object; empty if it is anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def is_summary(message: StoredMessage) -> bool:
    """Whether a message is the summary of a compaction."""
    info = message.info
    return info.get("summary") is True and bool(info.get("finish")) and not info.get("error")


def read_log(home: Path, session: str, copies: Path | None = None) -> SessionLog:
    """The log of a session. Messages that it has no more come from the copy.

    Raises `OSError`, and `ValueError` if an event is no JSON object: what is not understood must
    not be taken for something that the session lacks.
    """
    log = SessionLog(events_of(home / NAME, session))
    copy = SessionLog(_copied(copies / f"{session}.jsonl")) if copies is not None else SessionLog()
    for name, message in copy.known.items():
        if name not in log.known:
            log.known[name] = message
            log.removed.add(name)
    return log


def copy_log(home: Path, session: str, copies: Path) -> None:
    """Brings the private copy of a session's log up to date, on the disk. Raises `OSError`."""
    target = copies / f"{session}.jsonl"
    seen = {(each.id, each.seq) for each in _copied(target)}
    new = [each for each in events_of(home / NAME, session) if (each.id, each.seq) not in seen]
    if new:  # a line that a crash cut ends before them
        append_line(target, b"\n" + b"\n".join(_line(each) for each in new), durable=True)


def _line(event: StoredEvent) -> bytes:
    fields = {"id": event.id, "seq": event.seq, "type": event.type}
    return msgspec.json.encode({**fields, "data": msgspec.Raw(event.data)})


class _Line(Struct):
    id: str
    seq: int
    type: str
    data: msgspec.Raw


def _copied(path: Path) -> Sequence[StoredEvent]:
    """The events of a copy. A line that was cut by a crash is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found: list[StoredEvent] = []
    for line in lines:
        try:
            each = decode_json(line, _Line)
        except ValueError:
            continue
        found.append(StoredEvent(each.id, each.seq, each.type, bytes(each.data)))
    return found
