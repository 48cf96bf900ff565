"""Claude Code and Codex as executors, from the command line. The programs are fakes."""

import json
from collections.abc import Sequence

import pytest

from sapwood.programs.registry import programs_with
from tests.cli.calling import Ran, Sapwooder
from tests.turns.fake_provider import FakeProgram, Says, Step, Uses, fake_programs


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> dict[str, FakeProgram]:
    """The fakes by name, in place of the real providers. Two of them are installed."""
    fakes = fake_programs()

    def make(program: str, *_: object, **__: object) -> FakeProgram:
        return fakes[program]

    for module in (
        "sapwood.programs.installed_programs",
        "sapwood.app.program_access",
        "sapwood.context_actions.session_continuation",
        "sapwood.doctor.program_checks",
    ):
        monkeypatch.setattr(f"{module}.make_provider", make)
    return fakes


def test_a_program_answers_without_an_api_key_and_goes_on(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    ran = sapwood("run", "--with", "claude-code", "--agent", "demo", "--new", "-p", "Hello!")
    assert ran == Ran(0, "heard Hello!\n", "")
    assert sapwood("run", "--agent", "demo", "-p", "More.").out == "heard More.\n"
    assert programs["claude-code"].sent[-1] == ["Hello!", "heard Hello!", "More."]


def test_a_conversation_changes_its_program_and_what_was_said_goes_with_it(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    sapwood("run", "--with", "claude-code", "--agent", "demo", "--new", "-p", "Hello!")
    sapwood("run", "--with", "codex:gpt-5-codex", "--agent", "demo", "-p", "More.")
    assert programs["codex"].sent[-1] == ["Hello!", "heard Hello!", "More."]
    assert programs["codex"].options[-1].model == "gpt-5-codex"


def test_a_missing_program_and_a_missing_login_say_what_to_type(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    programs["codex"].installed = False
    missing = sapwood("run", "--with", "codex", "-p", "Hello!")
    assert missing.code != 0
    assert "Codex is not installed. Install it with: npm install -g @openai/codex" in missing.err
    programs["claude-code"].logged_in = False
    out = sapwood("run", "--with", "claude-code", "-p", "Hello!")
    assert out.code != 0
    assert "Claude Code is not logged in. Log in with: claude, then /login" in out.err
    assert programs["claude-code"].sent == []


def test_a_program_can_be_the_configured_model(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    assert sapwood("config", "set", "model", "codex").code == 0
    assert sapwood("run", "-p", "Hello!").out == "heard Hello!\n"
    told = sapwood("doctor", "--offline").out
    assert "Codex runs the turns" in told
    assert "1.0 can run turns: sapwood --with codex" in " ".join(told.split())


def test_doctor_proposes_a_program_that_is_installed_and_logged_in(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    def proposed() -> str:
        found = map(json.loads, sapwood("doctor", "--offline", "--json").out.splitlines())
        return next(each["then"] for each in found if each["topic"] == "model")

    assert proposed() == "sapwood config set model claude-code"
    programs["claude-code"].logged_in = False
    assert proposed() == "sapwood config set model codex"
    programs["codex"].installed = False
    assert proposed() == "sapwood config set model claude-sonnet-5-5"


def test_a_question_that_nobody_can_answer_is_denied_with_the_rule_that_allows_it(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    def plan(heard: str) -> Sequence[Step]:
        return [Uses("Bash", '{"command": "make test"}', asks="make test"), Says("Tried.")]

    programs["claude-code"].plan = plan
    ran = sapwood("run", "--with", "claude-code", "-p", "Test it.")
    assert ran.code == 9
    assert "--allow 'shell(make test)'" in ran.err
    allowed = ("--allow", "shell(make test)")
    assert sapwood("run", "--with", "claude-code", "-p", "Test it.", *allowed).code == 0


def test_a_context_command_reaches_the_session_at_rest_at_once(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    claude = programs["claude-code"]
    for prompt in ("One.", "Two."):
        new = () if claude.sent else ("--new",)
        sapwood("run", "--with", "claude-code", "--agent", "demo", *new, "-p", prompt)
    [session] = claude.sessions
    sapwood("do", "demo", "/clear 1")
    assert claude.sessions[session] == ["Two.", "heard Two."]
    sapwood("do", "demo", "/undo")
    assert claude.sessions[session] == ["One.", "heard One.", "Two.", "heard Two."]
    claude.busy = True
    ran = sapwood("do", "demo", "/clear 1")
    assert ran.code != 0
    assert "Close it there." in ran.err
    claude.busy = False
    sapwood("run", "--agent", "demo", stdin="/clear 1\n\nThree.\n")
    assert claude.sent[-1] == ["Two.", "heard Two.", "Three."]


def test_a_session_continues_in_the_other_program_and_stays_as_it_is(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    sapwood("run", "--with", "claude-code", "--agent", "demo", "--new", "-p", "Hello!")
    programs["codex"].loss = "1 image was left out."
    ran = sapwood("continue", "demo", "--with", "codex", "--name", "there")
    assert ran.code == 0
    [session] = programs["codex"].sessions
    assert f"codex resume {session}" in ran.out
    assert "\n1 image was left out.\n" in ran.out
    assert programs["codex"].sessions[session] == ["Hello!", "heard Hello!"]
    assert sapwood("run", "--agent", "there", "-p", "More.").out == "heard More.\n"
    assert programs["codex"].sent[-1] == ["Hello!", "heard Hello!", "More."]
    back = sapwood("continue", "there", "--with", "claude-code", "--name", "back")
    assert back.code == 0
    assert list(programs["claude-code"].sessions.values())[-1] == [
        *("Hello!", "heard Hello!"),
        *("More.", "heard More."),
    ]


def test_a_child_may_have_another_program_than_its_parent(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    sapwood("run", "--with", "claude-code", "--agent", "demo", "--new", "-p", "Hello!")
    script = "/fork --with codex -- Find the leak.\n"
    assert sapwood("run", "--agent", "demo", stdin=script).code == 0
    assert "Find the leak." in programs["codex"].sent[-1][-1]
    assert programs["codex"].sent[-1][:2] == ["Hello!", "heard Hello!"]
    sapwood("do", "demo", "/check-mail")
    sapwood("run", "--agent", "demo", "-p", "What did it find?")
    prompt = programs["claude-code"].sent[-1][-1]
    assert "heard Find the leak." in prompt
    assert "carry no authority" in prompt


def test_a_summary_is_written_by_the_program_in_a_session_of_its_own(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    claude = programs["claude-code"]
    long = "Tell me about the tests. " * 40
    sapwood("run", "--with", "claude-code", "--agent", "demo", "--new", "-p", long)
    [session] = claude.sessions

    def summary(heard: str) -> Sequence[Step]:
        return [Says("The user asked about the tests.")]

    claude.plan = summary
    ran = sapwood("compact", "demo", "--anyway")
    assert ran.code == 0, ran.err
    assert len(claude.sessions) == 2
    [shown] = [text for text in claude.sessions[session] if "asked about the tests" in text]
    assert shown.startswith("[Summary of the conversation before this point")


def test_the_table_of_programs_says_whose_sessions_are_changed_in_place(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    programs["codex"].reason = "The sessions of Codex are not changed in place, because it is odd."
    ran = sapwood("programs")
    claude, codex = ran.out.splitlines()[1:3]
    assert claude.split()[:4] == ["claude-code", "1.0", "in", "place"]
    assert codex.split()[:4] == ["codex", "1.0", "new", "session"]
    assert "because it is odd." in " ".join(ran.out.split())
    found = [json.loads(line) for line in sapwood("programs", "--json").out.splitlines()]
    assert [each["in_place"] for each in found] == [True, False]


def test_without_programs_the_table_says_so(
    sapwood: Sapwooder, programs: dict[str, FakeProgram]
) -> None:
    for each in programs.values():
        each.installed = False
    titles = ", ".join(each.title for each in programs_with("provider"))
    assert sapwood("programs").out == f"None of these programs is installed: {titles}.\n"
