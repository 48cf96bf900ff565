"""The acts on a conversation that Sapwood drives: each is checked by the next request."""

import base64
import json
import subprocess
from collections.abc import Callable

from proofs.agents_e2e.environment import ProofError
from proofs.providers_e2e.beside_story import BESIDE, at_rest, dropped
from proofs.providers_e2e.command_story import COMMANDS
from proofs.providers_e2e.compaction_story import (
    COMPACTIONS,
    QUESTION,
    bring_turns,
    compaction_in_a_driven_turn,
    own_compactions,
)
from proofs.providers_e2e.conversation import Conversation, turn, whole
from proofs.providers_e2e.interrupted_story import (
    INTERRUPTED,
    our_process_is_killed,
    the_program_is_killed,
)
from proofs.providers_e2e.pi_story import installed
from proofs.providers_e2e.sent_history import history_in, words

_DATA = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
_DOT = base64.b64decode(_DATA)
"""A picture with one red dot."""


def run_acts(talk: Conversation, only: list[str]) -> None:
    """Runs the acts, one after the other, on one conversation.

    The first one makes the conversation, which some acts do not need.
    """
    _make_repository(talk)
    needs_first = not only or not set(only) <= _ALONE
    for act in _OF_PROGRAM.get(talk.program, ACTS):
        if (act is live_changes and needs_first) or not only or act.__name__ in only:
            talk.checks.begin(talk.program, title_of(act))
            try:
                act(talk)
            except ProofError as error:
                talk.checks.expect(f"{act.__name__} runs to its end", False, error)
    if needs_first:
        differed = talk.events("session.differed")
        talk.checks.expect("no request differed from its history", not differed, differed)


def title_of(act: Callable[[Conversation], None]) -> str:
    """The sentence that names an act in the table."""
    return (act.__doc__ or "").rstrip(".")


def live_changes(talk: Conversation) -> None:
    """Six turns, then clear 2 and its undo while the program runs."""
    names = [f"TURN{number}" for number in range(1, 7)]
    lines: list[str] = []
    for name in names:
        lines += [turn(talk.program, name), f"/mark {name.replace('TURN', 'T')}"]
        talk.path.append(name)
    lines += [talk.probe(), "/rewind T6", "/clear 2"]
    first, second, third = ("PROBE101", "PROBE102", "PROBE103")
    lines += [talk.probe(), "/undo", talk.probe()]
    talk.start(lines)
    talk.expect_request("six turns with calls", [*names, first])
    talk.expect_request("a live clear 2", [*names[-2:], second])
    talk.path = [*names, second, third]
    talk.expect_path("its undo")
    talk.expect_same_history("its undo", first, third)
    talk.checks.expect("it is one session", len(talk.sessions()) == 1, talk.sessions())


def clear_at_rest(talk: Conversation) -> None:
    """Clear 2 at rest, and its undo at rest"""
    old, first = list(talk.path), talk.path[-1]
    talk.do("/clear 2")
    talk.path = old[-2:]
    talk.say(talk.probe())
    talk.expect_path("a clear 2 at rest")
    talk.do("/undo")
    talk.path = [*old, talk.path[-1]]
    talk.say(talk.probe())
    talk.expect_path("its undo")
    talk.expect_same_history("its undo", first, talk.path[-1])


def rewind_to_a_mark(talk: Conversation) -> None:
    """A rewind to a mark at rest, and its undo while the program runs"""
    old, first = list(talk.path), talk.path[-1]
    talk.path = old[:3]
    rewound = talk.probe()
    during = list(talk.path)
    talk.path = old
    talk.say("/rewind T3", rewound, "/undo", talk.probe())
    talk.expect_request("a rewind to a mark", during)
    talk.expect_path("its undo")
    talk.expect_same_history("its undo", first, talk.path[-1])


def edit_a_turn(talk: Conversation) -> None:
    """An edit of turn 3, and its undo"""
    old, first = list(talk.path), talk.path[-1]
    told = talk.do(f"/edit {talk.number_of('TURN3')}")
    talk.checks.expect("an edit of turn 3: its prompt is given back", "TURN3 " in told, told)
    talk.path = [*old[:2], "TURN31"]
    edited = talk.probe()
    during = list(talk.path)
    talk.path = old
    talk.say(turn(talk.program, "TURN31"), "/mark T31", edited, "/undo --anyway", talk.probe())
    talk.expect_request("an edit of turn 3", during)
    talk.expect_path("its undo")
    talk.expect_same_history("its undo", first, talk.path[-1])


def subset(talk: Conversation) -> None:
    """A subset: a rewind, two more turns, then clear 3; and two undos"""
    old, first = list(talk.path), talk.path[-1]
    seven, eight = (turn(talk.program, name) for name in ("TURN7", "TURN8"))
    talk.path = ["TURN2", "TURN7", "TURN8"]
    kept = talk.probe()
    during = list(talk.path)
    talk.path = old
    undone = talk.probe()
    talk.say(
        "/rewind T2", seven, "/mark T7", eight, "/clear 3", kept, "/undo", "/undo --anyway", undone
    )
    talk.expect_request("turns in the middle and at the beginning are gone", during)
    talk.expect_path("two undos")
    talk.expect_same_history("two undos", first, talk.path[-1])


def summary(talk: Conversation) -> None:
    """Compact with a summary, and its undo"""
    old, first = list(talk.path), talk.path[-1]
    talk.sapwood("compact", talk.name, "--keep", "2", "--anyway")
    talk.path = old[-2:]
    kept = talk.probe()
    during = list(talk.path)
    talk.path = [*old, talk.path[-1]]
    talk.say(kept, "/undo", talk.probe())
    sent = words(history_in(talk.request(during[-1], last=False)))
    got = [word for word in sent if word != QUESTION]
    wanted = [*whole(*during[:-1]), during[-1]]
    shown = "a summary, then the last two turns"
    talk.checks.expect(f"the request has {shown}", got[1:] == wanted, got)
    talk.expect_path("its undo")
    talk.expect_same_history("its undo", first, talk.path[-1])


def clip(talk: Conversation) -> None:
    """A small window: the oldest turns leave the request, and come back without it"""
    old = list(talk.path)
    small, large = talk.probe(), talk.probe()
    last = talk.path[-1]
    talk.say("/config cap 120", small, "/config cap 0", "/undo", large)
    asked = words(history_in(talk.request(talk.path[-2], last=False)))
    kept = [word for word in asked if word in talk.path]
    talk.checks.expect("a small window: turns left", 1 < len(kept) < len(old), kept)
    talk.expect_request("a small window", [*old, talk.path[-2]][-len(kept) :])
    talk.path = [*old, talk.path[-2], last]
    talk.expect_path("without a cap")


def fork_from_a_mark(talk: Conversation) -> None:
    """A fork from a mark is a session of its own, and the parent goes on alone."""
    talk.sapwood("fork", talk.name, "T4", "--name", "child")
    child = talk.other("child", talk.path[4:])
    child.say(child.probe())
    child.expect_path("a fork from a mark")
    talk.say(talk.probe())
    talk.expect_path("its parent")
    differ = child.sessions() != talk.sessions()
    talk.checks.expect("a fork from a mark: it has a session of its own", differ)


def fork_to_a_worktree(talk: Conversation) -> None:
    """A fork to a worktree: the program works in that folder, with the same history."""
    talk.sapwood("fork", talk.name, "--name", "tree", "--worktree", "fix")
    tree = talk.other("tree", talk.path)
    place = turn(talk.program, "TURN9").replace("echo result-9", "pwd; echo result-9")
    tree.path.append("TURN9")
    tree.say(place, "/mark T9", tree.probe())
    tree.expect_path("a fork to a worktree")
    shown = json.dumps(history_in(tree.request(tree.path[-1])))
    talk.checks.expect("a fork to a worktree: it works there", "project-fix" in shown)


def picture(talk: Conversation) -> None:
    """A picture in a prompt: the model sees it, also after a clear and in the other program"""
    (talk.home.project / "dot.png").write_bytes(_DOT)
    seen = talk.other("pictures", [])
    seen.start([turn(talk.program, "TURN61")])

    def expect(when: str, *options: str) -> None:
        asked = seen.probe()
        seen.sapwood("run", "--agent", seen.name, "-p", asked, *options)
        body = json.dumps(history_in(seen.request(seen.path[-1], last=False)))
        talk.checks.expect(f"{when}: the model sees the picture", _DATA in body, body[-500:])

    expect("a picture", "--file", "dot.png")
    expect("the next prompt")
    seen.do("/clear 2")
    expect("a clear at rest")
    seen.do("/undo")
    expect("its undo")
    differed = seen.events("session.differed")
    talk.checks.expect("a picture: no request differed from its history", not differed, differed)
    seen.do(f"/model {'codex' if talk.program == 'claude-code' else 'claude-code'}")
    expect("the other program")


ACTS = (
    live_changes,
    clear_at_rest,
    rewind_to_a_mark,
    edit_a_turn,
    subset,
    summary,
    fork_from_a_mark,
    fork_to_a_worktree,
    clip,
    picture,
    *INTERRUPTED,
    *BESIDE,
    *COMMANDS,
    *COMPACTIONS,
)


_ALONE = {
    "crossing",
    *(act.__name__ for act in (picture, *BESIDE, *COMMANDS, *COMPACTIONS, installed)),
}
"""Acts on sessions of their own."""
_WITHOUT_SCREEN = (
    *ACTS[: ACTS.index(picture) + 1],
    our_process_is_killed,
    the_program_is_killed,
    at_rest,
    dropped,
    own_compactions,
    compaction_in_a_driven_turn,
    bring_turns,
)
_OF_PROGRAM = {"opencode": _WITHOUT_SCREEN, "pi": (*_WITHOUT_SCREEN, installed)}
"""The acts of programs that do not have all of them."""


def _make_repository(talk: Conversation) -> None:
    project = talk.home.project
    (project / "notes.txt").write_text("nests\n")
    who = ("-c", "user.name=proof", "-c", "user.email=proof@example.invalid")
    for args in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "first")):
        ran = subprocess.run(["git", *args], cwd=project, capture_output=True, check=False)
        if ran.returncode:
            raise ProofError(f"git {args[0]}: {ran.stderr.decode()}")
