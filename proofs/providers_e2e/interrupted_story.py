"""Kills in the middle of a turn, and a turn on the program's own screen in between."""

import json
import subprocess
import sys

from proofs.agents_e2e.codex import Codex
from proofs.providers_e2e.conversation import Conversation, turn, until
from proofs.providers_e2e.own_screen import listed_sessions, type_a_turn
from proofs.providers_e2e.processes import kill_program
from proofs.providers_e2e.sent_history import history_in, view_of, words

_GOES_ON = (0, 7)
"""The turn was finished, or it ended where the program was stopped, and that is said."""


def our_process_is_killed(talk: Conversation) -> None:
    """Sapwood is killed in the middle of a turn, and started again"""
    running = _begin(talk, "TURN41")
    running.kill()
    running.wait()
    talk.sapwood("run", "--agent", talk.name, codes=_GOES_ON)
    _expect_once(talk, "Sapwood was killed", "TURN41")


def the_program_is_killed(talk: Conversation) -> None:
    """The program is killed in the middle of a turn, and started again"""
    running = _begin(talk, "TURN42")
    talk.checks.expect("it was running", kill_program(talk.home, talk.program))
    running.communicate(timeout=60)
    if talk.is_open():
        talk.sapwood("run", "--agent", talk.name, codes=_GOES_ON)
    _expect_once(talk, "the program was killed", "TURN42")


def own_screen(talk: Conversation) -> None:
    """The session goes on in the program's own screen, and comes back"""
    session, typed = talk.sessions()[-1], talk.probe()
    name = talk.path[-1]
    answer = name.replace("PROBE", "ANSWER")
    type_a_turn(talk.home, talk.program, session, talk.path[-2], typed, answer)
    talk.checks.expect("its screen shows the last turn, and answers", True)
    got = _prompts(words(history_in(talk.request(name, last=False))))
    talk.checks.expect("there the model gets the live path", got == talk.path, got)
    if talk.program == "codex":
        _end_background_server(talk, session)
    talk.say(talk.probe())
    _expect_prompts(talk, "back in Sapwood")
    _expect_listed(talk, session)


def _end_background_server(talk: Conversation, session: str) -> None:
    """Ends the server that Codex's screen leaves behind, as the refusal of a change says."""
    told = talk.sapwood("clear", "--session", session, "2", codes=(1,))
    named = "codex app-server daemon stop" in " ".join(told.split())
    talk.checks.expect("the refusal names Codex's background server", named, told)
    ran = talk.home.run("codex", "app-server", "daemon", "stop")
    talk.checks.expect("it can be ended", ran.returncode == 0, ran.stderr)


def _expect_listed(talk: Conversation, session: str) -> None:
    """Checks that the program's own list of sessions has this one."""
    if talk.program == "codex":
        with Codex(talk.home) as codex:
            listed = codex.call("thread/list")
        found = [each["id"] for each in listed["data"]]
        talk.checks.expect("its own list has the session", session in found, found)
        return
    title = talk.path[-1]
    listed = listed_sessions(talk.home, talk.program, title)
    talk.checks.expect("its own list has the session", title in listed, listed)


INTERRUPTED = (our_process_is_killed, the_program_is_killed, own_screen)


def _begin(talk: Conversation, name: str) -> "subprocess.Popen[bytes]":
    """Starts a turn in a process of its own, up to the request after its tool call."""
    prompt = turn(talk.program, name, before="[[sleep: 2]] ")
    running = subprocess.Popen(
        [sys.executable, "-m", "sapwood.cli", "run", "--agent", talk.name, "-p", prompt],
        cwd=talk.home.project,
        env=talk.home.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    talk.path.append(name)
    until(lambda: len(talk.requests(name)) > 1, f"the second request of {name}")
    return running


def _expect_once(talk: Conversation, act: str, name: str) -> None:
    """Checks that a turn is in view once, with its call once."""
    talk.say(talk.probe())
    _expect_prompts(talk, act)
    got = words(history_in(talk.request(talk.path[-1], last=False)))
    number = name.removeprefix("TURN")
    calls = _calls(got, number)
    talk.checks.expect(
        f"{act}: its call and its result are there at most once", calls < (2, 2), got
    )
    view = view_of(json.loads(talk.sapwood("show", talk.name, "--json")))
    same = calls == _calls(view, number)
    talk.checks.expect(f"{act}: our view has the same call", same, (got[-8:], view[-8:]))


def _expect_prompts(talk: Conversation, act: str) -> None:
    got = _prompts(words(history_in(talk.request(talk.path[-1], last=False))))
    talk.checks.expect(f"{act}: every turn is sent once, in order", got == talk.path, got)
    view = _prompts(view_of(json.loads(talk.sapwood("show", talk.name, "--json"))))
    talk.checks.expect(f"{act}: our view has the same turns", view == talk.path, view)
    talk.expect_files(act)


def _calls(found: list[str], number: str) -> tuple[int, int]:
    return found.count(f"call result-{number}"), found.count(f"result-{number}")


def _prompts(found: list[str]) -> list[str]:
    return [word for word in found if word.startswith(("TURN", "PROBE"))]
