"""Writes a thread that Codex deleted again, as a rollout with its former id.

Codex lists every rollout that has a message of the user as an event and is of the model provider
that is configured now. The file gets its former path: Codex keeps the path of every thread in its
database, also after the file was deleted.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Raw, structs

from sapwood.config.toml_edit import parse_toml
from sapwood.core.content import Note, Text
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import ProgramSession
from sapwood.private_files import create_file
from sapwood.programs.agent_provider import History, HistoryTurn, ProviderOptions, SyncResult
from sapwood.programs.codex.contents import is_scaffolding, is_told_once, text_of
from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.codex.response_items import wanted_history
from sapwood.programs.codex.rows import decode_item
from sapwood.programs.codex.sessions import is_id

_PROVIDER = "openai"
_VERSION = "0.0.0"
"""The version of Codex that wrote the thread is not in the log, and Codex does not look at it."""


def write_session(
    session: ProgramSession, history: History, options: ProviderOptions, data: Path
) -> SyncResult:
    """Writes the thread with this history. `data` is the folder of Sapwood's data.

    Raises `Failure` if it cannot be written, for example because it is there already.
    """
    if not is_id(session.id):
        raise Failure("other", f"'{session.id}' is not the id of a Codex session.")
    home = PROGRAM.home(os.environ)
    copies = data / "programs" / PROGRAM.name
    wanted = wanted_history(_without_frame(history), home, copies, session.id)
    now = datetime.now(UTC)
    path = _path(session, home, now)
    meta = {
        "id": session.id,
        "timestamp": _time(now),
        "cwd": options.folder,
        "originator": "sapwood",
        "cli_version": _VERSION,
        "source": "cli",
        "model_provider": _model_provider(home),
    }
    content = _row("session_meta", meta, now)
    keys: list[str] = []
    for item in wanted.items:
        keys.append(f"@{len(content)}")
        content += _row("response_item", Raw(item.payload), now)
        for event in _events(item.payload, history.front):
            content += _row("event_msg", event, now)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        create_file(path, content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("other", f"The Codex session could not be written: {reason}.") from error
    there = ProgramSession(PROGRAM.name, session.id, str(path))
    return SyncResult(there, "new_session", tuple(keys), wanted.loss)


def _without_frame(history: History) -> History:
    """The history without the texts that Codex adds in front of every request itself."""
    return structs.replace(history, turns=tuple(map(_said, history.turns)))


def _said(turn: HistoryTurn) -> HistoryTurn:
    notes = [part.text for part in turn.turn.prompt if isinstance(part, Note)]
    frame = [text for text in notes if is_scaffolding(text) and not is_told_once(text)]
    if not frame or not turn.messages:
        return turn
    first, *rest = turn.messages
    parts = tuple(
        part
        for part in first.parts
        if not (isinstance(part, Text) and any(text in part.text for text in frame))
    )
    return structs.replace(turn, messages=(structs.replace(first, parts=parts), *rest))


def _path(session: ProgramSession, home: Path, now: datetime) -> Path:
    """The former path of the thread's first file, else a new one."""
    former = Path(session.path)
    is_first = former.name.startswith("rollout-") and former.stem.endswith(session.id)
    if is_first and former.is_relative_to(home / "sessions"):
        return former
    name = f"rollout-{now:%Y-%m-%dT%H-%M-%S}-{session.id}.jsonl"
    return home / "sessions" / f"{now:%Y/%m/%d}" / name


def _model_provider(home: Path) -> str:
    """The model provider in the settings of Codex; its list shows threads of no other."""
    try:
        settings = parse_toml((home / "config.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return _PROVIDER
    named = settings.get("model_provider")
    return named if isinstance(named, str) else _PROVIDER


def _events(payload: bytes, front: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """The events by which Codex lists a thread and shows what was said; none for its frame."""
    item = decode_item(payload)
    if item is None or item.type != "message":
        return
    text = text_of(item.content)
    if item.role == "assistant":
        yield {"type": "agent_message", "message": text}
    elif item.is_users and not is_scaffolding(text) and not (front and text.startswith(front[0])):
        yield {"type": "user_message", "message": text, "images": []}


def _row(kind: str, payload: object, now: datetime) -> bytes:
    row = {"timestamp": _time(now), "type": kind, "payload": payload}
    return msgspec.json.encode(row) + b"\n"


def _time(now: datetime) -> str:
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


SESSION_WRITER = write_session
