"""What a program drops is archived first."""

import threading
from pathlib import Path

from sapwood.hooks.watched_session import HOOK_BYTES
from sapwood.testing.claude_transcript import ClaudeTranscript
from tests.hooks.conftest import HookCaller
from tests.programs.claude_code.claude_sessions import SessionWriter


def test_before_a_compaction_what_was_said_is_archived(caller: HookCaller) -> None:
    talk = caller.transcript().ask("Where do herons nest?").say("In tall trees.")
    assert caller.call("pre-compact", talk, trigger="auto") is None
    (archive,) = caller.archives()
    assert "Session: s1\nProject: /srv/wood\n" in archive
    assert "User: Where do herons nest?\n\nAgent: In tall trees." in archive
    (act,) = caller.entries()
    assert (act.kind, act.session, act.source) == ("archived", "s1", "claude-code")
    assert act.message == "Before a compaction (auto): 1 turn."
    assert Path(act.path).read_text() == archive


def test_after_a_compaction_only_what_came_since_is_in_view(caller: HookCaller) -> None:
    talk = caller.transcript().ask("One?").say("Old answer.").compact("It was about one.")
    talk.ask("Two?").say("New answer.")
    caller.call("pre-compact", talk)
    (archive,) = caller.archives()
    assert "New answer." in archive
    assert "Old answer." not in archive


def test_nothing_new_makes_no_second_archive(caller: HookCaller) -> None:
    talk = caller.transcript().ask("One?").say("Answer.")
    caller.call("pre-compact", talk)
    caller.call("session-end", talk, reason="clear")
    assert len(caller.archives()) == 1
    talk.ask("Two?").say("Another.")
    caller.call("pre-compact", talk)
    assert len(caller.archives()) == 2


def test_an_empty_session_is_not_archived(caller: HookCaller) -> None:
    caller.call("pre-compact", caller.transcript())
    assert caller.archives() == []


def test_a_message_that_is_being_written_is_waited_for(caller: HookCaller) -> None:
    talk = caller.transcript().ask("One?")
    timer = threading.Timer(0.05, talk.say, ["The last words."])
    timer.start()
    caller.call(
        *("subagent-stop", talk),
        agent_id="a1",
        agent_type="general-purpose",
        agent_transcript_path=str(talk.path),
        last_assistant_message="The last words.",
    )
    timer.join()
    (archive,) = caller.archives()
    assert archive.count("The last words.") == 1


def test_a_message_that_never_came_is_taken_from_the_program(caller: HookCaller) -> None:
    main, talk = caller.transcript(), caller.transcript("agent-a1").ask("Look for herons.")
    caller.call(
        *("subagent-stop", main),
        agent_id="a1",
        agent_type="Explore",
        agent_transcript_path=str(talk.path),
        last_assistant_message="They are in the trees.",
    )
    (archive,) = caller.archives()
    assert "Agent: They are in the trees." in archive
    assert caller.entries()[0].message.startswith("A subagent ended (Explore)")


def test_the_programs_own_summariser_is_no_subagent(caller: HookCaller) -> None:
    talk = caller.transcript("agent-a1").ask("Summarise.").say("Summary.")
    caller.call("subagent-stop", talk, agent_type="", agent_transcript_path=str(talk.path))
    assert caller.archives() == []


def test_a_clear_archives_and_any_other_end_does_not(caller: HookCaller) -> None:
    one, two = (caller.transcript(name).ask("Q").say("A") for name in ("one", "two"))
    caller.call("session-end", one, reason="logout")
    assert caller.archives() == []
    caller.call("session-end", two, reason="clear")
    assert len(caller.archives()) == 1


def test_a_secret_is_not_archived(caller: HookCaller) -> None:
    key = "sk-ant-api03-" + "0aB1cD2eF3gH4iJ5kL6mN7"
    caller.call("pre-compact", caller.transcript().ask(f"The key is {key}.").say("Noted."))
    assert key not in caller.archives()[0]


def test_a_long_transcript_is_read_from_its_end(caller: HookCaller) -> None:
    talk: ClaudeTranscript = caller.transcript()
    talk.ask("The very first request.").say("x" * 600_000).ask("Later?").say("Later answer.")
    caller.call("pre-compact", talk)
    assert "Later answer." in caller.archives()[0]


def test_turns_that_an_undo_brought_back_are_archived(caller: HookCaller) -> None:
    written = SessionWriter(caller.home / "projects")
    for number in range(3):
        written.turn(str(number))
    noise = b'{"type":"queue-operation","content":"%s"}\n' % (b"x" * HOOK_BYTES)
    file = written.file(caller.home)
    file.sync_session(written.history())
    written.raw(noise)
    file.sync_session(written.history(0, 1, 2))
    written.last = written.rows()[-1]["uuid"]
    written.turn("3")
    caller.call("pre-compact", caller.transcript(written.session))
    (archive,) = caller.archives()
    prompts = [line for line in archive.splitlines() if line.startswith("User: ")]
    assert prompts == [f"User: PROMPT {number}" for number in range(4)]


def test_what_it_came_to_is_added_a_little_later(caller: HookCaller) -> None:
    talk = caller.transcript().ask("Let's go with GeoJSON for the nests.")
    talk.call("Write", {"file_path": "/srv/wood/nests.md", "content": "alder"}, "ok").say("Done.")
    caller.call("pre-compact", talk)
    (archive,) = caller.archives()
    assert "Key decisions:\n- Let's go with GeoJSON" in archive
    assert "Files touched:\n- nests.md (created)" in archive
    assert archive.count("User: Let's go with GeoJSON") == 1


def test_a_subagent_whose_transcript_never_came_leaves_its_last_words(caller: HookCaller) -> None:
    main = caller.transcript().ask("Ask somebody.").say("Asked.")
    caller.call("stop", main)
    caller.call(
        *("subagent-stop", main),
        agent_id="a1",
        agent_type="Explore",
        agent_transcript_path=str(caller.home / "nowhere.jsonl"),
        last_assistant_message="They are in the trees.",
    )
    (archive,) = caller.archives()
    assert "Session: a1" in archive
    assert "Agent: They are in the trees." in archive
    assert [act.kind for act in caller.entries()] == ["archived"]
