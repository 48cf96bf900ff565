"""What Codex items say, who wrote them, and whether two of them are the same to the model."""

import re
from typing import Any, cast  # items are JSON of any form

import msgspec
from msgspec import Raw

from sapwood.core.content import Usage
from sapwood.programs.codex import rows

_BETWEEN_TURNS = ("<user_shell_command>", "<subagent_notification>")
"""What happened between turns: it waits for the next prompt."""
_TOLD_ONCE = ("<turn_aborted>", *_BETWEEN_TURNS)
"""What happened in the thread: the program never writes it again."""
_SCAFFOLDING = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<skill",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
    *_TOLD_ONCE,
)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.MULTILINE)
_WRAPPED = '{"output":'
_ENCRYPTED = ("compaction", "compaction_summary")
_TYPE, _COMPACTION = b'{"type":', b'{"type":"compaction'


def is_scaffolding(text: str) -> bool:
    """Whether the program wrote this text in the user's name."""
    return text.lstrip().startswith(_SCAFFOLDING)


def is_told_once(text: str) -> bool:
    """Whether the program wrote this text in the user's name, and never writes it again."""
    return text.lstrip().startswith(_TOLD_ONCE)


def is_between_turns(text: str) -> bool:
    """Whether the program wrote this text in the user's name, for the next prompt."""
    return text.lstrip().startswith(_BETWEEN_TURNS)


def text_of(content: list[rows.Content] | str | None) -> str:
    """The text of a message; a placeholder for an image."""
    if isinstance(content, str):
        return content
    return "\n\n".join(filter(None, map(_shown, content or ())))


def _shown(part: rows.Content) -> str:
    return part.text or ("[image]" if "image" in part.type else "")


def output_of(item: rows.Item) -> tuple[str, bool]:
    """The output of a tool, and whether the tool failed."""
    output = item.output
    if isinstance(output, str) and output.startswith(_WRAPPED):
        output = rows.decode_output(output.encode("utf-8", "replace")) or output
    if isinstance(output, rows.Output):
        ended = output.metadata.exit_code if output.metadata else None
        failed = output.success is False or bool(ended)
        return output.output or output.content or "", failed
    text = text_of(output)
    ended = _EXIT.search(text[:1000])
    return text, ended is not None and int(ended[1]) != 0


def patch_of(patch: str) -> tuple[int, int]:
    """The number of lines that a patch adds and removes.

    >>> patch_of("*** Update File: a.py\\n@@\\n-x = 1\\n+x = 2\\n+y = 3")
    (2, 1)
    """
    signs = [line[:1] for line in patch.splitlines()]  # a patch of Codex has no `---` or `+++`
    return signs.count("+"), signs.count("-")


def usage_of(tokens: rows.CodexTokens) -> Usage:
    """The usage of one model call."""
    return Usage(
        input=tokens.input_tokens or 0,
        output=tokens.output_tokens or 0,
        cache_read=tokens.cached_input_tokens or 0,
        cache_write=tokens.cache_write_input_tokens or 0,
    )


def is_announcement(item: rows.Item, *, asked: bool) -> bool:
    """Whether Codex wrote this message itself, and writes it again when it is needed.

    These are instructions, and the description of the environment in front of a prompt. `asked`:
    the user's prompt came before. Then only instructions count.
    """
    if item.type != "message" or item.role == "assistant":
        return False
    if item.role != "user":
        return True
    text = text_of(item.content)
    return not asked and is_scaffolding(text) and not is_told_once(text)


def is_own_compaction(row: rows.Item) -> bool:
    """Whether Codex itself compacted, not Sapwood: then there is a summary, which may be encrypted.

    >>> is_own_compaction(rows.Item(message="It is cold."))
    True
    """
    if row.message:
        return True
    # Only items that may be one are decoded: after a change by Sapwood, these are all of a session.
    items = map(bytes, row.replacement_history or ())
    found = (item for item in items if item.startswith(_COMPACTION) or not item.startswith(_TYPE))
    return any(each and each.type in _ENCRYPTED for each in map(rows.decode_item, found))


def is_waiting(item: rows.Item | None) -> bool:
    """Whether Codex wrote this message in the user's name, for the next prompt: the output of a
    command that the user ran, for example.
    """
    return item is not None and item.is_users and is_between_turns(text_of(item.content))


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
