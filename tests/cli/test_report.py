"""`sapwood report` from a shell: what it prints, writes and refuses."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.calling import Sapwooder
from tests.programs.opencode.opencode_database import make_database, session_ids
from tests.programs.transcripts.writing import ClaudeFile, CodexFile, PiFile

SESSION = "4cfa198d-2bff-4ecc-8825-6583da7ea71a"
OTHER = "01a1e0eb-8813-7583-9b11-411efef3d821"
NESTS = "\n".join(f"nest_{number} = tall_tree({number})" for number in range(60))


@pytest.fixture
def claude(home: Path) -> ClaudeFile:
    """A session of Claude Code that read a file, was compacted, and read it again."""
    file = ClaudeFile(home / ".claude" / "projects" / "-srv-wood", SESSION)
    file.user("Where do <herons> nest?")
    _read(file, "c1")
    file.last = None
    sizes = {"trigger": "auto", "preTokens": 90_000, "postTokens": 2_000}
    file.row("system", subtype="compact_boundary", compactMetadata=sizes)
    file.user("Herons were asked about.", isCompactSummary=True)
    file.user("And storks?")
    _read(file, "c2")
    return file


def _read(file: ClaudeFile, call: str) -> None:
    file.says(file.call(call, "Read", file_path="/srv/wood/nests.py"))
    file.result(call, NESTS)
    file.says("In tall trees.")


@pytest.fixture
def codex(home: Path) -> CodexFile:
    """A session of Codex that was never compacted."""
    file = CodexFile(home / ".codex/sessions/2026/11/14", OTHER, cwd="/srv/roofs")
    file.user("On which roofs?")
    file.says("On old ones.")
    file.event("task_complete")
    return file


def test_a_report_says_what_left_what_was_needed_and_how_to_bring_it_back(
    sapwood: Sapwooder, claude: ClaudeFile, codex: CodexFile
) -> None:
    ran = sapwood("report")
    assert ran.code == 0
    text = " ".join(ran.out.split())
    assert "2 sessions (1 Claude Code, 1 Codex), 3 turns, 1 compaction." in text
    assert "Compaction took 1 turn (~88k tokens) out of view." in text
    assert "nests.py turn 1 → 2," in text
    assert f"sapwood undo --session {SESSION[:8]}" in text


def test_the_command_that_a_report_prints_is_understood(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    command = re.search(r"sapwood (undo --session \S+)", sapwood("report").out)
    assert command is not None
    assert "Undone: /compact. 1 turn back in view" in sapwood(*command[1].split()).out


def test_a_report_has_no_command_for_turns_that_are_back(
    sapwood: Sapwooder, claude: ClaudeFile, tmp_path: Path
) -> None:
    rows = [json.loads(row) for row in claude.path.read_text("utf-8").splitlines()]
    spoken = [row["uuid"] for row in rows if "message" in row and "isCompactSummary" not in row]
    kept = {"preservedMessages": {"uuids": spoken}}
    claude.row("system", subtype="compact_boundary", writtenBy="sapwood", compactMetadata=kept)
    page = tmp_path / "report.html"
    ran = sapwood("report")
    sapwood("report", "--html", str(page))
    assert "1 compaction." in ran.out
    assert "To bring turns back" not in ran.out
    assert "What can be brought back" not in page.read_text("utf-8")


def test_a_report_stores_nothing(sapwood: Sapwooder, claude: ClaudeFile, home: Path) -> None:
    before = claude.path.read_bytes()
    sapwood("report")
    assert claude.path.read_bytes() == before
    assert not list(home.rglob("*.db"))


def test_json_has_totals_and_every_session(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    found = json.loads(sapwood("report", "--json").out)
    assert found["totals"]["needs"] == 1
    assert found["totals"]["tokens_left"] == 88_000
    assert found["totals"]["cost"] > 0
    (session,) = found["sessions"]
    (need,) = session["compactions"][0]["needs"]
    assert (need["subject"], need["left"], need["needed"]) == ("nests.py", 1, 2)


def test_the_page_is_one_file_without_requests_and_escapes_what_it_shows(
    sapwood: Sapwooder, claude: ClaudeFile, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    ran = sapwood("report", "--html", str(page))
    assert (ran.code, ran.out) == (0, "")
    text = page.read_text("utf-8")
    assert "Where do &lt;herons&gt; nest?" in text
    assert "default-src 'none'" in text
    assert not re.search(r"""(?:src|href)\s*=|url\((?!#)|@import|https?://""", text)
    assert text.count("<svg") == text.count("</svg>") >= 4


@pytest.mark.parametrize(
    ("options", "sessions"),
    [
        (("--program", "codex"), 1),
        (("--project", "/srv"), 2),
        (("--project", "/srv/wood"), 1),
        (("--since", "1d"), 2),
    ],
)
def test_a_report_can_be_about_some_sessions(
    sapwood: Sapwooder,
    claude: ClaudeFile,
    codex: CodexFile,
    options: tuple[str, ...],
    sessions: int,
) -> None:
    assert json.loads(sapwood("report", "--json", *options).out)["totals"]["sessions"] == sessions


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        ((), 8, "No sessions were found in "),
        (("--project", "/srv/wood"), 8, "No session ran in /srv/wood."),
        (("--since", "1d"), 8, "No session was used since then."),
        (("--since", "soon"), 2, "--since takes an age such as 7d"),
        (("--program", "vim"), 2, "There is no program 'vim'. --program takes: claude-code, "),
    ],
)
def test_what_finds_nothing_says_what_to_do(
    sapwood: Sapwooder, options: tuple[str, ...], code: int, sentence: str
) -> None:
    ran = sapwood("report", *options)
    assert ran.code == code
    assert sentence in " ".join(ran.err.split())


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_named_and_the_others_are_reported(
    sapwood: Sapwooder, claude: ClaudeFile, codex: CodexFile
) -> None:
    codex.path.chmod(0)
    ran = sapwood("report", "--json")
    assert ran.code == 0
    assert "cannot be read: Permission denied" in ran.err
    assert json.loads(ran.out)["totals"]["sessions"] == 1


def test_a_file_that_is_no_transcript_is_named(
    sapwood: Sapwooder, claude: ClaudeFile, home: Path
) -> None:
    (home / ".claude/projects/-srv-wood/notes.jsonl").symlink_to(home)
    (home / ".claude/projects/-srv-wood/empty.jsonl").write_text("\n\n")
    assert json.loads(sapwood("report", "--json").out)["totals"]["sessions"] == 1


def test_a_page_that_cannot_be_written_is_refused(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    ran = sapwood("report", "--html", "/nowhere/report.html")
    assert ran.code == 2
    assert "'/nowhere/report.html' cannot be written: No such file or directory." in ran.err


def test_deleted_sessions_that_sapwood_has_are_listed(
    sapwood: Sapwooder, claude: ClaudeFile, tmp_path: Path
) -> None:
    sapwood("import")
    claude.path.unlink()
    (swept,) = json.loads(sapwood("report", "--json").out)["swept"]
    assert swept["restore"] == f"sapwood restore {SESSION} --to claude-code"
    assert swept["restore"] in " ".join(sapwood("report").out.split())
    sapwood("report", "--html", str(tmp_path / "report.html"))
    assert swept["restore"] in (tmp_path / "report.html").read_text("utf-8")


def test_restoring_needs_the_program_and_its_own_sessions(
    sapwood: Sapwooder, claude: ClaudeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_CLAUDE", "/nowhere/claude")
    sapwood("import")
    there = sapwood("restore", SESSION, "--to", "claude-code")
    assert there.out == (
        f"Claude Code still has this session. To continue, type: claude --resume {SESSION}\n"
    )
    claude.path.unlink()
    assert "Claude Code is not installed" in sapwood("restore", SESSION, "--to", "claude-code").err
    other = sapwood("restore", SESSION[:8], "--to", "codex")
    assert f"sapwood continue {SESSION[:8]} --with codex" in " ".join(other.err.split())
    assert not claude.path.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--to", "codex"), "--to takes a session: sapwood restore SESSION --to PROGRAM"),
        (("heron", "--to", "vim"), "--to takes claude-code, codex, opencode or pi, not 'vim'."),
        ((), "Give an agent, or an object with --from."),
    ],
)
def test_restore_says_what_it_takes(
    sapwood: Sapwooder, words: tuple[str, ...], sentence: str
) -> None:
    ran = sapwood("restore", *words)
    assert ran.code == 2
    assert sentence in " ".join(ran.err.split())


def test_a_report_has_the_compactions_of_opencode_and_pi(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    base = make_database(home / ".local" / "share" / "opencode")
    pi = PiFile(home / ".pi" / "agent" / "sessions" / "--srv-wood--", OTHER)
    kept = pi.user("Where do herons nest?")
    pi.says("In tall trees.")
    pi.row("compaction", summary="Herons.", firstKeptEntryId=kept, tokensBefore=90_000)
    report = json.loads(sapwood("report", "--json").out.splitlines()[0])
    found = {each["id"]: each for each in report["sessions"]}
    compacted = {name: len(each["compactions"]) for name, each in found.items()}
    first, _ = session_ids(base)
    assert (compacted[first], compacted[OTHER]) == (1, 1)
    assert found[OTHER]["restore"] == f"sapwood undo --session {OTHER[:8]}"
    assert found[first]["restore"].startswith("sapwood undo --session ses_")
