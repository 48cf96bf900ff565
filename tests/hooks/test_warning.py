"""A warning comes once for each level, and only with figures that are known."""

import os
from pathlib import Path

import pytest

from sapwood.analysis.chapters.chapter_builder import chapters_of
from sapwood.analysis.prune_advice import advise_pruning
from sapwood.context_actions.session_finder import read_transcript
from sapwood.core.token_count import Count, show
from sapwood.programs.installation.file_edits import apply_edits
from sapwood.programs.installation.project_settings import plan_project
from sapwood.programs.registry import program
from sapwood.testing.claude_transcript import ClaudeTranscript
from sapwood.tokens.counters import counter_for
from tests.hooks.conftest import HookCaller

WINDOW = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "133000"}  # Claude Code compacts at 100,000 then


@pytest.fixture
def with_window(caller: HookCaller) -> HookCaller:
    caller.environ |= WINDOW
    return caller


def grow(talk: ClaudeTranscript, used: int) -> ClaudeTranscript:
    return talk.ask("More?").say("More.", used=used)


def test_a_quiet_window_says_nothing(with_window: HookCaller) -> None:
    assert with_window.call("user-prompt-submit", grow(with_window.transcript(), 49_000)) is None


def test_a_full_window_warns_the_person_and_the_model(with_window: HookCaller) -> None:
    answer = with_window.call("user-prompt-submit", grow(with_window.transcript(), 70_000))
    assert answer["systemMessage"].startswith("Sapwood: Context at 70 % of 100k tokens.")
    assert "/compact now frees ~" in answer["hookSpecificOutput"]["additionalContext"]
    assert with_window.entries()[-1].kind == "warned"


def test_each_level_is_told_once(with_window: HookCaller) -> None:
    talk = with_window.transcript()
    told = [
        with_window.call("user-prompt-submit", grow(talk, used)) is not None
        for used in (51_000, 60_000, 66_000, 70_000, 86_000, 99_000)
    ]
    assert told == [True, False, True, False, True, False]


def test_after_a_compaction_the_levels_begin_anew(with_window: HookCaller) -> None:
    talk = grow(with_window.transcript(), 70_000)
    assert with_window.call("user-prompt-submit", talk)
    with_window.call("pre-compact", talk)
    grow(talk.compact("A summary."), 70_000)
    assert with_window.call("user-prompt-submit", talk)


def test_an_unknown_window_is_no_reason_to_guess(caller: HookCaller) -> None:
    assert caller.call("user-prompt-submit", grow(caller.transcript(), 900_000)) is None


def test_the_status_line_tells_the_window_to_the_hook(caller: HookCaller) -> None:
    talk = grow(caller.transcript(), 170_000)
    figures = {"total_input_tokens": 170_000, "context_window_size": 200_000}
    caller.call_raw("status-line", talk, context_window=figures)
    answer = caller.call("user-prompt-submit", talk)
    assert "85 % of 200k" in answer["systemMessage"]


def test_large_results_are_named_with_their_tokens(with_window: HookCaller) -> None:
    talk = with_window.transcript().ask("Read it.")
    talk.call("Read", {"file_path": "/srv/wood/legacy.py"}, "def heron():\n" * 1_400).say("Done.")
    talk.ask("More?").say("More.").ask("More?").say("More.", used=70_000)
    warning = with_window.call("user-prompt-submit", talk)["systemMessage"]
    session = read_transcript(talk.path)
    counter = counter_for(session.model)
    advice = advise_pruning(session, counter, chapters_of(session, counter))
    (item,) = advice.items  # what `sapwood context prune` lists
    shown = show(Count(item.tokens, exact=False))
    assert f"`sapwood context prune` lists takes {shown} tokens: legacy.py ({shown})" in warning


def test_a_resumed_session_is_warned_again_at_its_first_prompt(with_window: HookCaller) -> None:
    talk = grow(with_window.transcript(), 70_000)
    assert with_window.call("user-prompt-submit", talk)
    assert with_window.call("user-prompt-submit", talk) is None
    assert with_window.call("session-start", talk, source="resume") is None
    assert "70 %" in with_window.call("user-prompt-submit", talk)["systemMessage"]


def test_context_shows_the_window_of_the_hook_and_the_status_line(caller: HookCaller) -> None:
    caller.environ |= {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}  # it compacts at 67,000
    talk = grow(caller.transcript(), 60_000)
    figures = {"total_input_tokens": 60_000, "context_window_size": 200_000}
    assert b"60k of 67k" in caller.call_raw("status-line", talk, context_window=figures)
    assert "of 67k tokens" in caller.call("user-prompt-submit", talk)["systemMessage"]
    assert read_transcript(talk.path).window == 67_000


def test_levels_are_those_of_the_configuration(with_window: HookCaller) -> None:
    (with_window.home / "config.toml").write_text("[context]\nlevels = [0.9, 0.95, 0.99]\n")
    talk = with_window.transcript()
    assert with_window.call("user-prompt-submit", grow(talk, 89_000)) is None
    assert with_window.call("user-prompt-submit", grow(talk, 91_000))


def test_a_subagents_prompt_warns_nobody(with_window: HookCaller) -> None:
    talk = grow(with_window.transcript(), 70_000)
    with_window.call("stop", talk)
    assert with_window.call("user-prompt-submit", talk, agent_id="a1") is None


def test_codex_compacts_where_its_user_set_it(caller: HookCaller, tmp_path: Path) -> None:
    from sapwood.context_actions.hook_memory import HookMemory
    from sapwood.hooks.status_line import compaction_limit

    (tmp_path / "config.toml").write_text("a = 1\nmodel_auto_compact_token_limit = 60_000\n")
    memory = HookMemory(str(tmp_path), "s1")
    environ = {"CODEX_HOME": str(tmp_path)}
    assert compaction_limit("codex", 100_000, memory, environ, "") == 60_000
    assert compaction_limit("codex", 50_000, memory, environ, "") == 50_000
    assert compaction_limit("claude-code", None, memory, environ, "") is None


@pytest.fixture
def project(tmp_path: Path) -> str:
    """A folder in which Claude Code compacts at 100,000 tokens, and only if its user is asked."""
    folder = tmp_path / "a project"
    for name, value in (("at", 100_000), ("automatic", "ask")):
        apply_edits(list(plan_project(program("claude-code"), folder, name, value).edits))
    return str(folder)


def test_a_project_has_its_own_limit_in_the_status_line_and_in_warnings(
    caller: HookCaller, project: str
) -> None:
    talk = grow(caller.transcript(), 95_000)
    figures = {"total_input_tokens": 95_000, "context_window_size": 200_000}
    places = {"cwd": "/srv/wood", "workspace": {"project_dir": project}}
    assert b"95k of 100k, 95%" in caller.call_raw(
        "status-line", talk, context_window=figures, **places
    )
    message = caller.call("user-prompt-submit", talk, cwd=project)["systemMessage"]
    assert message.startswith("Sapwood: Context at 95 % of 100k tokens.")
    assert message.endswith("Automatic compaction is off. To compact now, type: /compact")
    assert read_transcript(talk.path).window == 100_000


def test_a_project_that_is_worked_on_in_a_subfolder_has_the_same_limit(
    caller: HookCaller, project: str
) -> None:
    caller.environ["CLAUDE_PROJECT_DIR"] = project
    talk = grow(caller.transcript(), 95_000)
    message = caller.call("user-prompt-submit", talk, cwd=f"{project}/src")["systemMessage"]
    assert "95 % of 100k" in message
    assert message.endswith("type: /compact")


def test_another_project_is_not_concerned(with_window: HookCaller, project: str) -> None:
    (with_window.home / "config.toml").write_text('[compaction]\nautomatic = "on"\n')
    talk = grow(with_window.transcript(), 95_000)
    message = with_window.call("user-prompt-submit", talk, cwd=f"{project} two")["systemMessage"]
    assert "type: /compact" not in message


def test_codex_compacts_where_it_is_set_for_a_project(caller: HookCaller, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (tmp_path / "config.toml").write_text("model_auto_compact_token_limit = 60_000\n")
    apply_edits(list(plan_project(program("codex"), folder, "at", 40_000).edits))
    environ = {"CODEX_HOME": str(tmp_path)}
    limit = program("codex").hooks.compaction_limit
    assert limit(environ, str(folder)) == 40_000
    assert limit(environ, str(tmp_path)) == 60_000


def test_the_summariser_of_claude_code_gets_what_must_be_kept(caller: HookCaller) -> None:
    talk = caller.transcript().ask("Fix the heron module.").say("Fixed.", used=5_000)
    caller.call("stop", talk)
    assert caller.call_raw("pre-compact", talk, trigger="manual") == b""
    (caller.home / "config.toml").write_text('[compaction]\nkeep = "the names of the endpoints"\n')
    told = caller.call_raw("pre-compact", talk, trigger="manual").decode()
    assert told.startswith("The summary must keep the following, word for word:\n")
    assert "the names of the endpoints" in told


def test_with_ask_the_last_warning_asks_to_compact(with_window: HookCaller) -> None:
    (with_window.home / "config.toml").write_text('[compaction]\nautomatic = "ask"\n')
    talk = with_window.transcript()
    early = with_window.call("user-prompt-submit", grow(talk, 70_000))["systemMessage"]
    late = with_window.call("user-prompt-submit", grow(talk, 90_000))["systemMessage"]
    assert "type: /compact" not in early
    assert late.endswith("To compact now, type: /compact")


@pytest.mark.parametrize("value", ["_", "0", "9" * 5_000, "9_" * 3_000])
@pytest.mark.parametrize(
    ("name", "file", "setting"),
    [
        ("codex", ".codex/config.toml", "model_auto_compact_token_limit = {}\n"),
        ("claude-code", ".claude/settings.local.json", '{{"autoCompactWindow": {}}}'),
    ],
)
def test_a_value_in_a_projects_file_that_is_no_limit_switches_no_warning_off(
    tmp_path: Path, name: str, file: str, setting: str, value: str
) -> None:
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text(setting.format(value))
    environ = {"HOME": str(tmp_path / "home")}
    assert program(name).hooks.compaction_limit(environ, str(tmp_path)) is None


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_projects_file_that_is_no_regular_file_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    environ = {"HOME": str(tmp_path / "home")}
    assert program("codex").hooks.compaction_limit(environ, str(tmp_path)) is None
