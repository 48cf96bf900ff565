"""Commands that are typed in the program itself, and changes that wait for the end of a session."""

import json
from collections.abc import Callable

from proofs.agents_e2e.claude import Claude
from proofs.providers_e2e.conversation import Conversation, until
from proofs.providers_e2e.open_program import OpenProgram, ask_program
from proofs.providers_e2e.sent_history import history_in

_OPEN = "This takes effect when you close the session"


def typed_commands(talk: Conversation) -> None:
    """A turn that was typed as a command keeps its prompt: clear, undo, and the next request"""
    if talk.program != "claude-code":
        print("  --  Codex has no commands of the user")
        return
    folder = talk.home.project / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("Review $ARGUMENTS now. [[say: reviewed it]]\n")
    with Claude(talk.home) as claude:
        for text in ("FIRST [[say: one]]", "/review auth"):
            claude.ask(text)
        session = claude.session
    before = _texts(talk)
    talk.sapwood("clear", "1", "--session", session)
    with Claude(talk.home, resume=session) as claude:
        claude.ask("SECOND [[say: two]]")
    sent = _texts(talk)
    is_whole = "<command-args>auth" in sent[0] and "Review auth now." in sent[1]
    talk.checks.expect("after clear 1 the request begins with the command", is_whole, sent)
    talk.sapwood("undo", "--session", session)
    with Claude(talk.home, resume=session) as claude:
        claude.ask("THIRD [[say: three]]")
    sent = _texts(talk)
    talk.checks.expect("the undo restores the request", sent[: len(before)] == before, sent)


def rewind_inside(talk: Conversation) -> None:
    """A rewind that is typed in the open session takes effect when it is closed; and its undo"""
    if talk.program != "claude-code":
        print("  --  Codex has no commands of a plugin")
        return
    talk.sapwood("install", "claude-code", "--yes")
    with Claude(talk.home) as claude:
        looks = '[[tool: mcp__plugin_sapwood_sapwood__context {"action": "estimate"}]]'
        for text in (f"FIRST {looks} [[say: one]]", "/sapwood:mark HERE", "SECOND [[say: two]]"):
            claude.ask(text)
        claude.ask("/sapwood:rewind HERE")
        session = claude.session
    told = _texts(talk)[-1]
    talk.checks.expect("it says when it takes effect", _OPEN in told, told)
    path = next(talk.home.claude.glob(f"projects/*/{session}.jsonl"))
    until(lambda: "Changed by Sapwood" in path.read_text(), "the hook to change the session")
    with Claude(talk.home, resume=session) as claude:
        claude.ask("THIRD [[say: three]]")
    sent = _texts(talk)
    talk.checks.expect("the request has what came before the mark", _names(sent) == "FIRST THIRD")
    talk.sapwood("undo", "--session", session)
    with Claude(talk.home, resume=session) as claude:
        claude.ask("FOURTH [[say: four]]")
    names = _names(_texts(talk))
    talk.checks.expect("the undo brings the turn back", names == "FIRST SECOND FOURTH", names)
    shown = json.loads(talk.sapwood("mark", "THEN", "--session", session, "--json"))
    rows = talk.sapwood("show", shown["agent"])
    talk.checks.expect("one rewind is shown", rows.count("Rewound") == 1, rows)
    talk.sapwood("uninstall", "claude-code", "--yes")


def later_without_hooks(talk: Conversation) -> None:
    """A change of an open session without hooks takes effect when it is closed"""
    with OpenProgram(talk.home, talk.program) as program:
        program.ask("FIRST [[say: one]]", "SECOND [[say: two]]")
        session = program.session
        told = talk.sapwood("clear", "1", "--session", session, "--later")
    talk.checks.expect("it says when it takes effect", _OPEN in told, told)
    places = (talk.home.claude / "projects", talk.home.codex / "sessions")
    [path] = [path for place in places for path in place.rglob(f"*{session}.jsonl")]
    marks = ("Changed by Sapwood", '"compacted"')
    until(lambda: any(mark in path.read_text() for mark in marks), "the session to be changed")
    ask_program(talk.home, talk.program, ["THIRD [[say: three]]"], session)
    names = _names(_texts(talk))
    talk.checks.expect("the request has the last turn", names == "SECOND THIRD", names)


def _texts(talk: Conversation) -> list[str]:
    """The texts of the last request."""
    body = talk.model.requests[-1].body
    assert isinstance(body, dict)
    return [str(part.get("text", "")) for part in history_in(body) if "text" in part]


def _names(texts: list[str]) -> str:
    words = [text.split()[0] for text in texts if text.strip()]
    return " ".join(word for word in words if word in ("FIRST", "SECOND", "THIRD", "FOURTH"))


COMMANDS: tuple[Callable[[Conversation], None], ...] = (
    typed_commands,
    rewind_inside,
    later_without_hooks,
)
