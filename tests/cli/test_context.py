"""`context` looks at any session, wherever it ran, and keeps what would be lost."""

import json
from pathlib import Path

import pytest

from sapwood.cli.exit_codes import Exit
from sapwood.context_actions.hook_memory import hook_memory_folder, remember_session
from sapwood.programs.registry import programs_with
from sapwood.programs.transcripts.transcript_events import imported_agent_id
from sapwood.testing.claude_transcript import ClaudeTranscript
from tests.cli.calling import Sapwooder

FIXTURES = Path(__file__).parents[1] / "programs" / "transcripts" / "fixtures"
TRANSCRIPT = FIXTURES / "claude-auto-compact.jsonl"


@pytest.fixture
def session(home: Path) -> str:
    """A session of Claude Code that ran in the current folder."""
    text = TRANSCRIPT.read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    (cwd,) = {row["cwd"] for row in rows if "cwd" in row}
    (name,) = {row["sessionId"] for row in rows if "sessionId" in row}
    slug = "".join(char if char.isalnum() else "-" for char in str(Path.cwd()))
    folder = home / ".claude" / "projects" / slug
    folder.mkdir(parents=True)
    own = text.replace(cwd, str(Path.cwd()))
    (folder / f"{name}.jsonl").write_text(own)
    return name


@pytest.fixture
def data(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder."""
    monkeypatch.setenv("SAPWOOD_DATA", str(home / "data"))
    return home / "data"


def acts(data: Path) -> list[tuple[str, str]]:
    lines = (data / "journal.jsonl").read_text().splitlines()
    return [(act["did"], act["says"]) for act in map(json.loads, lines)]


def test_drift_tells_the_chapter_of_every_turn_and_claims_no_status(sapwood: Sapwooder) -> None:
    ran = sapwood("context", "drift", "--transcript", str(TRANSCRIPT), "--json")
    drift = json.loads(ran.out)
    assert sum(each["turns"] for each in drift["chapters"]) == 3
    assert all(each["name"] for each in drift["chapters"])
    assert all(each["status"] is None for each in drift["chapters"])


def test_a_ledger_tells_what_was_done(sapwood: Sapwooder) -> None:
    ran = sapwood("context", "ledger", "--transcript", str(TRANSCRIPT), "--json")
    ledger = json.loads(ran.out)
    assert ledger["commands"][0]["command"] == "echo two"
    assert "third" in ledger["last_request"]
    assert {"files", "tests", "failing", "decisions", "questions"} < set(ledger)


def test_options_may_stand_before_the_action(sapwood: Sapwooder) -> None:
    after = sapwood("context", "ledger", "--transcript", str(TRANSCRIPT), "--json")
    before = sapwood("context", "--transcript", str(TRANSCRIPT), "--json", "ledger")
    assert before == after


@pytest.mark.parametrize(
    "action",
    ["estimate", "breakdown", "ledger", "archive", "resume", "prune", "drift", "handoff reviewer"],
)
def test_nothing_is_stored_of_a_transcript_that_is_looked_at(
    sapwood: Sapwooder, data: Path, action: str
) -> None:
    before = TRANSCRIPT.read_bytes()
    ran = sapwood("context", *action.split(), "--transcript", str(TRANSCRIPT))
    assert ran.code == Exit.OK
    assert ran.out
    assert not data.exists()
    assert TRANSCRIPT.read_bytes() == before


@pytest.mark.parametrize(
    "action",
    ["estimate", "breakdown", "archive", "prune", "drift", "ledger", "handoff reviewer", ""],
)
def test_without_a_session_it_says_so(sapwood: Sapwooder, data: Path, action: str) -> None:
    ran = sapwood("context", *action.split(), "--json")
    assert ran.code == Exit.NO_SESSION
    titles = ", ".join(each.title for each in programs_with("sessions"))
    assert f"There is no {titles} or Sapwood session" in ran.err
    assert ran.out == ""
    assert not data.exists()


def test_what_is_no_transcript_is_no_session(sapwood: Sapwooder, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Dear diary")
    ran = sapwood("context", "drift", "--transcript", str(file))
    assert ran.code == Exit.NO_SESSION
    assert "is not the transcript" in ran.err


def test_the_newest_session_of_the_folder_is_the_current_one(
    sapwood: Sapwooder, session: str
) -> None:
    current = sapwood("context", "ledger")
    assert "echo two" in current.out
    assert sapwood("context", "ledger", "--session", session[:6]) == current
    assert sapwood("context", session).out == sapwood("context", "breakdown").out


def test_a_session_is_found_from_a_folder_below(
    sapwood: Sapwooder, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(".git").mkdir()
    below = Path("src/deep")
    below.mkdir(parents=True)
    top = Path.cwd()
    monkeypatch.chdir(below)
    assert "echo two" in sapwood("context", "ledger").out
    assert sapwood("context", "focus", "echoes").code == Exit.OK
    monkeypatch.chdir(top)
    assert "echoes" in sapwood("context", "focus").out


def test_from_within_a_session_that_session_is_meant(
    sapwood: Sapwooder, session: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sapwood("context", "ledger").code == Exit.NO_SESSION
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", session)
    assert "echo two" in sapwood("context", "ledger").out


def test_a_session_that_is_not_there_is_named(sapwood: Sapwooder, session: str) -> None:
    ran = sapwood("context", "drift", "--session", "zzz")
    assert ran.code == Exit.NO_SESSION
    assert "'zzz'" in ran.err


def test_an_estimate_is_exact_where_the_program_reported_it(
    sapwood: Sapwooder, session: str
) -> None:
    told = json.loads(sapwood("context", "estimate", "--json").out)
    assert told["exact"]
    assert told["used"] > 0
    assert "~" not in sapwood("context", "estimate").out


def test_a_topic_goes_into_focus_and_to_the_background(
    sapwood: Sapwooder, session: str, data: Path
) -> None:
    assert sapwood("context", "focus", "OAuth", "for", "mobile").code == Exit.OK
    assert sapwood("context", "focus", "Docs", "--priority", "2").out.splitlines() == [
        "In focus:",
        "  1. OAuth for mobile",
        "  2. Docs",
    ]
    sapwood("context", "unfocus", "docs")
    focus = json.loads(sapwood("context", "focus", "--json").out)
    assert focus["topics"][0]["name"] == "OAuth for mobile"
    assert focus["topics"][0]["priority"] == 1
    assert focus["background"] == [{"name": "Docs", "archived": False}]
    assert [did for did, _ in acts(data)] == ["focused", "focused", "unfocused"]


def test_the_focus_is_in_the_log_of_the_session(sapwood: Sapwooder, session: str) -> None:
    sapwood("context", "focus", "OAuth")
    sapwood("context", "focus", "oauth")
    sapwood("context", "unfocus", "OAuth")
    agent = imported_agent_id("claude-code", session)
    events = [json.loads(line) for line in sapwood("log", agent, "--json").out.splitlines()]
    topics = [event["kind"] for event in events if event["kind"].startswith("topic.")]
    assert topics == ["topic.focused", "topic.unfocused"]


def test_a_focus_is_not_that_of_another_conversation(
    sapwood: Sapwooder, session: str, demo: str
) -> None:
    sapwood("context", "focus", "OAuth", "--session", session)
    assert "OAuth" in sapwood("context", "resume", "--session", session).out
    assert "OAuth" not in sapwood("context", "resume", "--session", demo).out
    assert "OAuth" not in sapwood("context", "focus", "--session", demo).out


def test_without_a_session_there_is_no_focus(sapwood: Sapwooder, data: Path) -> None:
    ran = sapwood("context", "focus", "OAuth")
    assert ran.code == Exit.NO_SESSION
    assert not data.exists()


def test_what_is_not_in_focus_cannot_leave_it(sapwood: Sapwooder, session: str, data: Path) -> None:
    ran = sapwood("context", "unfocus", "OAuth")
    assert ran.code == Exit.FAILED
    assert "is not in focus" in ran.err
    assert not data.exists()


def test_an_archive_is_a_readable_file(sapwood: Sapwooder, session: str, data: Path) -> None:
    told = json.loads(sapwood("context", "archive", "--json").out)
    (path,) = (data / "archives").iterdir()
    assert told["archives"][0]["path"] == str(path)
    text = path.read_text()
    assert text.startswith("---\nTopic: ")
    assert f"\nProject: {Path.cwd()}\n" in text
    assert "Context excerpt:" in text
    assert acts(data)[0][0] == "archived"


def test_a_topic_is_archived_by_name(sapwood: Sapwooder, session: str, data: Path) -> None:
    ran = sapwood("context", "archive", "--topic", "echo", "--json")
    (made,) = json.loads(ran.out)["archives"]
    assert made["topic"] == "echo"
    assert "Topic: echo" in Path(made["path"]).read_text()
    missing = sapwood("context", "archive", "--topic", "submarines")
    assert missing.code == Exit.FAILED
    assert "No turn mentions 'submarines'" in missing.err


def test_every_topic_is_archived_on_its_own(sapwood: Sapwooder, session: str, data: Path) -> None:
    topics = {
        each["name"] for each in json.loads(sapwood("context", "drift", "--json").out)["chapters"]
    }
    made = json.loads(sapwood("context", "archive", "--all", "--json").out)["archives"]
    assert {each["topic"] for each in made} == topics
    assert len(list((data / "archives").iterdir())) == len(topics)


def test_a_resumption_keeps_to_its_budget(sapwood: Sapwooder, session: str) -> None:
    told = json.loads(sapwood("context", "resume", "--budget", "120", "--json").out)
    assert told["prompt"].startswith("## Session Resumption")
    assert told["tokens"] <= 120


def test_archives_alone_are_enough_to_go_on(
    sapwood: Sapwooder, session: str, data: Path, home: Path
) -> None:
    sapwood("context", "archive", "--topic", "echo")
    for transcript in home.glob(".claude/projects/*/*.jsonl"):
        transcript.unlink()
    ran = sapwood("context", "resume")
    assert ran.code == Exit.OK
    assert "echo" in ran.out


def test_with_nothing_to_go_on_it_says_so(sapwood: Sapwooder, data: Path) -> None:
    ran = sapwood("context", "resume")
    assert ran.code == Exit.FAILED
    assert "nothing to resume" in ran.err


def test_a_handoff_is_a_readable_file(sapwood: Sapwooder, session: str, data: Path) -> None:
    ran = sapwood("context", "handoff", "reviewer", "--task", "Review it.")
    (path,) = (data / "handoffs").iterdir()
    assert ran.out.splitlines()[-1] == f"Written to {path}"
    assert path.read_text().startswith("Task: Review it.\nOriginal request: ")
    assert acts(data) == [("handed off", "Context handoff prepared for: reviewer")]


def test_words_are_found_in_the_session_and_in_archives(
    sapwood: Sapwooder, session: str, data: Path
) -> None:
    sapwood("context", "archive", "--topic", "echo")
    hits = json.loads(sapwood("context", "search", "echo", "two", "--json").out)["hits"]
    assert hits[0]["where"].startswith("turn ")
    assert any(hit["where"].endswith(".txt") for hit in hits)
    assert sapwood("context", "search", "submarines").code == Exit.FAILED


def test_own_agents_are_sessions_too(sapwood: Sapwooder, demo: str, data: Path) -> None:
    database = ("--database", str(Path.home() / ".local" / "share" / "sapwood" / "sapwood.db"))
    drift = json.loads(sapwood("context", "drift", "--session", demo, "--json", *database).out)
    assert drift["task"] == "Where do herons nest?"
    assert sum(each["turns"] for each in drift["chapters"]) == 2
    told = json.loads(sapwood("context", "breakdown", "--session", demo, "--json", *database).out)
    assert told["estimate"]["source"] == "sapwood"
    assert {"system", "pins"} < {kind["name"] for kind in told["kinds"]}
    window = json.loads(sapwood("context", demo, "--json", *database).out)
    assert window["blocks"]["total"]["tokens"] == told["estimate"]["used"]
    assert sapwood("context", "archive", "--session", demo, *database).code == Exit.OK
    assert len(list((data / "archives").iterdir())) == 1


def test_an_imported_session_is_found_after_its_transcript_is_gone(
    sapwood: Sapwooder, session: str, home: Path
) -> None:
    before = sapwood("context", "ledger", "--json").out
    assert sapwood("import").code == Exit.OK
    assert sapwood("context", "ledger", "--json").out == before
    for transcript in home.glob(".claude/projects/*/*.jsonl"):
        transcript.unlink()
    after = json.loads(sapwood("context", "ledger", "--session", session, "--json").out)
    assert after["commands"] == json.loads(before)["commands"]
    assert json.loads(sapwood("context", "ledger", "--json").out) == after


def test_a_transcript_that_only_a_hook_was_told_of_is_found(
    sapwood: Sapwooder, data: Path, tmp_path: Path
) -> None:
    transcript = tmp_path / "elsewhere" / "s.jsonl"
    transcript.parent.mkdir()
    transcript.write_bytes(TRANSCRIPT.read_bytes())
    remember_session(hook_memory_folder(), str(Path.cwd()), "s", str(transcript))
    assert "echo two" in sapwood("context", "ledger").out
    transcript.unlink()
    assert sapwood("context", "ledger").code == Exit.NO_SESSION


@pytest.fixture
def screens(home: Path) -> str:
    """A session with turns on the performance of a map screen, then on other things."""
    slug = "".join(char if char.isalnum() else "-" for char in str(Path.cwd()))
    talk = ClaudeTranscript(
        home / ".claude" / "projects" / slug / "s-1.jsonl", folder=str(Path.cwd())
    )
    talk.ask("Build the login form with OAuth.").say("The login form is there.")
    for part in ("panning", "zooming", "drawing tiles"):
        talk.ask(f"The screen with the map performs badly when {part}.").say(
            f"The performance of {part} on the map is measured: " + "tiles are slow. " * 40
        )
    for part in ("labels", "errors", "tests"):
        talk.ask(f"Now the {part} of the login form.").say(f"The {part} are done. " * 20)
    return "s-1"


def test_a_topic_is_found_by_its_words_in_any_form(
    sapwood: Sapwooder, data: Path, screens: str
) -> None:
    ran = sapwood("context", "archive", "--topic", "map screen performance", "--json")
    assert ran.code == Exit.OK, ran.err
    (archive,) = json.loads(ran.out)["archives"]
    assert archive["turns"] == [2, 3, 4]


def test_a_topic_that_left_the_focus_is_archived_and_then_no_longer_advised(
    sapwood: Sapwooder, data: Path, screens: str
) -> None:
    topic = "map screen performance"
    for action in ("focus", "unfocus"):
        assert sapwood("context", action, topic).code == Exit.OK

    def advised() -> list[str]:
        items = json.loads(sapwood("context", "prune", "--json").out)["items"]
        return [item["what"] for item in items if item["reason"] == "chapter"]

    assert topic in advised()
    assert topic in sapwood("context", "archive", "--background").out
    assert topic not in advised()
    again = sapwood("context", "archive", "--background")
    assert topic not in again.out


@pytest.mark.parametrize("action", ["estimate", "breakdown", "prune", "drift", "ledger"])
def test_successors_and_bare_forks_are_sessions_too(
    sapwood: Sapwooder, demo: str, action: str
) -> None:
    forked = sapwood("do", demo, "/fork").out.split()
    child = forked[forked.index("Child:") + 1].strip("().")
    sapwood("do", demo, "/new")
    for name in (child, demo):
        ran = sapwood("context", action, "--session", name)
        assert ran.code == Exit.OK, ran.err
    assert sapwood("context", "handoff", "reviewer", "--session", child).code in (0, 1)
    assert sapwood("export", child, "--everything").code == Exit.OK


def test_an_imported_conversation_is_not_compacted_here(
    sapwood: Sapwooder, data: Path, session: str
) -> None:
    assert sapwood("import").code == Exit.OK
    ran = sapwood("compact", session)
    assert ran.code != Exit.OK
    assert "was imported from claude-code" in ran.err


def test_notes_are_kept_in_the_log_of_the_session_and_outrank_what_is_derived(
    sapwood: Sapwooder, session: str, data: Path
) -> None:
    none = sapwood("context", "note")
    assert none.out.startswith("There are no active notes.")
    sapwood("context", "note", "goal", "Count", "the", "herons")
    asked = json.loads(sapwood("context", "note", "question", "Who signs?", "--json").out)
    number = str(asked["notes"][-1]["id"])
    sapwood("context", "note", "decision", "Herons are never exported")
    ran = sapwood("context", "note", "answer", "Ada signs", "--replaces", number, "--json")
    notes = json.loads(ran.out)["notes"]
    assert [(each["note"], each["text"]) for each in notes] == [
        ("goal", "Count the herons"),
        ("decision", "Herons are never exported"),
        ("answer", "Ada signs"),
    ]
    resumed = sapwood("context", "resume").out
    assert "Count the herons" in resumed
    assert "Herons are never exported" in resumed
    assert "Who signs? → Ada signs" in resumed
    decisions = json.loads(sapwood("context", "ledger", "--json").out)["decisions"]
    assert decisions[-1]["text"] == "Ada signs"
    assert "Herons are never exported" in sapwood("context", "handoff", "reviewer").out
    archived = json.loads(sapwood("context", "archive", "--json").out)["archives"][0]
    assert "Herons are never exported" in Path(archived["path"]).read_text()
    logged = sapwood("log", session).out
    assert logged.count("note.declared") == 4


def test_a_note_that_cannot_be_kept_says_why(sapwood: Sapwooder, session: str, data: Path) -> None:
    unknown = sapwood("context", "note", "goal", "Ship", "--replaces", "4000")
    assert unknown.code == Exit.FAILED
    assert "There is no active note 4000" in unknown.err
    shown = sapwood("context", "note", "goal", "Ship", "--transcript", str(TRANSCRIPT))
    assert shown.code == Exit.FAILED
    assert "Notes cannot be saved" in shown.err
    assert sapwood("context", "note", "wish", "Ship").code == Exit.USAGE
