"""A session that the program itself made: changed at rest by Sapwood, and gone on with there."""

import json
from collections.abc import Callable
from functools import partial

from proofs.providers_e2e.conversation import Conversation, turn
from proofs.providers_e2e.open_program import ask_program
from proofs.providers_e2e.own_screen import listed_sessions


def at_rest(talk: Conversation) -> None:
    """Beside the program: clear, undo, rewind and fork of a session that it made itself"""
    ask = partial(ask_program, talk.home, talk.program)
    names = [f"TURN{number}" for number in range(51, 57)]
    session = ask([turn(talk.program, name) for name in names[:3]])
    shown = ("--session", session)
    talk.sapwood("mark", *shown, "HALF")
    ask([turn(talk.program, name) for name in names[3:]], session)
    beside = talk.other("beside", names)
    beside.expect_files("the session is made")

    def go_on(act: str, path: list[str], session: str = session) -> str:
        beside.path = list(path)
        ask([beside.probe()], session)
        beside.expect_request(act, beside.path)
        beside.expect_files(act)
        return beside.path[-1]

    told = talk.sapwood("clear", *shown, "2")
    talk.checks.expect("it says how to go on", session in told, told)
    first = go_on("a clear 2", names[-2:])
    talk.sapwood("undo", *shown)
    second = go_on("its undo", [*names, first])
    talk.sapwood("rewind", *shown, "HALF")
    go_on("a rewind to a mark", names[:3])
    talk.sapwood("undo", *shown)
    third = go_on("its undo", [*names, first, second])
    told = json.loads(talk.sapwood("fork", *shown, "--json"))
    child = str(told["session"])
    talk.checks.expect("a fork has an id of its own", child != session, told)
    go_on("a fork", [*names, first, second, third], child)


def swept(talk: Conversation) -> None:
    """Deleted by the program: restored from Sapwood into its list, and gone on with there"""
    ask = partial(ask_program, talk.home, talk.program)
    names = [f"TURN{number}" for number in range(71, 74)]
    session = ask([turn(talk.program, name) for name in names])
    files = [
        path
        for place in (talk.home.claude, talk.home.codex, talk.home.pi)
        for path in place.rglob(f"*{session}*.jsonl")
    ]
    talk.sapwood("import", *map(str, files))
    for path in files:
        path.unlink()
    report = json.loads(talk.sapwood("report", "--json").splitlines()[0])
    kept = [each["id"] for each in report["swept"]]
    talk.checks.expect("the report lists what is only in Sapwood", session in kept, kept)
    told = talk.sapwood("restore", session, "--to", talk.program)
    restored = told.split()[-1]
    talk.checks.expect("a restored session keeps its id", restored == session, told)
    listed = listed_sessions(talk.home, talk.program, names[0])
    talk.checks.expect("the program lists it", names[0] in listed, listed)
    beside = talk.other("swept", names)
    beside.path = list(names)
    beside.expect_files("the session is restored")
    ask([beside.probe()], restored)
    beside.expect_request("a restored session", beside.path)
    beside.expect_files("a restored session")
    told = talk.sapwood("restore", session, "--to", talk.program)
    talk.checks.expect("a session that is there is left alone", "still has" in told, told)


BESIDE: tuple[Callable[[Conversation], None], ...] = (at_rest, swept)
