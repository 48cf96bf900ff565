"""Changes that are given with `--later`: what became of them when the session was closed."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapwood.cli.exit_codes import Exit
from sapwood.core.model_calls import Failure
from sapwood.hooks import background_work, session_watcher, watched_session
from sapwood.hooks.runner import run_hook
from sapwood.hooks.watched_session import WatchedSession
from sapwood.programs.agent_provider import SessionBusy, SyncResult
from sapwood.programs.claude_code.provider import ClaudeCodeProvider
from sapwood.programs.codex.provider import CodexProvider
from tests.cli.calling import Sapwooder
from tests.cli.program_sessions import (
    SESSION,
    THREAD,
    boundaries,
    claude_session,
    codex_thread,
    in_view,
    install_claude,
)
from tests.programs.transcripts.writing import ClaudeFile, CodexFile

DONE = "The session now has the history that you requested there."
FULL = Failure("other", "The disk is full.")


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments of the processes that would wait for the end of a session.

    No process is started, also by hooks.
    """
    found: list[list[str]] = []

    def start(args: list[str], environ: object, module: str = "") -> None:
        if module:
            found.append(args)

    for starter in (session_watcher, watched_session):
        monkeypatch.setattr(starter, "start_process", start)
    for module, name in (
        (background_work, "_LOOK_SECONDS"),
        (session_watcher, "_PAUSE"),
        (session_watcher, "_PAUSE_AFTER_FAILURE"),
    ):
        monkeypatch.setattr(module, name, 0.0)
    return found


@pytest.fixture
def claude(home: Path, monkeypatch: pytest.MonkeyPatch) -> ClaudeFile:
    return claude_session(home, monkeypatch)


@pytest.fixture
def codex(home: Path) -> CodexFile:
    return codex_thread(home)


def end(session: ClaudeFile) -> None:
    """Does what the hook at the end of the session starts."""
    watched = WatchedSession(str(session.path), SESSION, str(Path.cwd()))
    watched.memory.put("ended", 1)
    background_work.main(watched.path, SESSION, watched.folder)


def resume(session: ClaudeFile) -> str:
    """What the hook at the start of the session tells the user."""
    given = {"session_id": SESSION, "transcript_path": str(session.path), "source": "resume"}
    output = run_hook("session-start", json.dumps(given).encode())
    return str(json.loads(output)["systemMessage"]) if output else ""


def journal(sapwood: Sapwooder) -> list[tuple[str, str]]:
    """What the journal says about changes, the oldest first."""
    entries = [json.loads(line) for line in sapwood("journal", "--json").out.splitlines()]
    return [(each["did"], each["says"]) for each in entries if each["did"] in ("changed", "failed")]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has a provider fail with these errors, one after the other, before it changes a session."""

    def fail(provider: type[ClaudeCodeProvider | CodexProvider], *errors: Exception) -> None:
        waiting, sync_session = list(errors), provider.sync_session

        async def syncs(self: Any, *args: Any) -> SyncResult:
            if waiting:
                raise waiting.pop(0)
            return await sync_session(self, *args)

        monkeypatch.setattr(provider, "sync_session", syncs)

    return fail


def test_a_change_that_went_into_a_new_session_is_reported_with_its_id(
    sapwood: Sapwooder, claude: ClaudeFile, home: Path
) -> None:
    install_claude(home, "2.1.999")
    before = claude.path.read_bytes()
    assert sapwood("clear", "1", "--later", "--session", SESSION).code == Exit.OK
    end(claude)
    assert claude.path.read_bytes() == before
    [new] = [path for path in claude.path.parent.glob("*.jsonl") if path != claude.path]
    [(did, says)] = journal(sapwood)
    assert did == "failed"
    assert "It continues in a new session" in says
    assert says.endswith(f"To continue, type: claude --resume {new.stem}")
    told = resume(claude)
    assert "Your last change is in a new session" in told
    assert told.endswith(f"Type /exit, then type: claude --resume {new.stem}")
    assert resume(claude) == "", "it was said once"


def test_a_change_that_could_not_be_made_still_waits_and_is_not_reported_as_done(
    sapwood: Sapwooder, claude: ClaudeFile, home: Path
) -> None:
    assert sapwood("clear", "1", "--later", "--session", SESSION).code == Exit.OK
    program = (home / "claude").rename(home / "elsewhere")
    end(claude)
    assert boundaries(claude.path) == []
    [(did, says)] = journal(sapwood)
    assert did == "failed"
    assert says.startswith("Claude Code does not have the change yet: ")
    assert "opened before your last change reached it" in resume(claude)
    program.rename(home / "claude")
    end(claude)
    assert len(boundaries(claude.path)[-1]) == 2
    assert journal(sapwood)[1:] == [("changed", DONE)]
    assert in_view(sapwood, SESSION) == ["Ask 4."]


def test_a_rewind_is_made_although_the_program_compacted_before_it_was_closed(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    first = [json.loads(line)["uuid"] for line in claude.path.read_text().splitlines()][:2]
    assert sapwood("rewind", "2", "--later", "--session", SESSION).code == Exit.OK
    boundary = claude.row("system", subtype="compact_boundary", parentUuid=None, uuid="own")
    claude.row(
        "user",
        parentUuid=boundary,
        isCompactSummary=True,
        message={"role": "user", "content": "It was about asking 2, 3 and 4."},
    )
    end(claude)
    assert journal(sapwood) == [("changed", DONE)]
    assert in_view(sapwood, SESSION) == ["Ask 1."]
    last = json.loads(claude.path.read_text().splitlines()[-1])
    assert last["compactMetadata"]["preservedMessages"]["uuids"] == first


def test_a_session_that_was_opened_again_is_changed_when_it_is_closed_again(
    sapwood: Sapwooder, claude: ClaudeFile, failing: Callable[..., None]
) -> None:
    assert sapwood("clear", "1", "--later", "--session", SESSION).code == Exit.OK
    failing(ClaudeCodeProvider, SessionBusy("It is open."), SessionBusy("It is open."))
    end(claude)
    assert journal(sapwood) == [("changed", DONE)]
    assert len(boundaries(claude.path)[-1]) == 2


def test_a_process_that_waits_tries_again_after_a_failure_and_reports_it_once(
    sapwood: Sapwooder,
    codex: CodexFile,
    started: list[list[str]],
    failing: Callable[..., None],
) -> None:
    assert sapwood("clear", "1", "--later", "--session", THREAD).code == Exit.OK
    failing(CodexProvider, FULL, FULL, FULL)
    [[agent, session]] = started
    assert session_watcher.main(agent, session)
    assert journal(sapwood) == [
        (
            "failed",
            "Codex does not have the change yet: The disk is full. It is saved, and the next "
            "command on this session applies it.",
        ),
        ("changed", DONE),
    ]
    assert in_view(sapwood, THREAD) == ["Ask 3."]


def test_a_process_that_waits_reports_a_session_that_was_deleted(
    sapwood: Sapwooder,
    codex: CodexFile,
    started: list[list[str]],
) -> None:
    assert sapwood("clear", "1", "--later", "--session", THREAD).code == Exit.OK
    codex.path.unlink()
    [[agent, session]] = started
    assert not session_watcher.main(agent, session)
    [(did, says)] = journal(sapwood)
    assert did == "failed"
    assert says.startswith(f"Codex no longer has session {THREAD}.")


def test_a_process_changes_a_session_that_was_closed_when_the_command_was_given(
    sapwood: Sapwooder, claude: ClaudeFile, started: list[list[str]]
) -> None:
    assert sapwood("install", "claude-code", "--yes").code == Exit.OK
    given = {"session_id": SESSION, "transcript_path": str(claude.path)}
    run_hook("session-end", json.dumps(given).encode())
    assert sapwood("clear", "1", "--later", "--session", SESSION).code == Exit.OK
    [[agent, session]] = started
    assert session_watcher.main(agent, session)
    assert len(boundaries(claude.path)[-1]) == 2
    assert journal(sapwood) == [("changed", DONE)]


def test_a_process_changes_a_session_whose_program_was_killed(
    sapwood: Sapwooder, claude: ClaudeFile, started: list[list[str]]
) -> None:
    """Its hooks are installed and have run, and none says that it has ended."""
    assert sapwood("install", "claude-code", "--yes").code == Exit.OK
    resume(claude)
    assert sapwood("clear", "1", "--later", "--session", SESSION).code == Exit.OK
    [[agent, session]] = started
    assert session_watcher.main(agent, session)
    assert journal(sapwood) == [("changed", DONE)]


def test_a_session_that_was_opened_again_is_left_to_its_hook(
    sapwood: Sapwooder, claude: ClaudeFile, home: Path, started: list[list[str]]
) -> None:
    assert sapwood("install", "claude-code", "--yes").code == Exit.OK
    end(claude)
    resume(claude)
    (home / ".claude" / "sessions").mkdir()
    process = {"pid": os.getpid(), "sessionId": SESSION, "status": "idle"}
    (home / ".claude" / "sessions" / "1.json").write_text(json.dumps(process))
    assert sapwood("clear", "1", "--later", "--session", SESSION).code == Exit.OK
    assert started == []


def test_a_process_waits_for_a_session_whose_hooks_were_uninstalled(
    sapwood: Sapwooder, claude: ClaudeFile, started: list[list[str]]
) -> None:
    assert sapwood("install", "claude-code", "--yes").code == Exit.OK
    resume(claude)
    assert sapwood("uninstall", "claude-code", "--yes").code == Exit.OK
    assert sapwood("clear", "1", "--later", "--session", SESSION).code == Exit.OK
    assert len(started) == 1


def test_a_full_disk_leaves_a_thread_of_codex_as_it_is_and_says_so(
    sapwood: Sapwooder, codex: CodexFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    before = codex.path.read_bytes()
    monkeypatch.setattr("sapwood.programs.codex.provider.append_history", full)
    ran = sapwood("clear", "1", "--session", THREAD)
    assert ran.code == Exit.OK, ran.err
    assert "Codex does not have the change yet: " in ran.out
    assert "No space left on device. It is saved" in ran.out
    assert codex.path.read_bytes() == before
