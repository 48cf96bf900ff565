"""Turns events, pieces of a reply and rows into updates of the Agent Client Protocol."""

import json
from collections.abc import Iterator

from acp.helpers import (
    SessionUpdate,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_available_commands,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    ContentToolCallContent,
    ToolKind,
    UnstructuredCommandInput,
)

from sapwood.conversation.timeline_reader import ConversationRows
from sapwood.core.command_table import TABLE
from sapwood.core.content import ToolCall
from sapwood.core.events import Event, ReplyAdded, ToolFinished
from sapwood.core.model_calls import Delta
from sapwood.core.timeline import row_content
from sapwood.core.timeline.rows import call_arguments, edge_label
from sapwood.display.text import cut, readable

_TITLE = 120

_KINDS: dict[str, ToolKind] = {
    "read_file": "read",
    "list_files": "search",
    "search_files": "search",
    "write_file": "edit",
    "edit_file": "edit",
    "shell": "execute",
}


def available_commands() -> SessionUpdate:
    """The slash commands, which an editor lists when the user types a slash.

    A session keeps its id, so those that leave the conversation are not among them.
    """
    return update_available_commands(
        AvailableCommand(
            name=row.name,
            description=row.help,
            input=_input(row.usage) if row.arguments else None,
        )
        for row in TABLE.rows
        if not row.leaves
    )


def _input(usage: str) -> AvailableCommandInput:
    return AvailableCommandInput(UnstructuredCommandInput(hint=usage))


def delta_updates(delta: Delta) -> Iterator[SessionUpdate]:
    """The update for a piece of a reply. A tool call is shown when it is whole."""
    if delta.kind == "text":
        yield update_agent_message_text(readable(delta.text))
    elif delta.kind == "thinking":
        yield update_agent_thought_text(readable(delta.text))


def event_updates(event: Event) -> Iterator[SessionUpdate]:
    """The updates for an event, except the words of a reply, which came as pieces."""
    match event:
        case ReplyAdded(parts):
            for part in parts:
                if isinstance(part, ToolCall):
                    yield _call(part)
        case ToolFinished(call, content, error, _, diff):
            yield _result(call, content, error, diff)
        case _:
            pass


def history_updates(conversation: ConversationRows) -> Iterator[SessionUpdate]:
    """The updates that show a whole conversation, oldest first, as the model sees it."""
    for each in conversation.rows:
        yield from _row_updates(each.content)


def _row_updates(content: row_content.RowContent) -> Iterator[SessionUpdate]:
    match content:
        case row_content.PromptText(text):
            yield update_user_message_text(readable(text))
        case row_content.NoteText(label, text):
            yield update_user_message_text(readable(f"[{label}] {text}"))
        case row_content.ThinkingText(text):
            yield update_agent_thought_text(readable(text))
        case row_content.ReplyText(text):
            yield update_agent_message_text(readable(text))
        case row_content.ToolUse(call, result):
            yield _call(call)
            if result is not None:
                yield _result(call.id, result.content, result.error, result.diff)
        case row_content.HiddenMessages(row, summary):
            words = summary.text if summary is not None else ""
            yield update_agent_thought_text(readable(f"{edge_label(row)}\n{words}".rstrip()))
        case _:  # marks, notices and ends of turns have no place in an editor's transcript
            pass


def tool_title(call: ToolCall) -> str:
    """One line that says which tool is called with what.

    >>> tool_title(ToolCall("1", "read_file", '{"path": "README.md"}'))
    'read_file README.md'
    """
    return cut(f"{call.name} {call_arguments(call.args)}".rstrip(), _TITLE)


def _call(call: ToolCall) -> SessionUpdate:
    return start_tool_call(
        call.id,
        tool_title(call),
        kind=_KINDS.get(call.name, "other"),
        status="pending",
        raw_input=_arguments(call.args),
    )


def _arguments(args: str) -> object:
    try:
        return json.loads(args)
    except (ValueError, RecursionError):  # a model may send arguments that are not JSON
        return {"arguments": args}


def _result(call: str, text: str, is_error: bool, diff: str) -> SessionUpdate:
    content = [_text(text)]
    if diff:
        content.append(_text(f"```diff\n{diff}\n```"))
    status = "failed" if is_error else "completed"
    return update_tool_call(call, status=status, content=content)


def _text(text: str) -> ContentToolCallContent:
    return tool_content(text_block(readable(text)))
