"""Answers are read alike, however their bytes are cut and whatever unknown stands between them."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.model_calls import Delta
from sapwood.models.model_routes import ModelRoute, resolve
from sapwood.models.wire.anthropic_answer import MessagesReader
from sapwood.models.wire.chat_answer import ChatReader
from sapwood.models.wire.gemini_answer import GeminiAnswerReader
from sapwood.models.wire.responses_answer import ResponsesReader
from sapwood.models.wire.sse import EventReader, ServerEvent
from sapwood.models.wire.wire_call import AnswerReader, WireReply

FILES = sorted((Path(__file__).parent / "answers").glob("*.sse"))
DEN = resolve("den:q", {"den": "http://den/v1"})
READERS: dict[str, tuple[Callable[[ModelRoute], AnswerReader], str]] = {
    "messages": (MessagesReader, "claude-haiku-5-5"),
    "responses": (ResponsesReader, "gpt-6.1-sol"),
    "chat": (ChatReader, "openai-chat:gpt-6.1-terra"),
    "gemini": (GeminiAnswerReader, "gemini-3.8-flash"),
}
ENDINGS = {"length": "length", "incomplete": "length", "refusal": "refused"}


def reader_for(file: Path) -> AnswerReader:
    wire, model = READERS[file.stem.partition("-")[0]]
    return wire(resolve(model))


def read(file: Path, pieces: list[bytes]) -> tuple[list[Delta], WireReply]:
    events, reader = EventReader(), reader_for(file)
    deltas = [
        delta for piece in pieces for event in events.feed(piece) for delta in reader.feed(event)
    ]
    return deltas, reader.reply()


def comparable(reply: WireReply) -> object:
    """The reply without ids that were made up."""
    parts = [(part.name, part.args) if isinstance(part, ToolCall) else part for part in reply.parts]
    return parts, reply.model, reply.usage, reply.ending, reply.reason


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_answer_ends_as_it_did(file: Path) -> None:
    _, reply = read(file, [file.read_bytes()])
    assert reply.ending == ENDINGS.get(file.stem.partition("-")[2], "done")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_deltas_add_up_to_the_answer(file: Path) -> None:
    deltas, reply = read(file, [file.read_bytes()])

    def said(kind: str) -> str:
        return "".join(delta.text for delta in deltas if delta.kind == kind)

    assert said("text") == "".join(p.text for p in reply.parts if isinstance(p, Text))
    assert said("thinking") == "".join(p.text for p in reply.parts if isinstance(p, Thinking))
    calls = [part for part in reply.parts if isinstance(part, ToolCall)]
    assert [delta.name for delta in deltas if delta.name] == [call.name for call in calls]


@given(st.sampled_from(FILES), st.lists(st.integers(0, 10**6), max_size=8))
def test_where_the_bytes_are_cut_does_not_matter(file: Path, cuts: list[int]) -> None:
    raw = file.read_bytes()
    places = sorted({0, len(raw), *(cut % len(raw) for cut in cuts)})
    pieces = [raw[a:b] for a, b in pairwise(places)]
    whole_deltas, whole = read(file, [raw])
    deltas, reply = read(file, pieces)
    assert comparable(reply) == comparable(whole)
    assert deltas == whole_deltas


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_answer_that_is_cut_before_its_end_is_not_complete(file: Path) -> None:
    raw = file.read_bytes().replace(b"\r\n", b"\n")
    events = raw.rstrip(b"\n").split(b"\n\n")
    for count in range(len(events) - 3):
        kept = b"\n\n".join(events[:count]) + b"\n\n"
        assert read(file, [kept])[1].ending == "cut", count


UNKNOWN = (
    b'event: news\ndata: {"type":"news.today","more":{"deep":[1,{"a":null}]}}\n\n',
    b': comment\n\ndata: {"type":"content_block_delta","index":99,"delta":{"type":"x","y":1}}\n\n',
    b'data: {"type":"content_block_start","index":77,"content_block":{"type":"new","z":[]}}\n\n',
    b'data: {"type":"response.new.delta","delta":{"a":1},"item":{"type":"new","id":null}}\n\n',
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_unknown_events_change_nothing(file: Path, unknown: bytes) -> None:
    raw = file.read_bytes().replace(b"\r\n", b"\n")
    events = [each for each in raw.split(b"\n\n") if each]
    mixed = unknown.join(each + b"\n\n" for each in events)
    whole_deltas, whole = read(file, [raw])
    deltas, reply = read(file, [mixed])
    assert comparable(reply) == comparable(whole)
    assert deltas == whole_deltas


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.stem in ("chat-refusal", "responses-refusal")]
)
def test_the_words_of_a_refusal_are_what_the_model_said(file: Path) -> None:
    deltas, reply = read(file, [file.read_bytes()])
    (said,) = (part.text for part in reply.parts if isinstance(part, Text))
    assert said.startswith("I cannot help")
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == said


# Chat servers


def chat(*contents: str) -> tuple[list[Delta], WireReply]:
    reader = ChatReader(DEN)
    deltas: list[Delta] = []
    for content in contents:
        chunk = {"choices": [{"delta": {"content": content}}]}
        deltas += reader.feed(ServerEvent("", json.dumps(chunk).encode()))
    deltas += reader.feed(ServerEvent("", b'{"choices":[{"delta":{},"finish_reason":"stop"}]}'))
    return deltas, reader.reply()


@given(st.lists(st.integers(1, 40), max_size=6))
def test_thinking_between_tags_is_no_text(cuts: list[int]) -> None:
    text = "\n<think>\nOslo is </north.</think>\n\nIt is < cold."
    places = sorted({0, len(text), *(cut % len(text) for cut in cuts)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    _, reply = chat(*pieces)
    assert reply.parts == [Thinking("\nOslo is </north.", "den"), Text("It is < cold.")]


@pytest.mark.parametrize("text", ["<thing> is", "<", "a <think>b</think>", "  x"])
def test_a_text_that_only_looks_like_thinking_is_text(text: str) -> None:
    deltas, reply = chat(*text)
    assert reply.parts == [Text(text)]
    assert "".join(delta.text for delta in deltas if delta.kind == "text") in (text, "")


def test_calls_without_an_index_or_with_one_index_are_told_apart() -> None:
    reader = ChatReader(DEN)
    for piece in (
        b'{"id":"a","function":{"name":"f","arguments":"{}"}}',
        b'{"id":"b","function":{"name":"g","arguments":"{\\"x\\""}}',
        b'{"function":{"arguments":":1}"}}',
    ):
        reader.feed(ServerEvent("", b'{"choices":[{"delta":{"tool_calls":[%b]}}]}' % piece))
    assert reader.reply().parts == [ToolCall("a", "f", "{}"), ToolCall("b", "g", '{"x":1}')]
    reader = ChatReader(DEN)
    for name in (b"f", b"g"):
        call = b'{"index":0,"id":"%b","function":{"name":"%b","arguments":"{}"}}' % (name, name)
        reader.feed(ServerEvent("", b'{"choices":[{"delta":{"tool_calls":[%b]}}]}' % call))
    assert reader.reply().parts == [ToolCall("f", "f", "{}"), ToolCall("g", "g", "{}")]


def read_calls(*pieces: bytes) -> tuple[list[Delta], list[tuple[str, str]]]:
    """The deltas of pieces of calls, and the calls that they make up."""
    reader = ChatReader(DEN)
    deltas: list[Delta] = []
    for piece in pieces:
        chunk = b'{"choices":[{"delta":{"tool_calls":[%b]}}]}' % piece
        deltas += reader.feed(ServerEvent("", chunk))
    calls = [part for part in reader.reply().parts if isinstance(part, ToolCall)]
    assert len({call.id for call in calls}) == len(calls)
    return deltas, [(call.name, call.args) for call in calls]


@pytest.mark.parametrize("index", [b"", b'"index":0,'])
def test_whole_calls_without_an_id_are_told_apart(index: bytes) -> None:
    deltas, calls = read_calls(
        b'{%b"function":{"name":"f","arguments":"{\\"x\\":1}"}}' % index,
        b'{%b"function":{"name":"f","arguments":"{}"}}' % index,
        b'{%b"function":{"name":"g","arguments":"{\\"y\\""}}' % index,
        b'{%b"function":{"arguments":":{}"}}' % index,
        b'{%b"function":{"arguments":"}"}}' % index,
    )
    assert calls == [("f", '{"x":1}'), ("f", "{}"), ("g", '{"y":{}}')]
    assert [delta.name for delta in deltas if delta.name] == ["f", "f", "g"]


def test_a_server_that_repeats_the_name_of_a_call_makes_one_call() -> None:
    _, calls = read_calls(
        b'{"index":0,"id":"a","function":{"name":"f","arguments":""}}',
        b'{"index":0,"function":{"name":"f","arguments":"{\\"x\\":"}}',
        b'{"index":0,"function":{"name":"f","arguments":"{}}"}}',
        b'{"index":0,"function":{"name":"f","arguments":""}}',
    )
    assert calls == [("f", '{"x":{}}')]


def test_thinking_in_a_list_of_parts_is_no_text() -> None:
    reader = ChatReader(DEN)
    contents: list[object] = [
        [{"type": "thinking", "thinking": [{"type": "text", "text": "Oslo is "}]}],
        [{"type": "thinking", "thinking": [{"type": "text", "text": "north."}], "closed": True}],
        [{"type": "text", "text": "It is "}, {"type": "reference", "reference_ids": [1]}],
        "cold.",
    ]
    deltas: list[Delta] = []
    for content in contents:
        chunk = {"choices": [{"delta": {"content": content}}]}
        deltas += reader.feed(ServerEvent("", json.dumps(chunk).encode()))
    assert reader.reply().parts == [Thinking("Oslo is north.", "den"), Text("It is cold.")]
    assert [(delta.kind, delta.text) for delta in deltas] == [
        ("thinking", "Oslo is "),
        ("thinking", "north."),
        ("text", "It is "),
        ("text", "cold."),
    ]


def test_google_signs_the_part_that_follows_a_thought() -> None:
    reader = GeminiAnswerReader(resolve("gemini-3.8-flash"))
    parts = (
        b'{"functionCall":{"id":"1","name":"f","args":{"a":1.0}},"thoughtSignature":"c2ln"}',
        b'{"text":"Yes"}',
        b'{"text":"","thoughtSignature":"ZW5k"}',
    )
    for part in parts:
        reader.feed(ServerEvent("", b'{"candidates":[{"content":{"parts":[%b]}}]}' % part))
    assert reader.reply().parts == [
        Thinking("", "google", "c2ln"),
        ToolCall("1", "f", '{"a":1.0}'),
        Thinking("", "google", "ZW5k"),
        Text("Yes"),
    ]


def test_google_blocks_a_prompt_without_an_answer() -> None:
    reader = GeminiAnswerReader(resolve("gemini-3.8-flash"))
    reader.feed(ServerEvent("", b'{"promptFeedback":{"blockReason":"SAFETY"}}'))
    reply = reader.reply()
    assert (reply.ending, reply.reason, reply.parts) == ("refused", "SAFETY", [])


# Reasons for the end of an answer

CALL = b'{"index":0,"id":"a","function":{"name":"write","arguments":"{\\"x\\":\\"half%b"}}'


def chat_ending(reason: str, *, text: str = "", call: bytes = b"") -> str:
    """How an answer of a chat server ended that gave this reason."""
    reader = ChatReader(DEN)
    delta = b'{"content":%b,"tool_calls":[%b]}' % (json.dumps(text).encode(), call)
    reader.feed(ServerEvent("", b'{"choices":[{"delta":%b}]}' % delta))
    end = b'{"choices":[{"delta":{},"finish_reason":%b}]}' % json.dumps(reason).encode()
    reader.feed(ServerEvent("", end))
    return reader.reply().ending


def gemini_ending(reason: str, *texts: str) -> str:
    reader = GeminiAnswerReader(resolve("gemini-3.8-flash"))
    parts = [{"text": text} for text in texts]
    candidate = {"content": {"parts": parts}, "finishReason": reason}
    reader.feed(ServerEvent("", json.dumps({"candidates": [candidate]}).encode()))
    return reader.reply().ending


def responses_ending(kind: str, status: str | None, reason: str | None) -> str:
    reader = ResponsesReader(resolve("gpt-6.1-sol"))
    content = [{"type": "output_text", "text": "Half an ans"}]
    response = {
        "status": status,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": [{"type": "message", "id": "m", "content": content}],
    }
    event = {"type": f"response.{kind}", "response": response}
    reader.feed(ServerEvent("", json.dumps(event).encode()))
    return reader.reply().ending


@pytest.mark.parametrize("reason", ["insufficient_system_resource", "error", "abort"])
def test_an_answer_that_the_server_broke_off_is_not_complete(reason: str) -> None:
    assert chat_ending(reason, text="1. Stop the database, 2.") == "broken"


@pytest.mark.parametrize("reason", ["model_length", "MAX_TOKENS", "length"])
def test_a_limit_of_the_length_has_many_names(reason: str) -> None:
    assert chat_ending(reason, text="1. Stop the database, 2.") == "length"


@pytest.mark.parametrize("reason", ["stop", "STOP", "eos_token", "COMPLETE", "a new name"])
def test_a_server_may_have_its_own_name_for_a_complete_answer(reason: str) -> None:
    assert chat_ending(reason, text="Yes.") == "done"
    assert chat_ending(reason, call=CALL % b'\\"}') == "done"


def test_an_answer_with_an_unknown_end_is_not_complete_if_nothing_or_half_a_call_came() -> None:
    assert chat_ending("a new name") == "broken"
    assert chat_ending("a new name", text="I write.", call=CALL % b"") == "broken"
    assert chat_ending("stop") == "done"


@pytest.mark.parametrize("reason", ["OTHER", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS"])
def test_google_completes_an_answer_with_stop_alone(reason: str) -> None:
    assert gemini_ending(reason) == gemini_ending(reason, "Half an ans") == "broken"
    assert gemini_ending("STOP") == gemini_ending("A_NEW_NAME", "Yes.") == "done"


def test_an_incomplete_response_is_not_a_complete_answer() -> None:
    assert responses_ending("incomplete", "incomplete", None) == "length"
    assert responses_ending("incomplete", None, None) == "length"
    assert responses_ending("incomplete", "incomplete", "max_output_tokens") == "length"
    assert responses_ending("incomplete", "incomplete", "max_tool_calls") == "broken"
    assert responses_ending("completed", "completed", None) == "done"
    assert responses_ending("completed", None, None) == "done"
