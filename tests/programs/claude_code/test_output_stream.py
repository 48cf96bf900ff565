"""The lines of a running Claude Code become replies, results, questions and an end."""

import json
from typing import Any

from sapwood.core.content import Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import Delta
from sapwood.programs.agent_provider import ProviderQuestion, ProviderReply, ProviderResult
from sapwood.programs.claude_code.output_stream import (
    ClaudeTurnStream,
    TurnEvent,
    decode_stream_row,
)

USAGE = {
    "input_tokens": 1,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 300,
    "output_tokens": 28,
}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}


def feed(stream: ClaudeTurnStream, *rows: dict[str, Any]) -> list[TurnEvent]:
    events: list[TurnEvent] = []
    for row in rows:
        decoded = decode_stream_row(json.dumps(row).encode())
        assert decoded is not None
        events += stream.feed(decoded)
    return events


def event(**fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": fields}


def assistant(block: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"id": "msg_1", "model": "claude-opus-5-5", "content": [block]}
    return {"type": "assistant", "uuid": "row", "message": message, **more}


def result_of(call: str, text: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": text}
    return {"type": "user", "uuid": "row-2", "message": {"content": [block]}, **more}


BEGIN = event(type="message_start", message={"id": "msg_1", "model": "claude-opus-5-5"})
STOP = event(type="message_stop")
QUESTION = {
    "type": "control_request",
    "request_id": "q1",
    "request": {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "tool_use_id": "toolu_1",
        "input": {"command": "ls"},
    },
}


def test_blocks_of_one_message_are_one_reply_after_its_deltas() -> None:
    stream = ClaudeTurnStream("/srv/wood")
    events = feed(
        stream,
        BEGIN,
        event(type="content_block_delta", delta={"type": "thinking_delta", "thinking": "hm"}),
        assistant(THINKING),
        event(type="content_block_start", content_block={"type": "tool_use", "name": "Bash"}),
        event(type="content_block_delta", delta={"type": "input_json_delta", "partial_json": "{"}),
        assistant(CALL),
        event(type="message_delta", delta={"stop_reason": "tool_use"}, usage=USAGE),
        STOP,
    )
    assert events == [
        Delta("thinking", "hm"),
        Delta("call", "", "Bash"),
        Delta("call", "{"),
        ProviderReply(
            (Thinking("hm", "anthropic", "c2ln"), ToolCall("toolu_1", "Bash", '{"command": "ls"}')),
            "claude-opus-5-5",
            Usage(321, 28, 300, 20),
        ),
    ]
    assert stream.last_row == "row"


def test_questions_and_results_wait_for_the_reply_with_their_call() -> None:
    stream = ClaudeTurnStream("/srv/wood")
    assert feed(stream, BEGIN, assistant(CALL), QUESTION, result_of("toolu_1", "a.txt")) == []
    reply, question, result = feed(stream, STOP)
    assert isinstance(reply, ProviderReply)
    assert question == ProviderQuestion(
        "q1", "toolu_1", "Bash", "ls", "command: ls", '{"command": "ls"}', "/srv/wood"
    )
    assert result == ProviderResult("toolu_1", "a.txt")


def test_without_partial_messages_a_reply_ends_with_the_next_row() -> None:
    stream = ClaudeTurnStream("/srv/wood")
    reply, result = feed(stream, assistant(CALL), result_of("toolu_1", "no", isReplay=None))
    assert isinstance(reply, ProviderReply)
    assert result == ProviderResult("toolu_1", "no")


def test_the_diff_of_an_edit_is_told() -> None:
    hunks = [{"lines": ["-alpha", "+beta"]}]
    row = result_of("toolu_1", "done", tool_use_result={"structuredPatch": hunks})
    (result,) = feed(ClaudeTurnStream("/srv/wood"), row)
    assert result == ProviderResult("toolu_1", "done", diff="-alpha\n+beta")


def test_subagents_and_replayed_prompts_are_left_out() -> None:
    stream = ClaudeTurnStream("/srv/wood")
    inner = assistant({"type": "text", "text": "inner"}, parent_tool_use_id="toolu_1")
    replayed = {"type": "user", "isReplay": True, "message": {"content": "Go."}}
    assert feed(stream, inner, replayed) == []
    assert stream.last_row == ""


def test_how_a_turn_ends() -> None:
    ends = {
        "completed": {"subtype": "success", "total_cost_usd": 0.5},
        "failed": {"subtype": "success", "is_error": True, "result": "Invalid API key"},
        "interrupted": {
            "subtype": "error_during_execution",
            "terminal_reason": "aborted_streaming",
        },
    }
    for status, fields in ends.items():
        stream = ClaudeTurnStream("/srv/wood")
        text = assistant({"type": "text", "text": "Half"})
        assert feed(stream, text, {"type": "result", **fields}) == [
            ProviderReply((Text("Half"),), "claude-opus-5-5")
        ]
        assert stream.result is not None
        assert stream.result.status == status
        assert stream.result.reason == fields.get("result", "")


def test_an_error_of_the_api_is_a_reason_and_no_reply() -> None:
    stream = ClaudeTurnStream("/srv/wood")
    message = {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 529"}]}
    end = {"type": "result", "subtype": "error_during_execution", "is_error": True}
    assert feed(stream, {"type": "assistant", "message": message}, end) == []
    assert stream.result is not None
    assert stream.result.reason == "API Error: 529"


def test_a_reply_at_the_length_limit_says_so() -> None:
    stream = ClaudeTurnStream("/srv/wood")
    limit = event(type="message_delta", delta={"stop_reason": "max_tokens"}, usage=USAGE)
    (reply,) = feed(stream, BEGIN, assistant({"type": "text", "text": "Long"}), limit, STOP)
    assert isinstance(reply, ProviderReply)
    assert reply.ended == "length"


def test_a_compaction_of_the_program_itself_is_noticed() -> None:
    stream = ClaudeTurnStream("/srv/wood")
    feed(stream, {"type": "system", "subtype": "compact_boundary"})
    assert stream.compacted
