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


def dropped(talk: Conversation) -> None:
    """Beside the program: turns and a tool result of the middle are dropped, come back, and undo"""
    ask = partial(ask_program, talk.home, talk.program)
    names = [f"TURN{number}" for number in range(81, 87)]
    session = ask([turn(talk.program, name) for name in names])
    shown = ("--session", session)
    beside = talk.other("dropped", names)
    beside.expect_files("the session is made")

    def go_on(act: str, path: list[str]) -> str:
        beside.path = list(path)
        ask([beside.probe()], session)
        beside.expect_request(act, beside.path)
        beside.expect_files(act)
        return beside.path[-1]

    talk.sapwood("context", "drop", "2-3", *shown)
    first = go_on("a drop of the middle", [names[0], *names[3:]])
    talk.sapwood("context", "drop", "5", *shown)
    second = go_on("a second drop", [names[0], names[3], names[5], first])
    talk.sapwood("context", "bring", "3", *shown)
    kept = [names[0], names[2], names[3], names[5], first, second]
    third = go_on("a turn that came back to its place", kept)
    talk.sapwood("context", "undo", *shown)
    fourth = go_on("the undo of that", [names[0], names[3], names[5], first, second, third])
    talk.sapwood("context", "drop", "4.1", *shown)
    ask([beside.probe()], session)
    sent = json.dumps(talk.model.requests[-1].body)
    is_stub = "[dropped: " in sent
    talk.checks.expect("a dropped result is a stub in the request", is_stub, sent[-2_000:])
    beside.expect_files("a drop of a result")
    fifth = beside.path[-1]
    talk.sapwood("context", "undo", *shown)
    path = [names[0], names[3], names[5], first, second, third, fourth, fifth]
    go_on("the undo of a dropped result", path)


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


BESIDE: tuple[Callable[[Conversation], None], ...] = (at_rest, dropped, swept)
