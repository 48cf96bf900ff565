"""Giving commands from a shell: do, fork, send, interrupt, kill."""

import json
from pathlib import Path

from sapwood.api import Sapwood
from sapwood.cli.exits import Exit
from tests.cli.calling import Database, Sapwooder

SESSION = Path(__file__).parents[2] / "docs" / "examples" / "oauth-session.jsonl"


def test_commands_are_done_in_order(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("do", demo, "/mark GOOD", "/clear 1", "/undo", "/redo")
    assert ran.code == 0
    said = ran.out.splitlines()
    assert said[0] == "Marked 'GOOD'."
    assert said[2:] == ["Undone.", "Redone."]


def test_a_script_stops_at_the_first_refusal(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("do", demo, "/rewind NOWHERE", "/mark LATER")
    assert ran.code == 1
    assert "There is no mark 'NOWHERE'" in ran.err
    assert "LATER" not in sapwood("context", demo).out


def test_text_without_a_model_is_sent_elsewhere(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("do", demo, "Hello!")
    assert ran.code == 2
    assert "sapwood run --agent" in ran.err


def test_a_mistyped_command_is_refused_with_the_nearest(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("do", demo, "/mrak X")
    assert ran.code == 1
    assert "Did you mean /mark" in ran.err


def test_what_only_shows_something_is_shown(sapwood: Sapwooder, demo: str) -> None:
    assert "/rewind [MARK]" in sapwood("do", demo, "/help").out
    assert "history" in sapwood("do", demo, "/context").out
    assert "abc123" in sapwood("do", demo, "/agents").out
    assert "abc123:2" in sapwood("do", demo, "/recall herons").out
    assert "The hash matches." in sapwood("do", demo, "/replay").out
    assert "1 turn in both." in sapwood("do", demo, "/diff START").out
    assert sapwood("do", demo, "/model").out == "gpt-5\n"
    assert sapwood("do", demo, "/system").out == "Be brief.\n"
    assert "cap 100000" in sapwood("do", demo, "/config").out
    assert sapwood("do", demo, "/check-mail --peek").out == "No mail.\n"


def test_what_needs_a_model_says_where_to_get_it(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("do", demo, "/compact")
    assert ran.code == 1
    assert "sapwood compact abc123" in ran.err


def test_what_cannot_be_done_here_is_said(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("do", demo, "/revert")
    assert ran.code == 1
    assert "/revert cannot be used on the command line." in ran.err


def test_a_fresh_agent_takes_the_place_of_the_old_one(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("do", demo, "/new", "/mark FRESH")
    assert ran.code == 0
    successor = ran.out.split()[-3] if "Marked" in ran.out else ""
    assert "Archived abc123. New agent:" in ran.out
    assert "FRESH" in sapwood("context", "demo").out
    assert successor != "abc123"


def test_a_child_sees_what_came_after_the_mark(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("fork", demo, "START", "--name", "twig")
    assert ran.out.startswith("Forked. Child: ")
    assert ran.out.endswith("(from START)\n")
    shown = sapwood("show", "twig").out
    assert "And storks?" in shown
    assert "herons" not in shown


def test_a_child_with_a_goal_says_how_to_run_it(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("fork", demo, "--goal", "Find the leak.", "--name", "leak")
    child = ran.out.split()[-1]
    assert f"sapwood run --agent {child}" in ran.err
    assert "working" in sapwood("agents").out


def test_the_seeds_pattern_delegates_a_goal(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("do", demo, "/mark T", "Find the leak.", "/fork T")
    assert ran.code == 0
    child = ran.out.splitlines()[-1].split()[2]
    assert "Find the leak." in sapwood("show", child).out


def test_mail_waits_to_be_read(sapwood: Sapwooder, demo: str) -> None:
    assert sapwood("send", demo, "The", "build", "is", "red.").out == "Sent to abc123.\n"
    assert "1 new" in sapwood("agents").out
    assert "The build is red." in sapwood("do", demo, "/check-mail --peek").out
    assert "1 unread" in sapwood("context", demo).out


def test_mail_can_be_piped_in(sapwood: Sapwooder, demo: str) -> None:
    sapwood("send", demo, "-", stdin="From a pipe.\n")
    assert "From a pipe." in sapwood("do", demo, "/check-mail").out


def test_mail_to_the_dead_is_refused(sapwood: Sapwooder, demo: str) -> None:
    sapwood("kill", demo)
    ran = sapwood("send", "abc123", "Hello?")
    assert ran.code == 1
    assert "sapwood fork abc123" in ran.err


def test_an_open_turn_is_interrupted_from_outside(sapwood: Sapwooder, database: Database) -> None:
    async def leave_open(wood: Sapwood) -> None:
        agent = await wood.start("busy", id="busy1")
        await agent.submit("Think for long.")

    database(leave_open)
    refused = sapwood("do", "busy", "/clear")
    assert refused.code == 1
    assert "sapwood interrupt" in refused.err
    assert sapwood("interrupt", "busy").code == 0
    assert "interrupted: by the user" in sapwood("show", "busy").out
    assert sapwood("do", "busy", "/clear").code == 0


def test_killing_tells_who_was_ended(sapwood: Sapwooder, demo: str) -> None:
    child = sapwood("fork", demo).out.split()[-1]
    assert sapwood("kill", demo).out == f"Killed abc123, {child}.\n"


def test_a_session_of_another_program_is_forked_into_an_own_agent(
    sapwood: Sapwooder, home: Path
) -> None:
    ran = sapwood("fork", "--from", str(SESSION), "--name", "review")
    assert ran.code == Exit.OK
    assert "Forked. Child:" in ran.out
    told = sapwood("show", "review").out
    assert "Implement OAuth for the mobile app." in told
    assert "One OAuth test fails" in told
    (act,) = map(json.loads, sapwood("journal", "--json").out.splitlines())
    assert (act["did"], act["source"]) == ("forked", "claude-code")


def test_forking_a_session_twice_imports_it_once(sapwood: Sapwooder) -> None:
    for name in ("one", "two"):
        assert sapwood("fork", "--from", str(SESSION), "--name", name).code == Exit.OK
    agents = [json.loads(line) for line in sapwood("agents", "--json").out.splitlines()]
    assert len(agents) == 3
    assert len({agent["parent"] for agent in agents if agent.get("parent")}) == 1


def test_a_forked_session_with_a_goal_has_work_to_do(sapwood: Sapwooder) -> None:
    ran = sapwood("fork", "--from", str(SESSION), "--goal", "Review it.", "--name", "review")
    assert "has work to do" in ran.err
    assert "Review it." in sapwood("show", "review").out


def test_a_fork_names_an_agent_or_a_session(sapwood: Sapwooder, demo: str) -> None:
    assert sapwood("fork").code == Exit.USAGE
    assert sapwood("fork", demo, "--from", str(SESSION)).code == Exit.USAGE
    assert sapwood("fork", demo, "--model", "gpt-5").code == Exit.USAGE
    assert sapwood("fork", "--from", "zzz").code == Exit.NO_SESSION
