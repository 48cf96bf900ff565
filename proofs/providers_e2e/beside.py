"""Sessions of the real programs, changed at rest from the command line: `just beside-e2e`.

Each program runs six turns with tool calls. Then Sapwood's commands change the session, the program
itself goes on after each, and what its model received is compared with what it should have seen.
`python -m proofs.providers_e2e.beside [claude-code | codex]` tries both, or one.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from proofs.agents_e2e.checks import Checks
from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.providers_e2e.claude_world import ClaudeWorld, claude_world
from proofs.providers_e2e.codex_world import CodexWorld, codex_world
from sapwood.core.program_session import ProgramSession

_TURNS = 6
_CODEX = ("codex", "exec", "--skip-git-repo-check", "resume")

World = ClaudeWorld | CodexWorld


class Story:
    """One session of a program, and what its model should see."""

    def __init__(self, world: World, checks: Checks, session: ProgramSession) -> None:
        self._world = world
        self._checks = checks
        self._session = session
        self._number = _TURNS
        self.seen: list[str] = [f"TURN{number}" for number in range(1, _TURNS + 1)]

    async def sapwood(self, *words: str, code: int = 0) -> str:
        """Runs a command on the session and returns what it printed."""
        ran = await asyncio.to_thread(self._world.home.sapwood, *words)
        name = f"sapwood {' '.join(words[:2])}"
        self._checks.expect(f"{name} ends with {code}", ran.returncode == code, ran.stderr)
        return ran.stdout + ran.stderr

    async def goes_on(self, what: str, session: str = "", *, after_summary: bool = False) -> None:
        """The program goes on with one turn; its model must see what it should, and that turn.

        A summary in front may name turns too.
        """
        self._number += 1
        word = f"TURN{self._number}"
        ran = await asyncio.to_thread(
            self._world.home.run, *self._resume(session or self._session.id), f"{word} [[say: ok]]"
        )
        self._checks.expect(f"the program goes on after {what}", ran.returncode == 0, ran.stderr)
        self.seen.append(word)
        received = self._world.received
        if after_summary:
            received = received[-len(self.seen) :]
        self._checks.expect(
            f"the model sees exactly the path: {what}", received == self.seen, received
        )

    def _resume(self, session: str) -> Sequence[str]:
        if isinstance(self._world, ClaudeWorld):
            return ("claude", "-p", "--resume", session)
        return (*_CODEX, session)


async def run_story(world: World, checks: Checks) -> None:
    """Changes one session in every way."""
    session, _ = await world.turns(_TURNS)
    story = Story(world, checks, session)
    said = await story.sapwood("clear", "2", code=1)
    checks.expect("an open session is left alone", "Nothing was changed" in said, said)
    await world.provider.close()
    before = _files(world, session)
    await story.sapwood("clear", "2")
    story.seen = story.seen[-2:]
    await story.goes_on("clear 2")
    await story.sapwood("undo")
    story.seen = [f"TURN{number}" for number in range(1, 8)]
    await story.goes_on("its undo")
    await story.sapwood("mark", "HERE")
    at_mark = list(story.seen)
    await story.goes_on("a mark")
    await story.sapwood("rewind", "HERE")
    story.seen = list(at_mark)
    await story.goes_on("rewind to the mark")
    printed = await story.sapwood("edit")
    checks.expect("edit prints the prompt", f"{story.seen[-1]} [[say: ok]]" in printed, printed)
    story.seen = list(at_mark)
    await story.goes_on("edit")
    whole = list(story.seen)
    await story.sapwood("compact", "--session", session.id, "--keep", "2")
    story.seen = whole[-2:]
    await story.goes_on("compact", after_summary=True)
    await story.sapwood("undo")
    story.seen = [*whole, story.seen[-1]]
    await story.goes_on("undo of the summary")
    whole = list(story.seen)
    await story.sapwood("clear")
    story.seen = []
    await story.goes_on("a bare clear")
    await story.sapwood("undo")
    story.seen = [*whole, story.seen[-1]]
    await story.goes_on("its undo")
    forked = json.loads(await story.sapwood("fork", "--session", session.id, "--json"))
    checks.expect("a fork has another id", forked["session"] != session.id)
    await story.goes_on("a fork", forked["session"])
    after = _files(world, session)
    kept = all(after[path].startswith(content) for path, content in before.items())
    checks.expect("the former content is a prefix of every file", kept)


def _files(world: World, session: ProgramSession) -> dict[Path, bytes]:
    if isinstance(world, CodexWorld):
        return world.files()
    path = Path(session.path)
    return {path: path.read_bytes()}


async def _run(checks: Checks, names: list[str]) -> None:
    if not names or "claude-code" in names:
        print("\nclaude-code", flush=True)
        async with claude_world() as world:
            await run_story(world, checks)
    if not names or "codex" in names:
        print("\ncodex", flush=True)
        async with codex_world() as world:
            await run_story(world, checks)


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a check failed."""
    try:
        find_programs()
        enter_namespace(arguments, "proofs.providers_e2e.beside")
    except ProofError as error:
        print(f"beside-e2e: {error}", file=sys.stderr)
        return 1
    checks, started = Checks(), time.monotonic()
    checks.expect("no way leads out of here", not reaches_outside())
    asyncio.run(_run(checks, arguments))
    seconds = time.monotonic() - started
    total = checks.passed + checks.failed
    print(f"beside-e2e: {checks.passed} of {total} passed in {seconds:.0f} s")
    return int(checks.failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
