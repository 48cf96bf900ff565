"""Attacks on the terminal: escape sequences, odd times and options in what others wrote."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from proofs.attack.registry import attack, held
from proofs.attack.victim import Victim

_EVIL = "\x1b]0;evil\x07\x1b[2J\x9b31m\u202eevil\u2066\x08\r"
_RAW = {
    "ESC ]": b"\x1b]0;evil",
    "ESC [2J evil": b"\x1b[2J\xc2\x9b",
    "U+009B": b"\xc2\x9b31m",
    "U+202E": "\u202e".encode(),
    "U+2066": "\u2066".encode(),
    "backspace": b"\x08\revil",
}


def _clean(where: str, written: bytes) -> None:
    for name, raw in _RAW.items():
        held(raw not in written, f"{where} writes {name}")


@attack("S13", "send terminal escapes through names, marks, pins, mail and answers")
def hostile_fields(victim: Victim) -> None:
    quoted = json.dumps(_EVIL)
    program = f"""
import asyncio, sapwood
EVIL = {quoted}
async def main():
    async with sapwood.open({str(victim.database)!r}) as db:
        agent = await db.start("talk", id="hostile", model="m" + EVIL, pins={{"style": EVIL}})
        for work in (
            lambda: agent.record("ask " + EVIL, "answer " + EVIL),
            lambda: agent.rename("name " + EVIL),
            lambda: agent.mark("M"),
        ):
            try:
                await work()
            except sapwood.SapwoodError:
                pass
        child = await agent.fork(name="child")
        await child.send(agent, "mail " + EVIL)
asyncio.run(main())
"""
    victim.database.parent.mkdir(parents=True, exist_ok=True)
    ended = victim.call([*victim.command()[:2], "-c", program])
    held(ended.code == 0, f"the library failed: {ended.err[-500:]}")
    for args in (
        ("agents",),
        ("show", "hostile"),
        ("show", "hostile", "--everything"),
        ("log", "hostile"),
        ("log", "hostile", "--json"),
        ("agents", "--json"),
        ("export", "hostile"),
        ("search", "ask"),
        ("context", "hostile"),
        ("context", "resume", "--session", "hostile"),
        ("context", "ledger", "--session", "hostile"),
        ("context", "handoff", "--session", "hostile", "someone"),
        ("do", "hostile", "/check-mail"),
        ("do", "hostile", "/context"),
        ("do", "hostile", f"/mark {_EVIL}"),
        ("show", _EVIL),
    ):
        _clean(" ".join(args[:2]), victim.on_terminal(*args))


@attack("S13", "send terminal escapes through a transcript of another program")
def hostile_transcript(victim: Victim) -> None:
    _transcript(victim, model="m" + _EVIL, text="answer " + _EVIL, at="2026-01-01T00:00:00Z")
    for args in (
        ("import", "--all"),
        ("agents",),
        ("context",),
        ("context", "resume"),
        ("context", "breakdown"),
        ("search", "answer"),
    ):
        _clean(" ".join(args), victim.on_terminal(*args))


@attack("S14", "stop every search with one odd time in a transcript")
def odd_times(victim: Victim) -> None:
    times = ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2016-12-31T23:59:60Z"]
    for number, at in enumerate(times):
        _transcript(victim, model="m", text="herons nest", at=at, name=f"s-{number}")
    victim.run("import", "--all")
    for args in (("search", "herons"), ("agents", "--all"), ("context", "search", "herons")):
        ended = victim.run(*args)
        held("Traceback" not in ended.text, f"{args[0]} fails: {ended.err[-300:]}")
        held("ValueError" not in ended.text, f"{args[0]} fails: {ended.err[-300:]}")
        held("OverflowError" not in ended.text, f"{args[0]} fails: {ended.err[-300:]}")


@attack("low", "have an option printed as the id of a session to go on with")
def option_as_id(victim: Victim) -> None:
    name = "--dangerously-skip-permissions"
    _transcript(victim, model="m", text="herons nest", at="2026-01-01T00:00:00Z", name=name)
    for args in (("context",), ("context", "resume"), ("agents",), ("context", "archive")):
        printed = victim.run(*args).text
        held(f"--resume {name}" not in printed, f"{' '.join(args)} prints the option")


def _transcript(victim: Victim, *, model: str, text: str, at: str, name: str = "s-1") -> Path:
    """A session of Claude Code in the project."""
    slug = "".join(char if char.isalnum() else "-" for char in str(victim.project))
    file = victim.home / ".claude" / "projects" / slug / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in _rows(victim, model, text, at, name)))
    return file


def _rows(
    victim: Victim, model: str, text: str, at: str, name: str
) -> Iterable[Mapping[str, object]]:
    common = {
        "sessionId": name,
        "cwd": str(victim.project),
        "version": "2.1.325",
        "gitBranch": "main" + _EVIL,
        "isSidechain": False,
        "userType": "external",
        "timestamp": at,
    }
    yield {
        **common,
        "type": "user",
        "uuid": f"{name}-u1",
        "parentUuid": None,
        "message": {"role": "user", "content": "Where do herons nest? " + _EVIL},
    }
    yield {
        **common,
        "type": "assistant",
        "uuid": f"{name}-a1",
        "parentUuid": f"{name}-u1",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 5, "output_tokens": 5},
        },
    }
