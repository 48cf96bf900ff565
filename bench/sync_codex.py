"""Rows of `bench sync_session` for Codex."""

import asyncio
import json
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.sync_figures import Figure
from proofs.providers_e2e.codex_world import CodexWorld, codex_world, history
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.programs.agent_provider import ProviderOptions
from sapwood.programs.codex.provider import CodexProvider

LIVE_MS = 100.0
AT_REST_CPU_MS = 150.0
TURNS = 6
SPARE_SECONDS = 1.0
"""How long the spare server has to start. A person takes longer before the next command."""

_OUTPUT = "a line of the output of a tool\n" * 320


def codex_figures(samples: int, megabytes: int) -> list[Figure]:
    """Measures live clears and rewinds, and a clear of a large thread at rest."""
    clears, rewinds, again = asyncio.run(_live(samples))
    return [
        Figure(f"Codex, live: clear 2 of {TURNS} turns", clears, "ms", LIVE_MS),
        Figure("Codex, live: rewind by one turn", rewinds, "ms", LIVE_MS),
        Figure("Codex, live: undo of the clear, in the spare server", again, "ms", None),
        Figure(
            f"Codex, at rest: clear 2 of {megabytes} MB",
            _at_rest(samples, megabytes),
            "ms of CPU",
            AT_REST_CPU_MS,
        ),
    ]


async def _live(samples: int) -> tuple[float, float, float]:
    clears: list[float] = []
    rewinds: list[float] = []
    again: list[float] = []
    async with codex_world() as world:
        for _ in range(samples):
            session, rows = await world.turns(TURNS)
            session = await _sync(world, session, rows[:-1], rewinds)
            session = await _sync(world, session, rows[-3:-1], clears)
            await asyncio.sleep(SPARE_SECONDS)
            session = await _sync(world, session, rows[:-1], again)
            await world.provider.close(session)
    return statistics.median(clears), statistics.median(rewinds), statistics.median(again)


async def _sync(
    world: CodexWorld, session: ProgramSession, rows: list[NativeRows], times: list[float]
) -> ProgramSession:
    started = time.perf_counter()
    synced = await world.provider.sync_session(session, history(*rows), world.options())
    times.append((time.perf_counter() - started) * 1e3)
    return synced.session


def _at_rest(samples: int, megabytes: int) -> float:
    """CPU of this process: reading, a private copy, the rows."""
    times: list[float] = []
    for _ in range(samples):
        with TemporaryDirectory(prefix="sapwood-") as folder:
            home = Path(folder)
            session = _large_thread(home, megabytes)
            provider = CodexProvider(home / "data", {"CODEX_HOME": folder, "HOME": folder})
            before = time.process_time()
            synced = asyncio.run(
                provider.sync_session(session, history(None, None), ProviderOptions(folder))
            )
            times.append((time.process_time() - before) * 1e3)
            if synced.by != "boundary":
                raise RuntimeError(f"the thread at rest was changed by {synced.by!r}")
    return statistics.median(times)


def _large_thread(home: Path, megabytes: int) -> ProgramSession:
    """A thread with rows as Codex writes them: long outputs, each once as event and as item."""
    thread = "01a1e0e5-0000-7000-8000-000000000001"
    path = home / "sessions" / "2026" / "11" / "15" / f"rollout-2026-11-15T20-00-00-{thread}.jsonl"
    path.parent.mkdir(parents=True)
    number = 0
    with path.open("w") as file:

        def row(kind: str, **payload: object) -> None:
            nonlocal number
            about = {"timestamp": "2026-11-15T20:00:00.000Z", "ordinal": number, "type": kind}
            file.write(json.dumps({**about, "payload": payload}, separators=(",", ":")) + "\n")
            number += 1

        row("session_meta", id=thread, cwd=str(home), history_mode="paginated")
        while file.tell() < megabytes * 1_000_000:
            turn = f"turn-{number}"
            text = [{"type": "input_text", "text": f"prompt {number}"}]
            reply = [{"type": "output_text", "text": "word " * 200}]
            call = {"call_id": f"call-{number}"}
            item = {"type": "CommandExecution", "aggregated_output": _OUTPUT}
            row("event_msg", type="task_started", turn_id=turn)
            row("response_item", type="message", role="user", content=text)
            row("response_item", type="function_call", name="exec_command", arguments="{}", **call)
            row("event_msg", type="item_completed", turn_id=turn, item=item)
            row("response_item", type="function_call_output", output=_OUTPUT, **call)
            row("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": 9}})
            row("response_item", type="message", role="assistant", content=reply)
            row("event_msg", type="task_complete", turn_id=turn)
    return ProgramSession("codex", thread)
