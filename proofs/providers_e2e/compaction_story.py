"""The program's own compactions, taken back by Sapwood: checked by the next requests."""

import json
from collections.abc import Callable

from proofs.agents_e2e.codex import Codex
from proofs.providers_e2e.conversation import Conversation, turn, until
from proofs.providers_e2e.conversation import whole as turns_of
from proofs.providers_e2e.open_program import OpenProgram
from proofs.providers_e2e.sent_history import history_in, words

_FULL = "[[usage: 95000]] "
"""Makes the program believe that its window is full: it compacts before the next request."""
_OWN_ROWS = (
    "<local-command-caveat>",
    "<command-name>/compact",
    "<local-command-stdout>Compacted",
    "Continue if you have next steps",
)
"""What Claude Code writes when its user types /compact, which stays in front of the next prompt;
and how opencode continues a turn in which it compacted.
"""
QUESTION = "What did we do so far?"
"""opencode asks it in front of its summary, which is the answer."""
_SUMMARY = (
    "This session is being continued",
    "Another language model started",
    "The conversation history before this point was compacted",
    QUESTION,
)
_LEVELS = {
    "claude-code": (4, 2, 0),
    "codex": (5, 4, 2, 0),  # in the middle of the fifth turn and again before the sixth
    "opencode": (4, 2, 0),
    "pi": (4, 2, 0),
}
"""The first turn in view after the undo of each compaction."""
_ANSWERS = ("ok", "done.")
"""What the scripted model says in a turn whose script was compacted away."""


def own_compactions(talk: Conversation) -> None:
    """Its own compactions, by hand and automatic, several deep: each undo keeps what came later"""
    names = [f"TURN{number}" for number in range(71, 77)]
    a, b, c, d, e, f = (turn(talk.program, name) for name in names)
    with OpenProgram(talk.home, talk.program) as program:
        program.ask(a, b)
        program.compact()
        program.ask(c, d)
        program.compact()
        program.ask(f"{names[4]} {_FULL}{e.removeprefix(names[4])}", f)
        session = program.session
    beside = talk.other("compactions", names)
    beside.expect_files("its own compactions")
    levels = [names[first:] for first in _LEVELS[talk.program]]
    since: list[str] = []
    for number, path in enumerate(levels, 1):
        told = talk.sapwood("undo", "--session", session)
        talk.checks.expect("it says what was undone", "Undone: /compact." in told, told)
        beside.path = [*path, *since]
        prompt = beside.probe()
        since.append(beside.path[-1])
        with OpenProgram(talk.home, talk.program, session) as program:
            program.ask(prompt)
        _expect_undone(beside, f"undo {number} of {len(levels)}", whole=path == names)
        beside.expect_files(f"undo {number}")
    told = talk.sapwood("undo", "--session", session, codes=(1,))
    talk.checks.expect("then there is nothing to undo", "nothing to undo" in told, told)


def _expect_undone(talk: Conversation, act: str, *, whole: bool) -> None:
    """Checks the request of the last probe: the path, after a summary unless it is the `whole`.

    Between the two stands what the program itself had kept behind its summary.
    """
    got = words(history_in(talk.request(talk.path[-1], last=False)))
    kept = [word for word in got if not word.startswith(_OWN_ROWS)]
    behind = _behind_summary(kept)
    talk.checks.expect(
        f"{act}: the summary is {'gone' if whole else 'in front'}", whole == (behind is None)
    )
    pieces = [word for word in (kept if behind is None else behind) if word not in _ANSWERS]
    wanted = [word for word in turns_of(*talk.path[:-1]) if word != "ANSWER75"] + talk.path[-1:]
    if not whole:
        wanted = _kept_by_program(talk, talk.path[0]) + wanted
    talk.checks.expect(f"{act}: the request has exactly what came after it", pieces == wanted, kept)


def _behind_summary(sent: list[str]) -> list[str] | None:
    """What stands behind the last summary; None if there is none."""
    front = [number for number, word in enumerate(sent) if word.startswith(_SUMMARY)]
    return sent[front[-1] + 1 + (sent[front[-1]] == QUESTION) :] if front else None


def _kept_by_program(talk: Conversation, first: str) -> list[str]:
    """What the program sent between its summary and the first turn after it."""
    for body in talk.requests(first):
        sent = [word for word in words(history_in(body)) if not word.startswith(_OWN_ROWS)]
        behind = _behind_summary(sent)
        if behind is not None:
            return [word for word in behind[: behind.index(first)] if word not in _ANSWERS]
    return []


def compaction_in_a_driven_turn(talk: Conversation) -> None:
    """It compacts in the middle of a turn that Sapwood drives: the next request has everything"""
    driven = talk.other("driven", [])
    names = [f"TURN{number}" for number in range(81, 84)]
    first, second, third = (turn(talk.program, name) for name in names)
    full = f"{names[1]} {_FULL}{second.removeprefix(names[1])}"
    driven.path = list(names)
    driven.start([first, "/mark A", full, "/mark B", third, "/mark C", driven.probe()])
    compacted = [each["data"]["text"] for each in driven.events("session.differed")]
    talk.checks.expect("its compaction is reported", "compacted" in "".join(compacted), compacted)
    got = words(history_in(driven.request(driven.path[-1], last=False)))
    pieces = [word for word in got if word not in _ANSWERS and not word.startswith(_OWN_ROWS)]
    wanted = [word for word in turns_of(*names) if word != "ANSWER82"] + driven.path[-1:]
    talk.checks.expect("the next request has all turns and no summary", pieces == wanted, got)


def undo_inside(talk: Conversation) -> None:
    """An undo of its own compaction that is asked for while the session is open"""
    program = talk.program
    talk.sapwood("install", program, "--yes")
    if program == "codex":
        with Codex(talk.home) as codex:
            codex.trust_hooks()
    with OpenProgram(talk.home, program) as opened:
        for text in ("TURN91 [[say: ANSWER91]]", "TURN92 [[say: ANSWER92]]"):
            opened.ask(text)
        opened.compact()
        opened.ask("TURN93 [[say: ANSWER93]]")
        session = opened.session
        before = len(talk.home.acts("changed"))
        if program == "claude-code":
            opened.ask("/sapwood:undo")
        else:
            talk.sapwood("undo", "--session", session, "--later")
    told = "The session now has the history"
    until(lambda: told in str(talk.home.acts("changed")[before:]), "the session to be changed")
    inside = talk.other("asked inside", [])
    prompt = inside.probe()
    with OpenProgram(talk.home, program, session) as opened:
        opened.ask(prompt)
    got = words(history_in(inside.request(inside.path[-1], last=False)))
    asked = [word for word in got if word.startswith(("TURN", "ANSWER", "PROBE", *_SUMMARY))]
    wanted = [part for n in (91, 92, 93) for part in (f"TURN{n}", f"ANSWER{n}")]
    talk.checks.expect("the request has all turns", asked == [*wanted, inside.path[-1]], got)
    talk.sapwood("uninstall", program, "--yes")


def bring_turns(talk: Conversation) -> None:
    """Single turns come back after its own compaction, quoted in front; and their undo"""
    names = [f"TURN{number}" for number in range(94, 98)]
    with OpenProgram(talk.home, talk.program) as program:
        program.ask(*(turn(talk.program, name) for name in names[:3]))
        program.compact()
        program.ask(turn(talk.program, names[3]))
        session = program.session
    shown = ("--session", session)
    agent = json.loads(talk.sapwood("mark", "HERE", *shown, "--json"))["agent"]
    brought = talk.other("turns that were brought back", names[3:])
    brought.name = agent
    numbers = [str(brought.number_of(name)) for name in (names[0], names[2])]
    told = talk.sapwood("bring", *numbers, *shown)
    talk.checks.expect("it says what came back", "Brought 2 turns back" in told, told)
    for expected in ((names[0], names[2]), ()):
        prompt = brought.probe()
        with OpenProgram(talk.home, talk.program, session) as program:
            program.ask(prompt)
        texts = json.dumps(history_in(brought.request(brought.path[-1], last=False)))
        found = tuple(name for name in names[:3] if f"User: {name}" in texts)
        talk.checks.expect(f"the request quotes {expected or 'nothing'}", found == expected, texts)
        if expected:
            talk.sapwood("undo", *shown)


COMPACTIONS: tuple[Callable[[Conversation], None], ...] = (
    own_compactions,
    compaction_in_a_driven_turn,
    undo_inside,
    bring_turns,
)
