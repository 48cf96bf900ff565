"""Plans the rows after which a pi session has exactly a wanted history. Pure: it does no I/O.

The rows continue from an entry whose path has the first wanted turns. Edits take out of the view
what is on that path and not wanted, a compaction puts texts in front, and turns that the path lacks
are written behind it.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.plural import counted
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.view.frames import REQUEST_FRAME
from sapwood.core.view.request import Message, ToolResult
from sapwood.programs.agent_provider import History, HistoryTurn
from sapwood.programs.pi.program import PROGRAM
from sapwood.programs.pi.rows import WRITER
from sapwood.programs.pi.session_file import PiSession, new_id, timestamp
from sapwood.programs.pi.session_tree import SessionEntry, view_of
from sapwood.programs.prompt_parts import PICTURES, prompt_text, shows

_COMPACTION = "compaction"
_OURS = {"fromHook": True, "writtenBy": WRITER}
Fields = dict[str, Any]  # the program's own JSON, of which this project knows only a part
OpenSession = Callable[[ProgramSession], PiSession | None]


class WantedRow(Struct, frozen=True):
    """A row that must be in view: the entry that it is a copy of, and its fields."""

    source: str
    fields: Fields


class WantedTree(Struct, frozen=True):
    """The rows of each turn, the text in front, and what could not be carried."""

    turns: tuple[tuple[WantedRow, ...], ...]
    front: str = ""
    loss: str = ""

    @property
    def sources(self) -> list[str]:
        """The sources of all rows, in order."""
        return [row.source for turn in self.turns for row in turn]


def wanted_history(
    history: History, stored: PiSession, session: str, open_session: OpenSession
) -> WantedTree:
    """The rows of a history: those of the session, of other sessions of pi, and new ones."""
    turns: list[tuple[WantedRow, ...]] = []
    unreasoned = 0
    for each in history.turns:
        rows = _native_rows(each.native, stored, session, open_session) if each.native else []
        if not rows:
            rows, lost = _rows_of(each, stored)
            unreasoned += lost
        turns.append(tuple(rows))
    used = {row.source for turn in turns for row in turn}
    own = _program_summary(history.front, stored, used)
    if own is not None:
        kept = view_of(stored.path_of(own.id)).seen
        rest = [WantedRow(e.source, stored.row(e)) for e in kept if e.source not in used]
        turns.insert(0, tuple(rest))
    front = own.summary if own is not None else "\n\n".join(history.front)
    loss = ""
    if unreasoned:
        count = counted(unreasoned, "turn")
        loss = f"The reasoning in {count} of another program could not be carried over."
    return WantedTree(tuple(turn for turn in turns if turn), front, loss)


def entries_of_turn(stored: PiSession, rows: NativeRows) -> list[SessionEntry]:
    """The entries of a turn, with texts that waited for its prompt; empty if one is missing."""
    path = stored.path_of(rows.passage.last)
    ids = [entry.id for entry in path]
    if rows.passage.first not in ids:
        return []
    start = ids.index(rows.passage.first)
    while start and not path[start - 1].is_spoken and path[start - 1].type != _COMPACTION:
        start -= 1
    return [entry for entry in path[start:] if entry.is_text]


def plan_rows(stored: PiSession, wanted: WantedTree) -> list[Fields]:
    """The rows to append; none if the session has this history already."""
    current = stored.path_of(stored.leaf)
    for count in range(len(wanted.turns), -1, -1):
        sources = [row.source for turn in wanted.turns[:count] for row in turn]
        plans: list[list[Fields]] = []
        for base in _bases(stored, current, sources):
            found = _fit(stored, stored.path_of(base), sources, wanted.front)
            if found is not None:
                tip = _tip(current, base)
                rows = [*found, *_copies(wanted.turns[count:])]
                if not rows and tip != (stored.leaf or None):
                    rows = [leaf_row(tip)]
                plans.append(_chained(rows, tip))
        if plans:
            return min(plans, key=len)
    raise ValueError("this history does not fit into the session")


def shown_sources(stored: PiSession, leaf: str | None) -> tuple[str, list[str]]:
    """What the model sees at an entry: the summary in front, and the source of each row."""
    view = stored.view(leaf)
    return view.compaction.summary if view.compaction else "", [each.source for each in view.seen]


def _bases(
    stored: PiSession, current: Sequence[SessionEntry], sources: Sequence[str]
) -> Iterator[str | None]:
    """The entries behind which the rest could follow; the present leaf comes first."""
    yield stored.leaf or None
    if not sources:
        places = (n for n, e in enumerate(current) if e.is_text or e.type == _COMPACTION)
        first = next(places, len(current))
        yield current[first - 1].id if first else None
    newest = reversed(stored.entries.values()) if sources else ()
    yield from (each.id for each in newest if each.source == sources[-1])


def _fit(
    stored: PiSession, path: Sequence[SessionEntry], sources: Sequence[str], front: str
) -> list[Fields] | None:
    """The rows after which exactly these entries of a path are in view; None if none are."""
    placed: list[SessionEntry] = []
    for entry in path:
        if len(placed) < len(sources) and entry.is_text and entry.source == sources[len(placed)]:
            placed.append(entry)
    if len(placed) < len(sources):
        return None
    view, rows, ids = view_of(path), list[Fields](), {entry.id for entry in placed}
    summary = view.compaction.summary if view.compaction else None
    if summary != (front or None) or not ids <= {entry.id for entry in view.texts}:
        if not front:
            return None
        rows.append(_row(_COMPACTION, summary=front, tokensBefore=0, **_OURS))
        first = path.index(placed[0]) if placed else len(path)
        rows[0]["firstKeptEntryId"] = placed[0].id if placed else rows[0]["id"]
        view = view_of([entry for entry in path[first:] if entry.type != _COMPACTION])
    behind = path[path.index(placed[-1]) + 1 :] if placed else ()
    waiting = set[str]() if any(each.is_spoken for each in behind) else {each.id for each in behind}
    for entry in view.texts:
        edit = view.edits.get(entry.id)
        if entry.id in waiting:
            continue  # for the next prompt
        if entry.id in ids and not view.shows(entry):
            own = {"replacement": _own(stored, entry), "writtenBy": WRITER}
            rows.append(_row("context_edit", targetId=entry.id, **own))
        elif entry.id not in ids and not (edit is not None and edit.omits):
            rows.append(_row("context_edit", targetId=entry.id, replacement=None))
    return rows


def _tip(current: Sequence[SessionEntry], base: str | None) -> str | None:
    """The end of the present path, if nothing behind the base changes the view; else the base.

    Texts that wait for the next prompt stay.
    """
    ids = [entry.id for entry in current]
    if base is not None and base not in ids:
        return base
    rest = current[ids.index(base) + 1 :] if base is not None else current
    decides = (_COMPACTION, "context_edit")
    if any(entry.is_spoken or entry.type in decides for entry in rest):
        return base
    return ids[-1] if ids else None


def _own(stored: PiSession, entry: SessionEntry) -> Fields:
    row = stored.row(entry)
    return {"content": row.get("message", row).get("content", [])}


def leaf_row(parent: str | None) -> Fields:
    """The row after which a session continues from this entry. The model does not see it."""
    return {**_row("custom", customType=WRITER, data={}), "parentId": parent}


def _row(kind: str, **fields: Any) -> Fields:
    return {"type": kind, "id": new_id(), "parentId": None, "timestamp": timestamp(), **fields}


def _chained(rows: Sequence[Fields], parent: str | None) -> list[Fields]:
    chained: list[Fields] = []
    for row in rows:
        chained.append({**row, "parentId": parent})
        parent = row["id"]
    return chained


def _copies(turns: Sequence[Sequence[WantedRow]]) -> Iterator[Fields]:
    for turn in turns:
        for row in turn:
            own = {"id": new_id(), "timestamp": timestamp(), "copyOf": row.source}
            yield {**row.fields, **own}


def _native_rows(
    native: NativeRows, stored: PiSession, session: str, open_session: OpenSession
) -> list[WantedRow]:
    """The rows of a turn that pi ran in this session or in another one; empty if they are gone."""
    if native.session.program != PROGRAM.name:
        return []
    if native.session.id == session:
        found = entries_of_turn(stored, native)
        if found:
            return [WantedRow(entry.source, stored.row(entry)) for entry in found]
    other = open_session(native.session)
    found = entries_of_turn(other, native) if other is not None else []
    mark = f"{native.session.id}:" if native.session.id != session else ""
    return [WantedRow(f"{mark}{e.source}", other.row(e)) for e in found if other is not None]


def _rows_of(each: HistoryTurn, stored: PiSession) -> tuple[list[WantedRow], bool]:
    """The rows of a turn that another executor ran, and whether reasoning had to be left out."""
    model = _model(stored)
    fields = [row for message in each.messages for row in _message_rows(message, model)]
    parts = [part for message in each.messages for part in message.parts]
    found: list[WantedRow] = []
    for number, message in enumerate(fields):
        key = [each.turn.agent, each.turn.first, number, message["role"], message["content"]]
        source = hashlib.sha256(msgspec.json.encode(key)).hexdigest()[:32]
        found.append(WantedRow(source, {"type": "message", "message": message}))
    return found, any(isinstance(part, Thinking) for part in parts)


def _model(stored: PiSession) -> Fields:
    """The API, provider and model of the newest reply, which new replies get too."""
    newest = (e for e in reversed(stored.entries.values()) if e.role == "assistant")
    entry = next(newest, None)
    said: Fields = stored.row(entry)["message"] if entry is not None else {}
    return {name: said.get(name, "unknown") for name in ("api", "provider", "model")}


_NO_COST = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
_NO_USAGE: Fields = {
    **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0),
    "cost": _NO_COST,
}


def _message_rows(message: Message, model: Fields) -> Iterator[Fields]:
    """The messages of pi for one of ours. Results come first: they answer the calls before."""
    for part in message.parts:
        if isinstance(part, ToolResult):
            content = [{"type": "text", "text": part.content}]
            call = {"toolCallId": part.call, "toolName": part.name}
            told = {"role": "toolResult", **call, "content": content, "isError": part.error}
            yield {**told, "timestamp": 0}
    blocks = [block for part in message.parts for block in content_blocks(part)]
    if not blocks:
        return
    if message.role == "user":
        yield {"role": "user", "content": blocks, "timestamp": 0}
    else:
        stop = "toolUse" if blocks[-1]["type"] == "toolCall" else "stop"
        said = {"role": "assistant", "content": blocks, **model, "usage": _NO_USAGE}
        yield {**said, "stopReason": stop, "timestamp": 0}


def content_blocks(part: object) -> list[Fields]:
    """The blocks of a part of a message; none for results and thoughts."""
    match part:
        case File() if part.media_type in PICTURES:
            image = {"type": "image", "data": part.data, "mimeType": part.media_type}
            return [{"type": "text", "text": prompt_text(part)}, image]
        case File() | Text():
            return [{"type": "text", "text": prompt_text(part)}] if prompt_text(part) else []
        case ToolCall():
            try:
                arguments = msgspec.json.decode(part.args, type=Fields)
            except (msgspec.MsgspecError, ValueError):
                arguments = {"arguments": part.args}
            return [{"type": "toolCall", "id": part.id, "name": part.name, "arguments": arguments}]
        case _:
            return []


def _program_summary(
    front: Sequence[str], stored: PiSession, used: Collection[str]
) -> SessionEntry | None:
    """The newest compaction of pi itself whose summary these texts contain; None if none is.

    pi can write the same summary twice. Then it is the one whose kept rows are shown too: in front,
    or as rows of turns, which are `used`.
    """
    if not front or any(not text.startswith(REQUEST_FRAME) for text in front[1:]):
        return None
    found = [
        entry
        for entry in reversed(stored.entries.values())
        if entry.summary and not entry.is_ours and shows(front[0], entry.summary)
    ]
    return max(found, key=lambda each: _likeness(each, stored, front[0], used), default=None)


def _likeness(
    compaction: SessionEntry, stored: PiSession, front: str, used: Collection[str]
) -> tuple[int, int]:
    """The texts kept behind a summary that are shown nowhere, as a negative count, and in front."""
    kept = [e for e in view_of(stored.path_of(compaction.id)).seen if e.source not in used]
    texts = [text for entry in kept for text in _texts_of(_own(stored, entry)["content"])]
    quoted = sum(shows(front, text) for text in texts)
    return quoted - len(texts), quoted


def _texts_of(content: str | list[Fields]) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block.get("type") == "text"]
