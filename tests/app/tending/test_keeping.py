"""What a program drops is archived first."""

import threading
from pathlib import Path

from sapwood.testing.transcripts import ClaudeTranscript
from tests.app.tending.conftest import Tended


def test_before_a_compaction_what_was_said_is_archived(tended: Tended) -> None:
    talk = tended.transcript().ask("Where do herons nest?").say("In tall trees.")
    assert tended.call("pre-compact", talk, trigger="auto") is None
    (archive,) = tended.archives()
    assert "Session: s1\nProject: /srv/wood\n" in archive
    assert "User: Where do herons nest?\n\nAgent: In tall trees." in archive
    (act,) = tended.acts()
    assert (act.did, act.session, act.source) == ("archived", "s1", "claude-code")
    assert act.says == "Before a compaction (auto): 1 turn."
    assert Path(act.path).read_text() == archive


def test_after_a_compaction_only_what_came_since_is_in_view(tended: Tended) -> None:
    talk = tended.transcript().ask("One?").say("Old answer.").compact("It was about one.")
    talk.ask("Two?").say("New answer.")
    tended.call("pre-compact", talk)
    (archive,) = tended.archives()
    assert "New answer." in archive
    assert "Old answer." not in archive


def test_nothing_new_makes_no_second_archive(tended: Tended) -> None:
    talk = tended.transcript().ask("One?").say("Answer.")
    tended.call("pre-compact", talk)
    tended.call("session-end", talk, reason="clear")
    assert len(tended.archives()) == 1
    talk.ask("Two?").say("Another.")
    tended.call("pre-compact", talk)
    assert len(tended.archives()) == 2


def test_an_empty_session_is_not_archived(tended: Tended) -> None:
    tended.call("pre-compact", tended.transcript())
    assert tended.archives() == []


def test_a_message_that_is_being_written_is_waited_for(tended: Tended) -> None:
    talk = tended.transcript().ask("One?")
    timer = threading.Timer(0.05, talk.say, ["The last words."])
    timer.start()
    tended.call(
        *("subagent-stop", talk),
        agent_id="a1",
        agent_type="general-purpose",
        agent_transcript_path=str(talk.path),
        last_assistant_message="The last words.",
    )
    timer.join()
    (archive,) = tended.archives()
    assert archive.count("The last words.") == 1


def test_a_message_that_never_came_is_taken_from_the_program(tended: Tended) -> None:
    main, talk = tended.transcript(), tended.transcript("agent-a1").ask("Look for herons.")
    tended.call(
        *("subagent-stop", main),
        agent_id="a1",
        agent_type="Explore",
        agent_transcript_path=str(talk.path),
        last_assistant_message="They are in the trees.",
    )
    (archive,) = tended.archives()
    assert "Agent: They are in the trees." in archive
    assert tended.acts()[0].says.startswith("A subagent ended (Explore)")


def test_the_programs_own_summariser_is_no_subagent(tended: Tended) -> None:
    talk = tended.transcript("agent-a1").ask("Summarise.").say("Summary.")
    tended.call("subagent-stop", talk, agent_type="", agent_transcript_path=str(talk.path))
    assert tended.archives() == []


def test_a_clear_archives_and_any_other_end_does_not(tended: Tended) -> None:
    one, two = (tended.transcript(name).ask("Q").say("A") for name in ("one", "two"))
    tended.call("session-end", one, reason="logout")
    assert tended.archives() == []
    tended.call("session-end", two, reason="clear")
    assert len(tended.archives()) == 1


def test_a_secret_is_not_archived(tended: Tended) -> None:
    key = "sk-ant-api03-" + "0aB1cD2eF3gH4iJ5kL6mN7"
    tended.call("pre-compact", tended.transcript().ask(f"The key is {key}.").say("Noted."))
    assert key not in tended.archives()[0]


def test_a_long_transcript_is_read_from_its_end(tended: Tended) -> None:
    talk: ClaudeTranscript = tended.transcript()
    talk.ask("The very first request.").say("x" * 600_000).ask("Later?").say("Later answer.")
    tended.call("pre-compact", talk)
    assert "Later answer." in tended.archives()[0]


def test_what_it_came_to_is_added_a_little_later(tended: Tended) -> None:
    talk = tended.transcript().ask("Let's go with GeoJSON for the nests.")
    talk.call("Write", {"file_path": "/srv/wood/nests.md", "content": "alder"}, "ok").say("Done.")
    tended.call("pre-compact", talk)
    (archive,) = tended.archives()
    assert "Key decisions:\n- Let's go with GeoJSON" in archive
    assert "Files touched:\n- nests.md (created)" in archive
    assert archive.count("User: Let's go with GeoJSON") == 1


def test_a_subagent_whose_transcript_never_came_leaves_its_last_words(tended: Tended) -> None:
    main = tended.transcript().ask("Ask somebody.").say("Asked.")
    tended.call("stop", main)
    tended.call(
        *("subagent-stop", main),
        agent_id="a1",
        agent_type="Explore",
        agent_transcript_path=str(tended.home / "nowhere.jsonl"),
        last_assistant_message="They are in the trees.",
    )
    (archive,) = tended.archives()
    assert "Session: a1" in archive
    assert "Agent: They are in the trees." in archive
    assert [act.did for act in tended.acts()] == ["archived"]
