"""Context commands on sessions of Claude Code and Codex that are at rest, from a shell."""

import fcntl
import json
import os
import re
import shlex
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sapwood.api import Sapwood
from sapwood.cli.exit_codes import Exit
from sapwood.core.token_count import Count
from sapwood.hooks import hook_handlers, session_watcher
from sapwood.hooks.background_work import main
from sapwood.hooks.runner import run_hook
from sapwood.hooks.watched_session import WatchedSession
from sapwood.programs.agent_provider import SyncResult
from sapwood.programs.claude_code.provider import ClaudeCodeProvider
from sapwood.tokens.estimators import FeatureCounter
from tests.cli.calling import Database, Sapwooder
from tests.cli.program_sessions import (
    SESSION,
    THREAD,
    boundaries,
    claude_session,
    codex_thread,
    in_view,
    install_claude,
)
from tests.programs.transcripts.writing import ClaudeFile, CodexFile, GeminiFile


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The processes that were asked to wait for the end of a session; none is started."""
    found: list[list[str]] = []

    def start(args: list[str], environ: object, module: str) -> None:
        found.append([module, *args])

    monkeypatch.setattr(session_watcher, "start_process", start)
    return found


@pytest.fixture
def claude(home: Path, monkeypatch: pytest.MonkeyPatch) -> ClaudeFile:
    return claude_session(home, monkeypatch)


@pytest.fixture
def codex(home: Path) -> CodexFile:
    return codex_thread(home)


def test_a_session_is_trimmed_in_place_and_the_trim_is_undone(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    before = claude.path.read_bytes()
    ran = sapwood("clear", "2", "--session", SESSION[:6])
    assert ran.code == Exit.OK, ran.err
    assert ran.out == (
        "Kept the last 2 turns; 2 turns removed from view. To continue, type: claude --resume "
        + SESSION
        + "\n"
    )
    assert len(boundaries(claude.path)[-1]) == 4
    assert in_view(sapwood, SESSION) == ["Ask 3.", "Ask 4."]
    ran = sapwood("undo", "--session", SESSION)
    assert "2 turns back in view" in ran.out
    assert len(boundaries(claude.path)[-1]) == 8
    assert claude.path.read_bytes().startswith(before)
    assert in_view(sapwood, SESSION) == ["Ask 1.", "Ask 2.", "Ask 3.", "Ask 4."]
    assert "1 turn removed from view" not in sapwood("redo", "--session", SESSION).out
    assert in_view(sapwood, SESSION) == ["Ask 3.", "Ask 4."]


def test_messages_name_commands_of_the_shell(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    dropped = sapwood("drop", "2", "--session", SESSION).out
    named = f"--session {SESSION}"
    assert f"sapwood undo {named} or sapwood bring {named} 2 brings it back." in dropped
    unknown = sapwood("rewind", "STRAT", "--session", SESSION)
    assert unknown.code == Exit.FAILED
    assert f"Type sapwood mark {named} NAME to set one." in unknown.err
    newest = sapwood("drop", "3").out
    assert "sapwood undo or sapwood bring 3 brings it back." in newest
    assert "-1 is not a number of turns. Give 1 or more." in sapwood("clear", "-1").err


def test_advice_for_a_named_session_works_as_it_is_printed(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    newer = ClaudeFile(claude.path.parent, "another")
    newer.user("Ask elsewhere.", cwd=str(Path.cwd()))
    newer.says("Answered.")
    for session in (SESSION, str(claude.path)):
        refused = sapwood("drop", "2-4", "--session", session).err
        advised = re.search(r"Type sapwood (drop .*?)\.$", refused.strip())
        assert advised is not None, refused
        ran = sapwood(*shlex.split(advised[1]))
        assert ran.out.startswith("Dropped 2 turns"), ran.err
        back = re.search(r"sapwood (undo .*?) or", ran.out)
        assert back is not None, ran.out
        assert "2 turns back in view" in sapwood(*shlex.split(back[1])).out


def test_a_session_that_cannot_be_changed_can_be_copied_as_it_is_advised(
    sapwood: Sapwooder, tmp_path: Path
) -> None:
    file = GeminiFile(tmp_path)
    for number in range(1, 4):
        file.message(f"u{number}", "user", f"Ask {number}.")
        file.message(f"a{number}", "gemini", f"Answer {number}.")
    refused = sapwood("drop", "2", "--session", str(file.path))
    advised = re.search(r"To continue here, fork it: sapwood (fork \S+)\.$", refused.err.strip())
    assert advised is not None, refused.err
    forked = sapwood(*advised[1].split())
    child = re.search(r"Child: .*?(\w{10})\b", forked.out)
    assert child is not None, forked.err
    assert "2 turns removed from view" in sapwood("clear", "1", "--session", child[1]).out


async def _storks(db: Sapwood) -> None:
    agent = await db.start("storks", id="kept")
    for number in range(1, 5):
        await agent.record(f"Ask {number}.", f"Answer {number}.")


def test_a_conversation_of_sapwood_takes_the_same_commands(
    sapwood: Sapwooder, database: Database
) -> None:
    database(_storks)
    said = {
        ("clear", "1"): "Kept the last turn; 3 turns removed from view.",
        ("undo",): "Undone: ",
        ("drop", "2-3"): "Dropped 2 turns",
        ("mark", "HERE"): "Marked 'HERE'.",
        ("rewind", "4"): "Rewound to just before turn 4.",
        ("edit", "1"): "Change the prompt of turn 1 and send it.",
    }
    for words, sentence in said.items():
        ran = sapwood(*words, "--session", "storks")
        assert ran.code == Exit.OK, ran.err
        assert ran.out.startswith(sentence), ran.out
        assert ("Ask 1." in ran.out) == (words[0] == "edit")  # the prompt to edit
    refused = sapwood("rewind", "99", "--session", "kept")
    assert "There is no turn 99. Type a number from 1 to 4." in refused.err
    again = json.loads(sapwood("undo", "--session", "kept", "--json").out)
    assert (again["agent"], again["session"], again["program"]) == ("kept", "", "")


@pytest.mark.parametrize("command", ["compact", "fork"])
def test_a_command_with_another_form_for_a_conversation_of_sapwood_names_it(
    sapwood: Sapwooder, database: Database, command: str
) -> None:
    database(_storks)
    ran = sapwood(command, "--session", "kept")
    assert ran.code == Exit.NO_SESSION
    assert ran.err.rstrip().endswith(f"in Sapwood, type: sapwood {command} kept")


def test_without_a_name_the_newest_session_of_the_folder_is_meant(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    ran = sapwood("context", "clear", "1")
    assert ran.code == Exit.OK, ran.err
    assert len(boundaries(claude.path)[-1]) == 2
    assert sapwood("undo").code == Exit.OK
    assert len(boundaries(claude.path)[-1]) == 8


def test_a_mark_is_set_and_the_session_goes_back_to_it(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    assert sapwood("mark", "START").out == "Marked 'START'.\n"
    assert boundaries(claude.path) == []
    claude.user("Ask 5.")
    claude.says("Answer 5.")
    ran = sapwood("rewind", "START")
    assert ran.code == Exit.OK, ran.err
    assert "1 turn removed from view" in ran.out
    assert len(boundaries(claude.path)[-1]) == 8


def test_the_texts_of_a_long_session_are_counted_by_its_first_command_alone(
    sapwood: Sapwooder, claude: ClaudeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    count = FeatureCounter.count

    def noted(self: FeatureCounter, text: str) -> Count:
        counted.append(text)
        return count(self, text)

    monkeypatch.setattr(FeatureCounter, "count", noted)
    for number in range(210):
        claude.user(f"Ask {number}.")
        claude.says(f"Answer {number}, which is longer than a text that is counted at once anyway.")

    def long_texts(*command: str) -> int:
        counted.clear()
        assert sapwood(*command).code == Exit.OK
        return sum("Answer" in text and len(text) > 64 for text in counted)

    assert long_texts("clear", "2") >= 210
    assert long_texts("undo") == 0
    assert long_texts("mark", "HERE") == 0


def test_edit_prints_the_prompt(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    ran = sapwood("edit")
    assert ran.out.endswith("\n\nAsk 4.\n")
    assert len(boundaries(claude.path)[-1]) == 6
    told = json.loads(sapwood("edit", "--json").out)
    assert told["prompt"] == "Ask 3."
    assert told["resume"] == f"claude --resume {SESSION}"


def test_a_summary_is_made_by_rules_and_no_model_is_called(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    ran = sapwood("compact", "--session", SESSION, "--keep", "1")
    assert ran.code == Exit.OK, ran.err
    assert "Compacted 3 turns into a summary." in ran.out
    last = json.loads(claude.path.read_text().splitlines()[-1])
    assert last["isCompactSummary"]
    assert "that Sapwood built by rules" in json.dumps(last["message"])
    assert len(boundaries(claude.path)[-1]) == 2


def test_arguments_are_read_from_stdin_as_they_are(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    """As the slash commands of the plugin give them, where no shell may read them."""
    words = '--keep 1 don\'t lose $(the) "names"\n; or the rest'
    ran = sapwood("context", "compact", "-", "--session", SESSION, stdin=f"{words}\n")
    assert ran.code == 0, ran.err
    assert "Compacted 3 turns into a summary." in ran.out
    last = json.loads(claude.path.read_text().splitlines()[-1])
    assert 'don\'t lose $(the) "names" ; or the rest' in str(last["message"]["content"])
    assert sapwood("mark", "-", stdin="START\n").out == "Marked 'START'.\n"
    refused = sapwood("drop", "-", stdin="")
    assert refused.code == Exit.FAILED
    assert "Usage: sapwood drop" in refused.err


@pytest.mark.parametrize("stdin", ["keep the parser:\n", "", "END and more\n", "a\nEND\nb"])
def test_arguments_that_a_program_cut_change_nothing(
    sapwood: Sapwooder, claude: ClaudeFile, stdin: str
) -> None:
    before = claude.path.read_bytes()
    at = ("--session", SESSION)
    ran = sapwood("context", "compact", "-", "--last-line", "END", *at, stdin=stdin)
    assert ran.code == Exit.USAGE
    assert "Nothing was changed. Type them again without ```." in ran.err
    assert claude.path.read_bytes() == before
    assert sapwood("mark", "-", "--last-line", "END", stdin="START\nEND\n").code == 0


def test_a_fork_is_a_new_session_of_the_same_program(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    before = claude.path.read_bytes()
    told = json.loads(sapwood("fork", "--session", SESSION, "--json").out)
    assert told["session"] != SESSION
    other = claude.path.with_name(f"{told['session']}.jsonl")
    assert "Ask 4." in other.read_text()
    assert claude.path.read_bytes() == before
    assert told["resume"] == f"claude --resume {told['session']}"


def test_an_open_session_is_left_alone(sapwood: Sapwooder, claude: ClaudeFile, home: Path) -> None:
    open_sessions = home / ".claude" / "sessions"
    open_sessions.mkdir()
    process = {"pid": os.getpid(), "sessionId": SESSION, "status": "idle"}
    (open_sessions / f"{os.getpid()}.json").write_text(json.dumps(process))
    before = claude.path.read_bytes()
    ran = sapwood("clear", "1")
    assert ran.code == Exit.FAILED
    assert "/exit" in ran.err
    assert claude.path.read_bytes() == before
    assert in_view(sapwood, SESSION) == ["Ask 1.", "Ask 2.", "Ask 3.", "Ask 4."]
    assert sapwood("mark", "HERE").code == Exit.OK


def test_a_change_of_an_open_session_reaches_it_when_it_has_ended(
    sapwood: Sapwooder, claude: ClaudeFile, home: Path
) -> None:
    open_sessions = home / ".claude" / "sessions"
    open_sessions.mkdir()
    mark = open_sessions / f"{os.getpid()}.json"
    mark.write_text(json.dumps({"pid": os.getpid(), "sessionId": SESSION, "status": "idle"}))
    before = claude.path.read_bytes()
    ran = sapwood("context", "clear", "1", "--later")
    assert ran.code == Exit.OK, ran.err
    assert f"type /exit, then claude --resume {SESSION}" in ran.out
    assert claude.path.read_bytes() == before
    not_yet = "Claude Code does not have the last change yet"
    assert not_yet in sapwood("show", SESSION, "--json").err
    assert not_yet in sapwood("context").err
    claude.user("Ask 5.")
    claude.says("Answer 5.")
    mark.unlink()
    watched = WatchedSession(str(claude.path), SESSION, str(Path.cwd()))
    watched.memory.put("ended", 1)
    main(watched.path, SESSION, watched.folder)
    assert len(boundaries(claude.path)[-1]) == 4
    assert in_view(sapwood, SESSION) == ["Ask 4.", "Ask 5."]
    assert not_yet not in sapwood("context").err
    main(watched.path, SESSION, watched.folder)
    assert len(boundaries(claude.path)) == 1


def test_a_thread_of_codex_is_trimmed_and_the_trim_is_undone(
    sapwood: Sapwooder, codex: CodexFile
) -> None:
    before = codex.path.read_bytes()
    ran = sapwood("clear", "1", "--session", THREAD)
    assert ran.code == Exit.OK, ran.err
    assert ran.out.endswith(f"To continue, type: codex resume {THREAD}\n")
    rows = [json.loads(line) for line in codex.path.read_text().splitlines()]
    kept = next(row for row in reversed(rows) if row["type"] == "compacted")
    assert "Ask 3." in json.dumps(kept)
    assert "Ask 2." not in json.dumps(kept)
    assert sapwood("undo", "--session", THREAD).code == Exit.OK
    assert codex.path.read_bytes().startswith(before)
    assert in_view(sapwood, THREAD) == ["Ask 1.", "Ask 2.", "Ask 3."]


@pytest.mark.parametrize("typed", [("undo",), ("context", "undo"), ("context", "estimate")])
def test_a_folder_without_a_session_is_told_what_to_do(
    sapwood: Sapwooder, claude: ClaudeFile, tmp_path: Path, typed: tuple[str, ...]
) -> None:
    """What is told works when it is typed: the options exist, and take a transcript."""
    here = claude.path.rename(tmp_path / "a transcript.jsonl")
    ran = sapwood(*typed)
    assert ran.code == Exit.NO_SESSION
    options = re.findall(r"(--\w+) (?:ID|FILE)", ran.err)
    assert options == ["--session", "--session"]
    for option in options:
        again = sapwood(*typed, option, str(here))
        assert again.code != Exit.USAGE, again.err
        assert again.code != Exit.NO_SESSION, again.err


@pytest.mark.parametrize(
    "typed", [("undo", "--session"), ("restore", "--to", "codex"), ("continue", "--with", "codex")]
)
def test_an_unknown_session_is_answered_without_options_that_the_command_does_not_have(
    sapwood: Sapwooder, typed: tuple[str, ...]
) -> None:
    ran = sapwood(*typed, "unknown")
    assert ran.code == Exit.NO_SESSION
    assert "sapwood agents --all" in ran.err
    assert "--transcript" not in ran.err


def test_nothing_to_undo_is_refused_and_changes_nothing(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    before = claude.path.read_bytes()
    ran = sapwood("undo")
    assert ran.code == Exit.FAILED
    assert claude.path.read_bytes() == before


def test_a_command_that_changes_nothing_writes_no_session(
    sapwood: Sapwooder, claude: ClaudeFile, home: Path
) -> None:
    install_claude(home, "2.1.999")
    ran = sapwood("clear", "9", "--session", SESSION)
    assert ran.code == Exit.OK, ran.err
    assert (
        ran.out
        == f"Nothing to trim: 4 turns in view. To continue, type: claude --resume {SESSION}\n"
    )
    assert list(claude.path.parent.glob("*.jsonl")) == [claude.path]
    assert not boundaries(claude.path)


def test_a_new_session_is_announced_in_whole_sentences(
    sapwood: Sapwooder, claude: ClaudeFile, home: Path
) -> None:
    install_claude(home, "2.1.999")
    ran = sapwood("clear", "1", "--session", SESSION)
    assert ran.code == Exit.OK, ran.err
    assert "Not carried" not in ran.out
    assert ".." not in ran.out
    assert "with the output of `sapwood programs`. It continues in a new session" in ran.out
    [new] = [path for path in claude.path.parent.glob("*.jsonl") if path != claude.path]
    assert f"To continue, type: claude --resume {new.stem}\n" in ran.out


@contextmanager
def open_in_codex(home: Path) -> Generator[None]:
    """Codex has the session open in the block."""
    lock = home / ".codex" / "thread-writer-locks" / f"{THREAD}.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def test_a_session_without_hooks_is_changed_by_a_process_that_waits_for_its_end(
    sapwood: Sapwooder, codex: CodexFile, home: Path, started: list[list[str]]
) -> None:
    with open_in_codex(home):
        before = codex.path.read_bytes()
        ran = sapwood("clear", "1", "--session", THREAD, "--later")
        assert ran.code == Exit.OK, ran.err
        assert "This takes effect when you close the session" in ran.out
        assert codex.path.read_bytes() == before
    [[module, agent, session]] = started
    assert (module, session) == ("sapwood.hooks.session_watcher", THREAD)
    assert session_watcher.main(agent, session)
    assert '"compacted"' in codex.path.read_text()[len(before) :]
    assert not session_watcher.main(agent, session), "nothing is left to do"


def test_no_process_waits_where_a_hook_runs_or_nothing_changed(
    sapwood: Sapwooder, codex: CodexFile, home: Path, started: list[list[str]]
) -> None:
    assert sapwood("install", "codex", "--yes").code == Exit.OK
    ran = sapwood("clear", "9", "--session", THREAD, "--later")
    assert ran.out == "Nothing to trim: 3 turns in view.\n"
    watched = WatchedSession(str(codex.path), THREAD, str(Path.cwd()))
    watched.memory.put("transcript", str(codex.path))
    with open_in_codex(home):
        assert sapwood("clear", "1", "--session", THREAD, "--later").code == Exit.OK
    assert not started


def test_a_session_that_its_program_deleted_is_put_back_with_its_id(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    sapwood("import")
    claude.path.unlink()
    restored = sapwood("restore", SESSION, "--to", "claude-code").out
    assert restored.startswith("Claude Code has the session again: 4 turns in view.\n")
    assert restored.endswith(f"To continue, type: claude --resume {SESSION}\n")
    rows = [json.loads(line) for line in claude.path.read_text().splitlines()]
    asked = [row["message"]["content"] for row in rows if row["type"] == "user"]
    assert [f"Ask {number}." in str(each) for number, each in enumerate(asked, 1)] == [True] * 4
    assert sapwood("import").out == "Nothing to import. 1 had nothing new.\n"
    assert "4 turns" in sapwood("report").out


def test_a_session_that_sapwood_had_changed_is_put_back_with_the_programs_own_rows(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    assert sapwood("clear", "3", "--session", SESSION).code == Exit.OK
    claude.user("<command-name>/exit</command-name>")
    claude.user("<local-command-stdout>Bye!</local-command-stdout>")
    claude.user("Ask 5.")
    claude.says("Answer 5.")
    main(str(claude.path), SESSION, str(Path.cwd()))
    claude.path.unlink()
    assert "4 turns" in sapwood("restore", SESSION, "--to", "claude-code").out
    restored = claude.path.read_text()
    assert "<local-command-stdout>Bye!" in restored
    assert "[From the program" not in restored
    assert sapwood("undo", "--session", SESSION).code == Exit.OK
    rows = [json.loads(line) for line in claude.path.read_text().splitlines()]
    [first] = [row for row in rows if "Ask 1." in str(row.get("message"))]
    assert first["uuid"] == f"{SESSION}-0"


def test_a_thread_that_codex_deleted_is_put_back_without_codex(
    sapwood: Sapwooder, codex: CodexFile, home: Path
) -> None:
    sapwood("import")
    codex.event("task_started")
    codex.user("Ask 4.")
    codex.says("Answer 4.")
    codex.event("task_complete")
    assert in_view(sapwood, THREAD) == ["Ask 1.", "Ask 2.", "Ask 3.", "Ask 4."]
    codex.path.unlink()
    restored = sapwood("restore", THREAD, "--to", "codex").out
    assert restored.startswith("Codex has the session again: 4 turns in view.\n")
    assert restored.endswith(f"To continue, type: codex resume {THREAD}\n")
    (path,) = (home / ".codex" / "sessions").rglob(f"*{THREAD}.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[0]["payload"]["id"] == THREAD
    said = [row["payload"]["message"] for row in rows if row["type"] == "event_msg"]
    assert said == [f"{who} {n}." for n in (1, 2, 3, 4) for who in ("Ask", "Answer")]
    assert sapwood("import").out == "Nothing to import. 1 had nothing new.\n"


def test_a_session_that_was_opened_before_its_change_says_so(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    watched = WatchedSession(str(claude.path), SESSION, str(Path.cwd()))
    watched.memory.put("transcript", str(claude.path))
    assert sapwood("clear", "1", "--session", SESSION, "--later").code == Exit.OK
    told = resumed(claude)
    assert "opened before your last change reached it" in told
    assert told.endswith(f"Type /exit, wait 3 seconds, then type: claude --resume {SESSION}")
    assert sapwood("undo", "--session", SESSION).code == Exit.OK
    assert resumed(claude) == "", "the session has what was requested"


def test_a_session_that_was_changed_while_it_was_opened_says_so(
    sapwood: Sapwooder, claude: ClaudeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_watcher.record_change(SESSION)
    monkeypatch.setattr(os, "getppid", os.getpid)  # this process was started before the change
    monkeypatch.setattr(hook_handlers, "_OPENING_SECONDS", 1e9)
    assert "changed while it was being opened" in resumed(claude)
    monkeypatch.setattr(hook_handlers, "_OPENING_SECONDS", 0.0)
    assert resumed(claude) == "", "it was changed long before"


def resumed(claude: ClaudeFile) -> str:
    """What the hook at the start of the session tells the user."""
    given = {"session_id": SESSION, "transcript_path": str(claude.path), "source": "resume"}
    output = run_hook("session-start", json.dumps(given).encode())
    return str(json.loads(output)["systemMessage"]) if output else ""


@pytest.mark.parametrize("command", ["clear 1 --session", "fork --session"])
def test_a_program_that_is_started_for_a_change_is_ended(
    sapwood: Sapwooder, claude: ClaudeFile, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    steps: list[str] = []
    sync_session, close = ClaudeCodeProvider.sync_session, ClaudeCodeProvider.close

    async def syncs(self: ClaudeCodeProvider, *args: Any) -> SyncResult:
        steps.append("sync")
        return await sync_session(self, *args)

    async def closes(self: ClaudeCodeProvider, *args: Any) -> None:
        steps.extend(["close"] if not args else [])  # all sessions
        await close(self, *args)

    monkeypatch.setattr(ClaudeCodeProvider, "sync_session", syncs)
    monkeypatch.setattr(ClaudeCodeProvider, "close", closes)
    assert sapwood(*command.split(), SESSION).code == Exit.OK
    assert steps == ["sync", "close"]
