"""The proof on real sessions: the parts that can be tested without the programs."""

import re
from pathlib import Path

import pytest

from proofs.providers_e2e import support_table
from proofs.providers_e2e.act_checks import Act, ActChecks, acts_printed
from proofs.providers_e2e.conversation import turn, whole
from proofs.providers_e2e.driven_story import ACTS, title_of
from proofs.providers_e2e.sent_history import history_in, view_of, words
from proofs.providers_e2e.support_table import PAGE, write_acts

PINS = Path(__file__).parents[2] / "proofs" / "agents_e2e" / "requirements.in"


def test_a_request_is_read_part_by_part_and_what_is_unknown_stays() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "echo result-1"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "result-1"}
    body = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x"}]},
            {"role": "user", "content": turn("claude-code", "TURN1")},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [{"type": "text", "text": "ANSWER1"}]},
            {"role": "user", "content": "What is left over"},
        ]
    }
    assert words(history_in(body)) == [*whole("TURN1"), "What is left over"]


def test_codex_and_our_own_view_have_the_same_short_form() -> None:
    prompt = turn("codex", "TURN1")
    body = {
        "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
            {"role": "user", "content": [{"type": "input_text", "text": prompt}]},
            {"type": "reasoning", "summary": "hm"},
            {"type": "function_call", "call_id": "c", "arguments": '{"cmd":"echo result-1"}'},
            {"type": "function_call_output", "call_id": "c", "output": "Output:\nresult-1\n"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "ANSWER1"}]},
        ]
    }
    shown = {
        "messages": [
            {"role": "user", "parts": [{"type": "text", "text": prompt}]},
            {"role": "assistant", "parts": [{"type": "call", "args": "echo result-1"}]},
            {"role": "user", "parts": [{"type": "result", "content": "result-1"}]},
            {"role": "assistant", "parts": [{"type": "text", "text": "ANSWER1"}]},
        ]
    }
    assert words(history_in(body)) == view_of(shown) == whole("TURN1")


def test_a_check_belongs_to_its_act() -> None:
    assert checked().acts == [Act("codex", "A clear", 1, 1)]


def test_an_interrupted_run_has_the_acts_that_ended(capsys: pytest.CaptureFixture[str]) -> None:
    checks = checked()
    checks.begin("codex", "A rewind")
    checks.expect("three", True)
    assert acts_printed(capsys.readouterr().out.splitlines()) == checks.acts[:1]


def test_the_page_keeps_the_columns_of_programs_that_did_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("")
    monkeypatch.setattr(support_table, "PAGE", page)
    write_acts([Act("claude-code", "A clear", 2)], {"claude-code": "2"}, some=False)
    write_acts(checked().acts, {"codex": "1"}, some=True)
    assert "| act | Claude Code 2 | Codex 1 |" in page.read_text()
    assert "| A clear | 2 of 2 checks | 1 of 2 checks |" in page.read_text()


def checked() -> ActChecks:
    checks = ActChecks()
    checks.begin("codex", "A clear")
    checks.expect("one", True)
    checks.expect("two", False)
    return checks


def test_the_page_is_of_the_pinned_versions_and_has_every_act() -> None:
    page = PAGE.read_text()
    for pinned in re.findall(r"# ((?:Claude Code|Codex) [\d.]+)", PINS.read_text()):
        assert f" {pinned} |" in page
    for act in ACTS:
        [row] = re.findall(rf"^\| {re.escape(title_of(act))} \|(.*)\|$", page, re.MULTILINE)
        assert " checks" in row
    for passed, total in re.findall(r"(\d+) of (\d+) checks", page):
        assert passed == total
