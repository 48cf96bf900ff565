"""The rows of a Codex rollout as far as a change of the history needs them; items stay bytes.

The reader in `sapwood.programs.codex` makes turns from the same rows. Here the items of the model's
API are kept verbatim, because they are given back to Codex.
"""

import re
from typing import Any, cast  # items are JSON of any form

import msgspec
from msgspec import Raw, Struct

from sapwood.programs.codex.contents import (
    is_between_turns,
    is_scaffolding,
    is_told_once,
    text_of,
)
from sapwood.programs.codex.rows import Content
from sapwood.programs.transcripts.row_decoder import row_decoder


class HistoryBase(Struct, frozen=True, gc=False):
    """The part of another file that comes before the first row of a file."""

    thread_id: str = ""
    end_byte_offset: int = 0


class _CompletedItem(Struct, gc=False):
    type: str = ""
    client_id: str | None = None


class Payload(Struct, gc=False):
    """The fields of a row's payload, of whatever type the row is."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    turn_id: str | None = None
    content: list[Content] | str | None = None
    item: _CompletedItem | None = None
    history_base: HistoryBase | None = None
    history_mode: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    message: str | None = None
    replacement_history: list[Raw] | None = None
    num_turns: int | None = None
    full: bool | None = None
    usage: "_Tokens | None" = None

    @property
    def text(self) -> str:
        """The text of a message."""
        return text_of(self.content)


class _Tokens(Struct, gc=False):
    input_tokens: int = 0


class RolloutRow(Struct, gc=False):
    """A row: its type and its payload."""

    type: str = ""
    payload: Raw = Raw(b"{}")


decode_row = row_decoder(RolloutRow)
decode_payload = row_decoder(Payload)

_HEAD = 400
_EVENTS = re.compile(
    rb'"type":\s?"(?:task_started|task_complete|turn_aborted|thread_rolled_back|UserMessage)"'
)
_ENCRYPTED = ("compaction", "compaction_summary")
_ORDINAL = re.compile(rb'"ordinal":\s?(\d{1,15})')


def is_noise(row: bytes) -> bool:
    """Whether a row has nothing to do with the history; found without decoding it."""
    head = row[:_HEAD]
    return b'"event_msg"' in head and not _EVENTS.search(head)


def ordinal_of(row: bytes) -> int | None:
    """The number of a row in its thread; None if it has none, as in older files."""
    found = _ORDINAL.search(row[:_HEAD])
    return int(found[1]) if found else None


def is_announcement(item: Payload, *, asked: bool) -> bool:
    """Whether Codex wrote this message itself, and writes it again when it is needed.

    These are instructions, and the description of the environment in front of a prompt. `asked`:
    the user's prompt came before. Then only instructions count.
    """
    if item.type != "message" or item.role == "assistant":
        return False
    if item.role != "user":
        return True
    return not asked and is_scaffolding(item.text) and not is_told_once(item.text)


def is_own_compaction(row: Payload) -> bool:
    """Whether Codex itself compacted, not Sapwood: then there is a summary, which may be encrypted.

    >>> is_own_compaction(Payload(message="It is cold."))
    True
    """
    items = (decode_payload(item) for item in row.replacement_history or ())
    return bool(row.message) or any(each and each.type in _ENCRYPTED for each in items)


def is_waiting(item: Payload | None) -> bool:
    """Whether Codex wrote this message in the user's name, for the next prompt: the output of a
    command that the user ran, for example.
    """
    return (
        item is not None
        and item.type == "message"
        and item.role == "user"
        and is_between_turns(item.text)
    )


_IGNORED = ("id", "status", "phase", "internal_chat_message_metadata_passthrough")
_IGNORED_IN_CONTENT = ("annotations", "logprobs")


def item_key(item: bytes | Raw) -> bytes:
    """What the model sees of an item. Two items with the same key are the same to the model.

    >>> item_key(b'{"type":"message","id":"a","role":"user","content":[]}')
    b'{"content":[],"role":"user","type":"message"}'
    """
    try:
        found = msgspec.json.decode(item, type=dict[str, Any])
    except msgspec.MsgspecError:
        return bytes(item)
    fields = {name: value for name, value in found.items() if name not in _IGNORED}
    if isinstance(fields.get("content"), list):
        fields["content"] = [_plain(part) for part in fields["content"]]
    return msgspec.json.encode(_without_nulls(fields), order="sorted")


def _plain(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    fields = cast("dict[str, Any]", part)
    return {name: value for name, value in fields.items() if name not in _IGNORED_IN_CONTENT}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {k: _without_nulls(v) for k, v in fields.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in cast("list[Any]", value)]
    return value
