"""What Anthropic's Messages API refuses, and what it accepts."""

from typing import Any

import pytest

from sapwood.testing.scripted.signing import seal
from tests.testing.scripted.talking import SCHEMA, Tree, complaint, violation

MARK: Tree = {"type": "ephemeral"}
TOOL: Tree = {"name": "weather", "input_schema": SCHEMA}


def user(*blocks: Tree | str) -> Tree:
    return {"role": "user", "content": [_block(block) for block in blocks]}


def model(*blocks: Tree | str) -> Tree:
    return {"role": "assistant", "content": [_block(block) for block in blocks]}


def system(text: str = "rule") -> Tree:
    return {"role": "system", "content": text}


def _block(block: Tree | str) -> Tree:
    return {"type": "text", "text": block} if isinstance(block, str) else block


def use(call: str = "t1", **more: object) -> Tree:
    return {"type": "tool_use", "id": call, "name": "weather", "input": {}, **more}


def result(call: str = "t1", **more: object) -> Tree:
    return {"type": "tool_result", "tool_use_id": call, "content": "-3", **more}


def thinking(text: str = "hm", signed: str | None = None) -> Tree:
    sealed = seal("anthropic", text if signed is None else signed)
    return {"type": "thinking", "thinking": text, "signature": sealed}


def body(*messages: Tree, **more: object) -> Tree:
    given = list(messages) or [user("hello")]
    return {"model": "claude-opus-5-5", "max_tokens": 4000, "messages": given, **more}


def says(request: Tree, **more: Any) -> str:
    return complaint("anthropic", request, **more)


BETA = {"anthropic-beta": "context-management-2025-06-27"}
ENABLED: Tree = {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.parametrize(
    "request_",
    [
        body(),
        body({"role": "user", "content": "text alone"}),
        body(user("a"), user("b"), model("c"), model("d"), user("e")),
        body(user("a"), model(use()), user(result())),
        body(user("a"), model("look", use("a"), use("b")), user(result("b"), result("a"), "so?")),
        body(user("a"), model(use("a"), use("b")), user(result("a")), user(result("b"))),
        body(user("a"), model(thinking(), "b"), user("c")),
        body(user("a"), model({**thinking("", "hm")}, "b"), user("c")),
        body(user("a"), system(), model("b"), user("c"), system("x")),
        body(user("a"), model(use()), user(result(is_error=True, content="no such city"))),
        body(user("a"), model(use()), user(result(content=[_block("-3")]))),
        body(user("a"), model(use()), user({"type": "tool_result", "tool_use_id": "t1"})),
        body(system="rules", tools=[TOOL], tool_choice={"type": "auto"}, temperature=1),
        body(system=[{"type": "text", "text": "rules", "cache_control": MARK}]),
        body(thinking=ENABLED, tools=[TOOL]),
        body(user("a"), model(thinking(), use()), user(result()), thinking=ENABLED),
        body(thinking={"type": "adaptive", "display": "omitted"}),
        body(tools=[{"type": "web_search_20250305", "name": "web_search", "max_uses": 1}]),
        body(metadata={"user_id": "u"}, stop_sequences=["x"], service_tier="auto", top_k=5),
        body(user({**_block("a"), "cache_control": {"type": "ephemeral", "ttl": "1h"}})),
        body(cache_control=MARK),
        body(user("a"), model("The answer is ("), model="claude-sonnet-4-5"),
        body(max_tokens=0),
    ],
)
def test_a_valid_request_passes(request_: Tree) -> None:
    assert says(request_) == ""


@pytest.mark.parametrize("name", ["model", "messages", "max_tokens"])
def test_a_required_field_is_missed(name: str) -> None:
    assert says({k: v for k, v in body().items() if k != name}) == f"{name}: Field required"


def test_the_version_header_is_required() -> None:
    assert "anthropic-version" in says(body(), headers={"anthropic-version": ""})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"reasoning": {}}, "reasoning: Extra inputs are not permitted"),
        ({"context_management": {}}, "context_management: Extra inputs are not permitted"),
        ({"metadata": {"me": 1}}, "metadata.me: Extra inputs are not permitted"),
        ({"max_tokens": "many"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        ({"messages": {}}, "messages: Input should be a valid list"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
        ({"system": 1}, "system: Input should be a valid list"),
        ({"system": [{"type": "image"}]}, "system.0.type: Input should be 'text'"),
        ({"system": [_block("")]}, "system: text content blocks must be non-empty"),
        ({"temperature": 2}, "temperature: range: 0..1"),
    ],
)
def test_the_top_level_is_checked(more: Tree, message: str) -> None:
    assert says({**body(), **more}) == message


def test_fields_in_beta_need_the_header() -> None:
    assert says(body(context_management={"edits": []}), headers=BETA) == ""


def test_counting_takes_other_fields() -> None:
    request = {"model": "m", "messages": [user("a")]}
    assert says(request, action="count") == ""
    assert "max_tokens" in says(body(), action="count")


@pytest.mark.parametrize(
    ("message", "complaint_"),
    [
        ({"role": "tool", "content": "x"}, "messages.0.role: Input should be"),
        ({"role": "user"}, "messages.0.content: Field required"),
        ({"role": "user", "content": "x", "name": "me"}, "messages.0.name: Extra inputs"),
        ({"role": "user", "content": ""}, "messages.0: user messages must have non-empty content"),
        ({"role": "user", "content": []}, "messages.0: user messages must have non-empty content"),
        ({"role": "user", "content": " "}, "text content blocks must contain non-whitespace text"),
        ({"role": "user", "content": 1}, "messages.0.content: Input should be a valid list"),
        (user(""), "messages: text content blocks must be non-empty"),
        (user(" \n"), "messages: text content blocks must contain non-whitespace text"),
        (user({"type": "text"}), "messages.0.content.0.text.text: Field required"),
        (user({**_block("a"), "id": 1}), "messages.0.content.0.text.id: Extra inputs"),
        (user({"type": "smell"}), "messages.0.content.0: Input tag 'smell' found using 'type'"),
        (user(use()), "`tool_use` blocks can only be in `assistant` messages"),
        (user(thinking()), "`thinking` blocks can only be in `assistant` messages"),
        (user({"type": "image", "source": {"type": "ftp"}}), "source: Input should be a valid"),
        (
            user({"type": "image", "source": {"type": "url"}}),
            "messages.0.content.0.image.source.url: Field required",
        ),
    ],
)
def test_a_message_is_checked_alone(message: Tree, complaint_: str) -> None:
    assert complaint_ in says(body(message))


def test_results_are_the_users() -> None:
    assert "`tool_result` blocks can only be in `user` messages" in says(
        body(user("a"), model(result()))
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"id": "a b"}, "tool_use.id: String should match pattern"),
        ({"input": "{}"}, "tool_use.input: Input should be a valid dictionary"),
        ({"index": 0}, "tool_use.index: Extra inputs are not permitted"),
    ],
)
def test_a_call_is_checked(more: Tree, message: str) -> None:
    assert message in says(body(user("a"), model({**use(), **more}), user(result())))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"tool_use_id": ""}, "tool_result.tool_use_id: String should match pattern"),
        ({"is_error": True, "content": ""}, "content cannot be empty if `is_error` is true"),
        ({"content": 1}, "tool_result.content: Input should be a valid list"),
        ({"content": [_block("")]}, "text content blocks must be non-empty"),
        ({"content": [use()]}, "Input tag 'tool_use' is not expected here"),
        ({"name": "weather"}, "tool_result.name: Extra inputs are not permitted"),
    ],
)
def test_a_result_is_checked(more: Tree, message: str) -> None:
    assert message in says(body(user("a"), model(use()), user({**result(), **more})))


def test_the_user_begins() -> None:
    assert says(body(model("a"), user("b"))) == 'messages: first message must use the "user" role'


def test_the_system_prompt_is_no_message() -> None:
    assert "use the top-level `system` parameter" in says(body(system(), user("a")))


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (
            [user("a"), model("b"), system()],
            "messages.2: role 'system' must follow a 'user' message",
        ),
        ([user("a"), system(), user("b")], "messages.1: role 'system' must precede an 'assistant'"),
    ],
)
def test_a_system_message_has_its_places(messages: list[Tree], message: str) -> None:
    assert message in says(body(*messages))


def test_a_system_message_says_something_or_sets_something() -> None:
    empty: Tree = {"role": "system", "content": []}
    assert "must have non-empty content" in says(body(user("a"), empty))
    setting = {**empty, "output_config": {"effort": "low"}}
    assert says(body(user("a"), setting), headers=BETA) == ""


def test_new_models_take_no_prefill() -> None:
    assert "does not support assistant message prefill" in says(body(user("a"), model("b")))


def test_a_prefill_does_not_end_with_a_space() -> None:
    request = body(user("a"), model("b "), model="claude-sonnet-4-5")
    assert "trailing whitespace" in says(request)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (
            [user("a"), model(use()), user("b")],
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after",
        ),
        ([user("a"), model(use("x"), use("y")), user(result("x"))], "immediately after: y"),
        ([user("a"), model(use()), user("first", result())], "immediately after: t1"),
        ([user("a"), model(use()), user("b"), model("c"), user(result())], "unexpected"),
        (
            [user(result())],
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1",
        ),
        ([user("a"), model("b"), user(result())], "unexpected `tool_use_id`"),
        ([user("a"), model(use()), user(result("other"))], "unexpected `tool_use_id`"),
        ([user("a"), model(use()), user(result(), result())], "each tool_use must have a single"),
        ([user("a"), model(use(), use()), user(result())], "`tool_use` ids must be unique"),
        (
            [user("a"), model(use()), user(result()), model(use()), user(result())],
            "`tool_use` ids must be unique",
        ),
    ],
)
def test_calls_and_results_pair_up(messages: list[Tree], message: str) -> None:
    assert message in says(body(*messages))


def test_a_call_at_the_very_end_is_unanswered() -> None:
    request = body(user("a"), model(use()), model="claude-sonnet-4-5")
    assert "immediately after: t1" in says(request)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"type": "thinking", "thinking": "hm"}, "thinking.signature: Field required"),
        ({**thinking(), "signature": "c2ln"}, "Invalid `signature` in `thinking` block"),
        ({**thinking(), "signature": seal("openai", "hm")}, "Invalid `signature`"),
        (thinking("changed", "hm"), "Invalid `signature` in `thinking` block"),
        ({"type": "redacted_thinking", "data": "x"}, "Invalid `data` in `redacted_thinking`"),
        ({**thinking(), "cache_control": MARK}, "thinking.cache_control: Extra inputs"),
    ],
)
def test_thinking_comes_back_as_it_was_signed(block: Tree, message: str) -> None:
    assert message in says(body(user("a"), model(block, "b"), user("c")))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"thinking": {"type": "hard"}}, "thinking: Input tag 'hard'"),
        ({"thinking": {"type": "enabled"}}, "thinking.enabled.budget_tokens: Field required"),
        ({"thinking": {**ENABLED, "budget_tokens": 10}}, "greater than or equal to 1024"),
        ({"thinking": ENABLED, "max_tokens": 1024}, "`max_tokens` must be greater than"),
        ({"thinking": ENABLED, "temperature": 0.5}, "`temperature` may only be set to 1"),
        (
            {"thinking": ENABLED, "tools": [TOOL], "tool_choice": {"type": "any"}},
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        ({"thinking": {"type": "disabled", "budget": 1}}, "thinking.disabled.budget: Extra inputs"),
    ],
)
def test_thinking_is_asked_for_rightly(more: Tree, message: str) -> None:
    assert message in says({**body(), **more})


def test_in_the_midst_of_tool_use_thinking_is_kept() -> None:
    messages = [user("a"), model(use()), user(result())]
    assert "Expected `thinking` or `redacted_thinking`" in says(body(*messages, thinking=ENABLED))
    assert says(body(*messages, model("b"), user("c"), thinking=ENABLED)) == ""


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ({"name": "a b", "input_schema": SCHEMA}, "tools.0.custom.name: String should match"),
        ({"name": "a"}, "tools.0.custom.input_schema: Field required"),
        ({**TOOL, "parameters": {}}, "tools.0.custom.parameters: Extra inputs"),
        ({**TOOL, "input_schema": {}}, "input_schema.type: Input should be 'object'"),
        (
            {**TOOL, "input_schema": {"type": "object", "properties": {"a": {"type": "x"}}}},
            "JSON schema is invalid",
        ),
        ({"type": "magic_2025", "name": "m"}, "tools.0: Input tag 'magic_2025'"),
        ({"type": "bash_20250124"}, "tools.0.bash_20250124.name: Field required"),
    ],
)
def test_a_tool_is_checked(tool: Tree, message: str) -> None:
    assert message in says(body(tools=[tool]))


def test_names_of_tools_are_unique() -> None:
    assert says(body(tools=[TOOL, TOOL])) == "tools: Tool names must be unique."


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"tool_choice": {"type": "auto"}}, "may only be specified while providing tools"),
        ({"tools": [TOOL], "tool_choice": {"type": "must"}}, "Input tag 'must'"),
        ({"tools": [TOOL], "tool_choice": {"type": "auto", "x": 1}}, "tool_choice.auto.x: Extra"),
        (
            {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "other"}},
            "Tool 'other' not found in provided tools",
        ),
    ],
)
def test_the_choice_of_a_tool_is_checked(more: Tree, message: str) -> None:
    assert message in says({**body(), **more})


def marked(count: int) -> Tree:
    return user(*({**_block(f"part {n}"), "cache_control": MARK} for n in range(count)))


def test_four_breakpoints_pass_and_five_do_not() -> None:
    assert says(body(marked(4))) == ""
    assert "A maximum of 4 blocks with cache_control may be provided. Found 5." in says(
        body(marked(4), system=[{**_block("rules"), "cache_control": MARK}])
    )
    assert "Found 5" in says(body(marked(4), cache_control=MARK))


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ({"type": "forever"}, "cache_control.type: Input should be 'ephemeral'"),
        ({"type": "ephemeral", "ttl": "2h"}, "cache_control.ttl: Input should be '5m' or '1h'"),
        ({"type": "ephemeral", "x": 1}, "cache_control.x: Extra inputs are not permitted"),
    ],
)
def test_a_breakpoint_is_checked(mark: Tree, message: str) -> None:
    assert message in says(body(user({**_block("a"), "cache_control": mark})))


def test_longer_lived_breakpoints_come_first() -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    request = body(
        user({**_block("a"), "cache_control": hour}),
        system=[{**_block("rules"), "cache_control": MARK}],
    )
    assert "must not come after a ttl='5m'" in says(request)


def test_an_empty_text_takes_no_breakpoint() -> None:
    block = {**_block(""), "cache_control": MARK}
    assert "cache_control cannot be set for empty text blocks" in says(body(user(block)))


def test_a_violation_is_one_of_the_client() -> None:
    found = violation("anthropic", {})
    assert found is not None
    assert found.status == 400
