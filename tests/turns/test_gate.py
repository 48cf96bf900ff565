"""The gate: what is given is stored in the types that its command declares, or refused."""

import math
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from sapwood.core.commands import (
    AddReply,
    Clear,
    Command,
    CommandMeta,
    Compact,
    Configure,
    FinishTool,
    KeepLast,
    Load,
    RecordTurn,
    Rewind,
    Send,
    StartAgent,
    StartTurn,
)
from sapwood.core.content import (
    Note,
    RecordedReply,
    RecordedResult,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.events import HUMAN, Actor
from sapwood.core.ids import AgentId, CommandId, EventRef, TurnRef
from sapwood.core.refusals import BadValue, Refusal
from sapwood.core.settings import SettingsChange, Workspace
from sapwood.core.text_size import text_size
from sapwood.redaction import mask_secrets
from sapwood.turns.gate import Gate

ADA = AgentId("ada")
SECRET = "sk-ant-api03-" + "aB3dE6gH9" * 5
MASK = "[secret: anthropic-key …6gH9]"


class Words(str):
    pass


class Colour(StrEnum):
    RED = "red"


def through(command: Command, gate: Gate | None = None) -> Any:
    return (gate or Gate()).command(command)


def refused(command: Command) -> str:
    answer = through(command)
    assert isinstance(answer, BadValue), answer
    return answer.sentence


def call(args: Any, id: Any = "1") -> AddReply:
    return AddReply(ADA, (ToolCall(id, "weather", args),))


def test_what_is_right_already_is_not_copied() -> None:
    command = AddReply(ADA, (Text("Yes."), ToolCall("1", "weather")), "m", Usage(5))
    assert through(command) is command


@pytest.mark.parametrize(
    ("args", "stored"),
    [
        ({"city": "Oslo"}, '{"city":"Oslo"}'),
        ({}, "{}"),
        (None, "{}"),
        (["a", 1], '["a",1]'),
        (b'{"a": 1}', '{"a": 1}'),
        ('{"a":   1}', '{"a":   1}'),
        ("not json", "not json"),
        ({"n": {"deep": (1, 2.5, None, True)}}, '{"n":{"deep":[1,2.5,null,true]}}'),
        ({1: "one"}, '{"1":"one"}'),
        ({"half": "a\ud83c"}, '{"half":"a?"}'),
    ],
)
def test_arguments_of_a_tool_call_become_json_text(args: Any, stored: str) -> None:
    assert through(call(args)).parts[0].args == stored


@pytest.mark.parametrize("args", [5, object(), {"a": math.nan}, {"a": object()}, 2.5, {(1,): 2}])
def test_arguments_that_are_no_json_are_refused(args: Any) -> None:
    assert "'parts[0].args' must be" in refused(call(args))


def test_arguments_that_never_end_are_refused() -> None:
    loop: dict[str, object] = {}
    loop["again"] = loop
    assert "serialized as JSON" in refused(call(loop))


def test_a_number_as_the_id_of_a_call_is_the_same_in_its_result() -> None:
    result: Any = 1
    assert through(call("{}", id=1)).parts[0].id == "1"
    assert through(FinishTool(ADA, result, "cold")).tool_call == "1"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (Words("text"), "text"),
        (Colour.RED, "red"),
        (b"bytes", "bytes"),
        (b"caf\xe9", "caf\ufffd"),
        (bytearray(b"array"), "array"),
        ("caf\udce9", "caf?"),
        ("nul \0 stays", "nul \0 stays"),
    ],
)
def test_text_becomes_a_plain_string(given: Any, stored: str) -> None:
    content = through(FinishTool(ADA, "1", given)).content
    assert content == stored
    assert type(content) is str


@pytest.mark.parametrize("given", [["a"], 5, None, object(), {"text": "a"}, 2.5])
def test_what_is_no_text_is_refused(given: Any) -> None:
    sentence = refused(FinishTool(ADA, "1", given))
    assert "'content' must be text" in sentence
    assert "Nothing was changed" in sentence


def test_names_and_folders_hold_no_null_character() -> None:
    folder: Any = Path("some/where")
    started = through(StartAgent(ADA, "a\0b", workspace=Workspace(folder=folder)))
    assert (started.name, started.workspace.folder) == ("a\ufffdb", "some/where")


@pytest.mark.parametrize("bad", ["\ud800", "nul\0"])
def test_a_place_in_a_log_that_no_store_can_hold_is_refused(bad: str) -> None:
    place = EventRef(AgentId(bad), 1)
    turn = TurnRef(AgentId(bad), 1, 1)
    for command in (Load(ADA, place, "text"), Rewind(ADA, before=turn)):
        refused = Gate().command(command)
        assert isinstance(refused, BadValue)
        assert refused.rule == "the id of an agent"


def test_texts_and_mappings_stand_for_parts() -> None:
    prompt: Any = ["plain", {"type": "text", "text": "mapped"}, Note("self", "kept")]
    assert through(StartTurn(ADA, prompt)).prompt == (
        Text("plain"),
        Text("mapped"),
        Note("self", "kept"),
    )


@pytest.mark.parametrize("prompt", ["a text", 5, [5], [None], [{"role": "user"}], {"a"}])
def test_what_is_no_prompt_is_refused(prompt: Any) -> None:
    assert "'prompt" in refused(StartTurn(ADA, prompt))


def test_a_refusal_names_the_place() -> None:
    said: Any = RecordedReply((Text("fine"), Text(["a"])))  # pyright: ignore[reportArgumentType]
    command = RecordTurn(ADA, (Text("hi"),), (RecordedResult("1", "x"), said))
    assert "'items[1].parts[1].text' must be text, and not list" in refused(command)


@pytest.mark.parametrize(("given", "stored"), [(True, 1), (3.0, 3), (7, 7)])
def test_whole_numbers_are_plain_ones(given: Any, stored: int) -> None:
    turns = through(KeepLast(ADA, given)).turns
    assert turns == stored
    assert type(turns) is int


@pytest.mark.parametrize("given", ["5", 3.5, 2**63, -(2**70), 10**400, math.nan, None])
def test_other_numbers_are_refused(given: Any) -> None:
    assert "'turns' must be a whole number" in refused(KeepLast(ADA, given))


@pytest.mark.parametrize("given", [math.nan, math.inf, "0.5", object()])
def test_a_share_is_a_finite_number(given: Any) -> None:
    assert "'score' must be" in refused(Compact(ADA, "all", score=given))


def test_usage_is_never_negative() -> None:
    assert "'usage.output'" in refused(AddReply(ADA, (), usage=Usage(5, -1)))


def test_settings_are_looked_into() -> None:
    levels: Any = (0.1, 0.2)
    change = SettingsChange(levels=levels)
    assert "'change.levels' must be a list of 3" in refused(Configure(ADA, change))


def test_one_of_a_few_words_has_to_be_one_of_them() -> None:
    status: Any = "done"
    assert "one of completed, interrupted, failed" in refused(RecordTurn(ADA, (), status=status))


def test_what_is_no_command_is_refused() -> None:
    nothing: Any = "clear"
    assert "'command' must be one of sapwood.core.commands" in refused(nothing)


def test_who_gives_a_command_is_looked_at_too() -> None:
    gate, boss, late = Gate(), Actor("boss"), 10**20  # pyright: ignore[reportArgumentType]
    assert isinstance(gate.meta(CommandMeta(CommandId("c"), 1, boss)), Refusal)
    assert isinstance(gate.meta(CommandMeta(CommandId("c"), late)), Refusal)
    assert gate.meta(CommandMeta(CommandId("c"), 1)) == CommandMeta(CommandId("c"), 1, HUMAN)


MASKED: dict[str, tuple[Command, Command]] = {
    "a prompt": (
        StartTurn(ADA, (Text(f"Use {SECRET}."), Note("mail", SECRET))),
        StartTurn(ADA, (Text(f"Use {MASK}."), Note("mail", MASK))),
    ),
    "a result": (FinishTool(ADA, "1", SECRET), FinishTool(ADA, "1", MASK)),
    "mail": (Send(ADA, "m", SECRET), Send(ADA, "m", MASK)),
    "a name": (StartAgent(ADA, SECRET), StartAgent(ADA, MASK)),
    "arguments": (call({"key": SECRET}), call(f'{{"key":"{MASK}"}}')),
    "thinking": (
        AddReply(ADA, (Thinking(SECRET, "p", "c2ln"),)),
        AddReply(ADA, (Thinking(MASK, "p", ""),)),
    ),
    "a signature": (
        AddReply(ADA, (Thinking("hm", "p", SECRET),)),
        AddReply(ADA, (Thinking("hm", "p", SECRET),)),
    ),
}


@pytest.mark.parametrize("part", MASKED)
def test_secrets_are_masked_in(part: str) -> None:
    given, stored = MASKED[part]
    assert through(given, Gate(mask_secrets)) == stored


def test_masked_arguments_are_json_if_they_were() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA"
    stored = through(call({"key": key, "more": "x"}), Gate(mask_secrets)).parts[0].args
    assert stored == '{"key":"[secret: private-key]","more":"x"}'


def test_a_command_without_texts_costs_no_masking() -> None:
    def never(text: str) -> str:
        raise AssertionError("asked for nothing")

    assert through(Clear(ADA), Gate(never)) == Clear(ADA)


class Lying(str):
    def __len__(self) -> int:
        return -1


def test_the_size_of_a_command_is_counted_before_it_is_checked() -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    own: dict[str, object] = {}
    own["self"] = own
    assert text_size(StartTurn(ADA, (Text(Lying("a" * 3_000)),))) >= 3_000
    assert text_size(call(deep)) < 100
    assert text_size(call(own)) < 100
    assert text_size(call(bytearray(9_000))) >= 9_000
