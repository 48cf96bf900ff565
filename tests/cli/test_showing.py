"""What a run shows: every word once, on the right stream, in either form."""

import json

import pytest

from sapwood.cli.exit_codes import Exit
from sapwood.cli.output_gate import gated_output
from sapwood.cli.run.run_output import JsonOutput, RunSummary, TextOutput
from sapwood.core.content import Text, ToolCall, Usage
from sapwood.core.events import SYSTEM, Event, Recorded, ReplyAdded, ToolFinished
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.model_calls import Delta

AGENT = AgentId("abc123")


def recorded(event: Event) -> Recorded:
    return Recorded(AGENT, 4, event, 0, SYSTEM, CommandId("c"))


def text(*words: str) -> ReplyAdded:
    return ReplyAdded(tuple(Text(word) for word in words))


def test_streamed_words_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    show = TextOutput(notes=False)
    for piece in ("Forty", "-two"):
        show.delta(AGENT, Delta("text", piece))
    show.event(recorded(text("Forty-two")))
    assert capsys.readouterr().out == "Forty-two\n"


@pytest.mark.parametrize(
    "reply",
    [
        "A👩\u200d💻 می\u200cخواهم",
        "one\r\ntwo ❤\ufe0f\u200d🔥 3\ufe0f\u20e3",
        "hidden\u200d\u200d x\ufe0f \u202eback\x1b[31m \ufe0f\u200d",
        "a\rb\r\r\nc\r",
    ],
)
def test_a_reply_is_printed_alike_wherever_it_is_cut(
    reply: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*pieces: str) -> str:
        with gated_output():
            show = TextOutput(notes=False)
            for piece in pieces:
                show.delta(AGENT, Delta("text", piece))
            show.event(recorded(text(reply)))
        return capsys.readouterr().out

    whole = printed(reply)
    assert all(printed(reply[:at], reply[at:]) == whole for at in range(len(reply) + 1))
    assert printed(*reply) == whole
    assert "\r" not in whole
    assert "\x1b" not in whole


def test_joiners_and_line_ends_that_belong_to_the_text_are_printed_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with gated_output():
        show = TextOutput(notes=False)
        for piece in "👩\u200d💻 می\u200cخواهم\r\n❤\ufe0f":
            show.delta(AGENT, Delta("text", piece))
    assert capsys.readouterr().out == "👩\u200d💻 می\u200cخواهم\n❤\ufe0f"


def test_words_that_another_process_streamed_are_printed_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show = TextOutput(notes=False)
    show.event(recorded(text("Forty-two")))
    assert capsys.readouterr().out == "Forty-two\n"


def test_the_rest_of_an_answer_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show = TextOutput(notes=False)
    show.delta(AGENT, Delta("text", "Forty"))
    show.event(recorded(text("Forty-two")))
    assert capsys.readouterr().out == "Forty-two\n"


def test_an_answer_that_was_begun_again_stands_on_its_own_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show = TextOutput(notes=False)
    show.delta(AGENT, Delta("text", "Fif"))
    show.event(recorded(text("Forty-two")))
    assert capsys.readouterr().out == "Fif\nForty-two\n"


def test_thinking_and_calls_are_not_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    show = TextOutput(notes=False)
    show.delta(AGENT, Delta("thinking", "Hmm."))
    show.delta(AGENT, Delta("call", "{}", "shell"))
    show.event(recorded(ReplyAdded((ToolCall("1", "shell", '{"command": "ls"}'),))))
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_somebody_who_looks_is_told_of_tools_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    show = TextOutput(notes=True)
    show.event(recorded(ReplyAdded((ToolCall("1", "shell", '{"command": "ls"}'),))))
    show.event(recorded(ToolFinished("1", "shell did not run.", error=True)))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert '→ shell {"command": "ls"}' in printed.err
    assert "shell did not run." in printed.err


def test_control_characters_are_shown_in_a_streamed_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show = TextOutput(notes=False)
    show.delta(AGENT, Delta("text", "\x1b[31mred\x07"))
    assert capsys.readouterr().out == "␛[31mred␇"


def test_a_problem_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    TextOutput(notes=False).end(RunSummary(AGENT, Exit.FAILED, Usage(0), "It did not work."))
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "Error: It did not work.\n")


def test_programs_get_a_line_of_json_for_everything(capsys: pytest.CaptureFixture[str]) -> None:
    show = JsonOutput()
    show.delta(AGENT, Delta("text", "Forty"))
    show.event(recorded(text("Forty-two")))
    show.answer("/mark X", "Marked 'X'.")
    show.note("Waiting.")
    show.end(RunSummary(AGENT, Exit.OK, Usage(100, 5)))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["type"] for line in lines] == ["delta", "event", "answer", "note", "end"]
    assert lines[1]["kind"] == "reply.added"
    assert lines[1]["data"]["parts"][0]["text"] == "Forty-two"
    assert lines[4] == {
        "type": "end",
        "agent": "abc123",
        "exit": 0,
        "used": {
            "input": 100,
            "output": 5,
            "cache_read": 0,
            "cache_write": 0,
            "cache_hour": 0,
            "cost_usd": 0.0,
        },
        "blocked": [],
    }
