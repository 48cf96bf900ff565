"""Processor time of each hook and of the status line, start-up included.

Measured alternately on transcripts of 40 MB and of 400 kB; the ratio shows the cost of length. The
time of a background process that a hook starts is not counted.
"""

import argparse
import fcntl
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import QUICK_SLACK
from bench.kept_figures import figure
from bench.machine_speed import cpu_ms, python_start_ms, slowness_by
from sapwood.hooks.prepared_context import prepare
from sapwood.hooks.watched_session import WatchedSession
from sapwood.journal import read_entries
from sapwood.programs.installation.plugin_files import own_command
from sapwood.testing.claude_transcript import ClaudeTranscript

LIMIT_MS, LENGTH_LIMIT = 150.0, 1.5
SMALL, LARGE = 400_000, 40_000_000

# In the order of a session's life; each does all that it can do.
HOOKS: dict[str, dict[str, object]] = {
    "user-prompt-submit": {},
    "status-line": {
        "context_window": {"total_input_tokens": 60_000, "context_window_size": 100_000}
    },
    "subagent-start": {"agent_id": "a1", "agent_type": "general-purpose"},
    "subagent-stop": {"agent_id": "a1", "agent_type": "general-purpose"},
    "pre-compact": {"trigger": "auto"},
    "session-start": {"source": "compact"},
    "stop": {"last_assistant_message": "Done"},
    "session-end": {"reason": "clear"},
}


def write_transcript(path: Path, size: int) -> ClaudeTranscript:
    """A session of many similar turns: files are read and changed, tests fail and pass."""
    talk = ClaudeTranscript(path)
    module = "def answer(request: Request) -> Response:\n    return respond(request)  # 200\n" * 50
    number = 0
    while path.stat().st_size < size:
        number += 1
        file = {"file_path": f"/srv/wood/src/module_{number}.py"}
        talk.ask(f"Please let module {number} log every request, as we decided for the others.")
        talk.call("Read", file, module)
        talk.call(
            "Edit", {**file, "old_string": "200", "new_string": "201"}, "The file is changed."
        )
        talk.call("Bash", {"command": "pytest -q"}, "1 failed, 20 passed\n", failed=True)
        talk.say(
            f"Module {number} logs now. We use structlog. Should the tests log too?", used=60_000
        )
    return talk


def a_session_before(talk: ClaudeTranscript, name: str, locks: ExitStack) -> dict[str, object]:
    """The hook input for a session that hooks have seen before, as most sessions are.

    The caller holds the locks, so background processes that hooks start find them taken and exit.
    """
    watched = WatchedSession(str(talk.path), name, "/srv/wood")
    watched.memory.put(
        "prepared", WatchedSession(watched.path, talk.session, "").memory.get("prepared")
    )
    watched.memory.put("asked", watched.size)
    watched.memory.put("transcript", watched.path)
    watched.memory.put("window", 100_000)
    for work in ("prepare", "import", "judge"):
        file = Path(watched.memory.folder) / f"{work}-waiting.lock"
        fcntl.flock(locks.enter_context(file.open("w")), fcntl.LOCK_EX)
    return {"session_id": name, "transcript_path": watched.path, "cwd": watched.folder}


def wait_for_background(folder: Path) -> None:
    """Waits until no background process of a hook runs for these transcripts."""
    marks = os.fsencode(folder)
    for _ in range(600):
        commands = [_command_of(process) for process in Path("/proc").glob("[0-9]*")]
        if not any(
            marks in command and b"hooks.background_work" in command for command in commands
        ):
            return
        time.sleep(0.1)
    raise RuntimeError("what hooks started in the background does not end")


def _command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the samples does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def call_all(
    hook_input: Mapping[str, object], environ: Mapping[str, str]
) -> Iterator[tuple[str, float]]:
    """Calls each hook once; yields its name and its cost."""
    for hook, more in HOOKS.items():
        each = {
            **hook_input,
            "agent_transcript_path": hook_input["transcript_path"],
            "hook_event_name": hook,
        }
        content = json.dumps({**each, **more}).encode()
        yield hook, cpu_ms([*own_command(), "hook", hook], content, environ)


def measure(folder: Path, rounds: int) -> tuple[dict[tuple[str, int], list[float]], list[float]]:
    """Measures every hook on both transcripts, and the bare interpreter, alternately."""
    talks = {size: write_transcript(folder / f"{size}.jsonl", size) for size in (SMALL, LARGE)}
    for size in (SMALL, LARGE):
        print(f"  a transcript of {talks[size].path.stat().st_size:,} bytes", flush=True)
    data = folder / "data"
    os.environ["SAPWOOD_DATA"] = str(data)
    environ = {**os.environ, "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
    for talk in talks.values():
        prepare(WatchedSession(str(talk.path), talk.session, "/srv/wood"), environ)
    found: dict[tuple[str, int], list[float]] = {(h, s): [] for h in HOOKS for s in talks}
    bare: list[float] = []
    with ExitStack() as locks:
        for number in range(-1, rounds):  # the first round warms up
            bare += [python_start_ms()] * (number >= 0)
            for size, talk in talks.items():
                hook_input = a_session_before(talk, f"{size}-{number}", locks)
                for hook, spent in call_all(hook_input, environ):
                    found[hook, size] += [spent] * (number >= 0)
        wait_for_background(folder)
    failed = [act.message for act in read_entries(data / "journal.jsonl") if act.kind == "failed"]
    if failed:
        raise RuntimeError(f"{len(failed)} hooks failed, the last: {failed[-1]}")
    return found, bare


def main(argv: list[str]) -> int:
    """Prints every hook; returns 1 if one costs more than its limit."""
    parser = argparse.ArgumentParser(prog="python -m bench hooks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, judged by the median")
    quick = parser.parse_args(argv).quick
    rounds = 5 if quick else 40
    with tempfile.TemporaryDirectory(prefix="sapwood-", ignore_cleanup_errors=True) as folder:
        found, bare = measure(Path(folder), rounds)
    slowness = slowness_by(bare)
    limit = LIMIT_MS * slowness * (QUICK_SLACK if quick else 1.0)
    longer = LENGTH_LIMIT * (QUICK_SLACK if quick else 1.0)
    print(f"  Python alone starts in {statistics.median(bare):.0f} ms, {slowness:.2f}x the usual")
    ratios: dict[str, float] = {}
    for hook in HOOKS:
        large, small = found[hook, LARGE], found[hook, SMALL]
        ratios[hook] = statistics.median(large) / statistics.median(small)
        print(
            f"  {hook:<19} 40 MB: {statistics.median(large):4.0f} ms, "
            f"95th {percentile(large, 0.95):4.0f} ms   400 kB: {statistics.median(small):4.0f} ms, "
            f"95th {percentile(small, 0.95):4.0f} ms   {ratios[hook]:.2f}x"
        )
    share, place = (0.5, "in the median") if quick else (0.95, "at the 95th percentile")
    worst = max(percentile(values, share) for values in found.values())
    print(
        f"hooks: at most {worst:.0f} ms of CPU {place} (limit {limit:.0f} ms), "
        f"40 MB against 400 kB {max(ratios.values()):.2f}x (limit {longer:.2f}x)"
    )
    figure("hooks: starts of Python", worst / statistics.median(bare))
    figure("hooks: 40 MB against 400 kB", max(ratios.values()))
    return 0 if worst <= limit and max(ratios.values()) <= longer else 1
