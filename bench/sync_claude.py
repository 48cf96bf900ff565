"""Rows of `bench sync_session` for Claude Code."""

import asyncio
import json
import statistics
import time
from pathlib import Path

from bench.sync_figures import Figure
from bench.transcripts import write_claude
from proofs.providers_e2e.claude_world import ClaudeWorld, claude_world, history
from sapwood.core.ids import TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.programs.claude_code.installed_program import project_folder

LIVE_MS = 2_000.0
AT_REST_CPU_MS = 150.0
TURNS = 6
MAX_LIVE = 5


def claude_figures(samples: int, megabytes: int) -> list[Figure]:
    """Measures live clears and rewinds, and changes of a large session at rest."""
    clears, rewinds = asyncio.run(_live(min(samples, MAX_LIVE)))
    first, again, opened = asyncio.run(_at_rest(samples, megabytes))
    name = f"Claude Code, at rest: clear 2 of {megabytes} MB"
    return [
        Figure(f"Claude Code, live: clear 2 of {TURNS} turns, with respawn", clears, "ms", LIVE_MS),
        Figure("Claude Code, live: rewind by one turn", rewinds, "ms", LIVE_MS),
        Figure(name, first, "ms of CPU", AT_REST_CPU_MS),
        Figure("  the second change, which copies only what is new", again, "ms of CPU", None),
        Figure("  start of Claude Code with it, and a whole turn", opened, "ms", None),
    ]


async def _live(samples: int) -> tuple[float, float]:
    clears: list[float] = []
    rewinds: list[float] = []
    async with claude_world() as world:
        for _ in range(samples):
            session, rows = await world.turns(TURNS)
            for kept, times in ((rows[:-1], rewinds), (rows[-3:-1], clears)):
                started = time.perf_counter()
                await world.provider.sync_session(session, history(*kept), world.options())
                times.append((time.perf_counter() - started) * 1e3)
            await world.provider.close(session)
    return statistics.median(clears), statistics.median(rewinds)


async def _at_rest(samples: int, megabytes: int) -> tuple[float, float, float]:
    """CPU of this process: the transcript read, a private copy, one row appended."""
    times: list[list[float]] = [[], []]
    async with claude_world() as world:
        session, rows = _large_session(world, megabytes)
        original = world.content(session)
        for number in range(samples):
            world.replace(session, original)
            provider = world.new_provider()
            await asyncio.to_thread(provider.prove)  # it was probed, as after the first use
            world.forget_copies()
            for kept, found in zip((rows[-2:], rows[-3:]), times, strict=True):
                before = time.process_time()
                synced = await provider.sync_session(session, history(*kept), world.options())
                found.append((time.process_time() - before) * 1e3)
                if synced.by != "boundary":
                    raise RuntimeError(f"sample {number} was changed by {synced.by!r}")
        started = time.perf_counter()
        await world.probe(session)
        opened = (time.perf_counter() - started) * 1e3
        sent = [message for message in world.messages if message["role"] == "user"]
        prompts = [text for message in sent for text in _texts(message["content"])]
        if len(prompts) != 4:  # three turns and the probe
            raise RuntimeError(f"Claude Code sent {len(prompts)} prompts instead of 4")
    return statistics.median(times[0]), statistics.median(times[1]), opened


def _texts(blocks: list[dict[str, str]]) -> list[str]:
    return [block["text"] for block in blocks if block["type"] == "text"]


def _large_session(world: ClaudeWorld, megabytes: int) -> tuple[ProgramSession, list[NativeRows]]:
    """A session as the program writes it, and the rows of its turns."""
    folder = world.home.claude / "projects" / project_folder(str(world.home.project))
    folder.mkdir(parents=True)
    path = folder / "new.jsonl"
    write_claude(path, megabytes * 1_000_000)
    turns: list[tuple[str, str]] = []
    own = ""
    for line in path.read_bytes().splitlines():
        row = json.loads(line)
        own = row["sessionId"]
        if row["type"] == "user" and isinstance(row["message"]["content"], str):
            turns.append((row["uuid"], row["uuid"]))
        elif turns and row["type"] in ("user", "assistant"):
            turns[-1] = turns[-1][0], row["uuid"]
    target = path.rename(Path(folder, f"{own}.jsonl"))
    session = ProgramSession("claude-code", own, str(target))
    return session, [NativeRows(session, TranscriptRange(*turn)) for turn in turns]
