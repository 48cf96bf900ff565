"""Scripts in prompts are parsed correctly, with any brackets in them."""

import pytest

from scripted_model.conversation import Text, Thinking, ToolCall
from scripted_model.directives import directives
from scripted_model.prompt_script import ScriptError, parse_script


def values(text: str) -> list[str]:
    return [directive.value for directive in directives(text)]


def parts(text: str) -> list[tuple[object, ...]]:
    return [step.reply.parts for step in parse_script(text).steps]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[say: hello]]", ["hello"]),
        ("before [[say: a]] between [[say: b]] after", ["a", "b"]),
        ("[[say: two\nlines]]", ["two\nlines"]),
        ("[[say: a[0] and b[c[1]]]]", ["a[0] and b[c[1]]"]),
        ("[[say: use [[say: x]] there]]", ["use [[say: x]] there"]),
        (
            "[[say: a lone [ bracket]] [[say: next]] [[say: last]]",
            ["a lone [ bracket", "next", "last"],
        ),
        ("[[say: { and ]] [[say: } ]]", ["{ and", "}"]),
        ('[[say: "any ]] thing"]] [[say: b]]', ['"any ]] thing"', "b"]),
        ('[[tool: run {"code": "a[b[0]] ]]"}]] [[say: b]]', ['run {"code": "a[b[0]] ]]"}', "b"]),
        ('[[tool: task {"prompt": "[[say: sub]] {"}]]', ['task {"prompt": "[[say: sub]] {"}']),
        ('[[tool: t {"list": [[1], [2, [3]]]}]]', ['t {"list": [[1], [2, [3]]]}']),
        ("[[ say : spaced ]]", ["spaced"]),
        ("[[unknown: x]] [x] [[y]]", []),
    ],
)
def test_a_directive_ends_where_its_brackets_do(text: str, expected: list[str]) -> None:
    assert values(text) == expected


def test_text_may_be_a_json_string() -> None:
    assert parts(r'[[say: "two\nlines ]]"]]') == [(Text("two\nlines ]]"),)]


def test_each_say_and_each_tool_is_a_step() -> None:
    assert parts('[[tool: read {"path": "a"}]] [[say: done]]') == [
        (ToolCall("", "read", '{"path":"a"}'),),
        (Text("done"),),
    ]


def test_a_tool_without_arguments_gets_none() -> None:
    assert parts("[[tool: now]]") == [(ToolCall("", "now", "{}"),)]


@pytest.mark.parametrize("gap", [" ", "; ", ",\n"])
def test_several_calls_share_a_message(gap: str) -> None:
    assert parts(f'[[tools: read {{"path": "a"}}{gap}ls{gap}read {{"path": "]]"}}]]') == [
        (
            ToolCall("", "read", '{"path":"a"}'),
            ToolCall("", "ls", "{}"),
            ToolCall("", "read", '{"path":"]]"}'),
        )
    ]


def test_thinking_goes_before_the_next_step() -> None:
    assert parts("[[think: hm [1]]] [[say: yes]]") == [(Thinking("hm [1]"), Text("yes"))]


def test_and_joins_two_steps() -> None:
    assert parts("[[say: Let me look.]] [[and]] [[tool: ls]] [[say: done]]") == [
        (Text("Let me look."), ToolCall("", "ls", "{}")),
        (Text("done"),),
    ]


def test_escaped_quotes_of_a_command_line_are_understood() -> None:
    assert parts(r"[[tool: run {\"code\": \"1\"}]]") == [(ToolCall("", "run", '{"code":"1"}'),)]


def test_usage_holds_from_where_it_is_written() -> None:
    script = parse_script("[[usage: 5]] [[say: a]] [[usage: 9]] [[say: b]]")
    assert [script.step(number).reply.usage for number in range(4)] == [5, 9, 9, 9]


def test_usage_after_the_last_step_holds_for_all() -> None:
    script = parse_script("[[say: a]] [[out: 7]]")
    assert [script.step(number).reply.out for number in range(2)] == [7, 7]


def test_waits_and_faults_belong_to_the_next_step() -> None:
    script = parse_script("[[say: a]] [[sleep: 1.5]] [[stall: 2]] [[cut: 3]] [[say: b]]")
    assert script.step(0).reply_for(0).sleep == 0
    second = script.step(1).reply_for(0)
    assert (second.sleep, second.stall, second.cut) == (1.5, 2, 3)
    assert script.step(2).reply_for(0).cut is None


def test_a_counted_fault_ends_after_its_count() -> None:
    step = parse_script("[[status: 529 x2]] [[say: a]]").step(0)
    assert [step.reply_for(attempt).status for attempt in range(4)] == [529, 529, None, None]


def test_a_fault_without_a_count_never_ends() -> None:
    step = parse_script("[[status: 500]] [[say: a]]").step(0)
    assert step.reply_for(99).status == 500


def test_a_failure_may_come_inside_the_stream() -> None:
    step = parse_script("[[status: 529 x1 at 10]] [[say: a]]").step(0)
    assert (step.reply_for(0).status, step.reply_for(0).at, step.reply_for(1).status) == (
        529,
        10,
        None,
    )


def test_a_fault_after_the_last_step_applies_to_the_next_reply() -> None:
    assert parse_script("Hello [[status: 429]]").step(0).reply_for(0).status == 429


def test_after_its_last_step_a_script_is_done() -> None:
    script = parse_script("[[say: a]]")
    assert [script.step(number).reply.parts for number in (1, 2)] == [(Text("done."),)] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[say: never closed", "is not closed"),
        ("[[usage: many]]", "needs a number"),
        ("[[status: 5]]", "has a wrong form"),
        ("[[cut: here]]", "has a wrong form"),
        ('[[tool: run {"a": }]]', "no valid JSON"),
        ("[[tool: one two]]", "is not of the form"),
        ("[[tool: ]]", "is not of the form"),
    ],
)
def test_a_script_that_cannot_be_read_says_why(text: str, words: str) -> None:
    with pytest.raises(ScriptError, match=words):
        parse_script(text)
