"""What the first word costs beside the import of the libraries that it cannot do without.

Each run of `sapwood run -p` is a process of its own with one short answer, in each wire format. The
figure is its processor time divided by that of `import asyncio, httpx2, msgspec, click, sqlite3`,
measured alternately in one run. The same for commands that only show something. The screen is
measured at its first answer, beside the same screen before the prompt.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bench import QUICK_SLACK
from bench.kept_figures import figure
from scripted_model import ScriptedModel
from tests.cli.hostile_text import Terminal

MAX_TIMES = 4.0
MAX_MB = 80.0
MAX_LOOKING = 2.0
MAX_OF_SCREEN = 1.5
BARE = [sys.executable, "-c", "import asyncio, httpx2, msgspec, click, sqlite3"]
MODELS = {
    "messages": "claude-sonnet-5-5",
    "responses": "gpt-6.1-sol",
    "chat": "openai-chat:gpt-6.1-terra",
    "gemini": "gemini-3.8-flash",
}
COUNTED = "gpt-5.4"
"""A model whose tokens are counted exactly, with a vocabulary that has to be loaded."""
LOOKING = {"agents": (0,), "context": (0,), "doctor": (0, 1)}
"""Commands that only show something, with their exit codes: the doctor may find something to do."""
SETTLED = 2.0
"""Seconds after which a screen has nothing left to draw."""


class Cost(Struct):
    """One run of a process: processor time in milliseconds, and the most memory in MB."""

    cpu: float
    memory: float


def cost(command: list[str], environ: Mapping[str, str], ends: tuple[int, ...] = (0,)) -> Cost:
    """Runs a process to its end. Raises if it ends with another exit code than these."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode not in ends:
            raise RuntimeError(output.read().decode())
    return Cost((used.ru_utime + used.ru_stime) * 1e3, used.ru_maxrss / 1e3)


def ran(model: str) -> list[str]:
    return [sys.executable, "-m", "sapwood.cli", "run", "-p", "hi", "--model", model]


def environment(folder: Path, server: ScriptedModel) -> dict[str, str]:
    """An environment of its own, with every provider at one server."""
    config = folder / "config.toml"
    urls = {"anthropic": server.url, "openai": f"{server.url}/v1", "google": server.url}
    lines = [f'{name} = "{url}"' for name, url in urls.items()]
    chosen = f'model = "{MODELS["messages"]}"\n[base_urls]\n'
    config.write_text(chosen + "\n".join(lines) + "\n")
    return {
        **os.environ,
        **server.env(),
        "HOME": str(folder),
        "SAPWOOD_CONFIG": str(config),
        "SAPWOOD_DATA": str(folder / "data"),
        "SAPWOOD_DATABASE": str(folder / "sapwood.db"),
    }


def screen(environ: Mapping[str, str]) -> float:
    """The processor time of a screen at its first answer, divided by that before the prompt."""
    os.environ.update(environ)
    terminal = Terminal([sys.executable, "-m", "sapwood.cli"])
    try:
        terminal.until("╭".encode())
        alone = settled(terminal)
        terminal.press(b"Where do storks nest?\r")
        terminal.until(b"On roofs")
        return settled(terminal) / alone
    finally:
        terminal.close()


def settled(terminal: Terminal) -> float:
    """The processor seconds of the program after a pause; only its cursor blinks then."""
    end = time.monotonic() + SETTLED
    while time.monotonic() < end:
        terminal.read(0.1)
    return terminal.processor_seconds


def times_of(rows: Mapping[str, list[Cost]], base: float) -> dict[str, float]:
    return {name: statistics.median(each.cpu for each in rows[name]) / base for name in rows}


def memory_of(rows: Mapping[str, list[Cost]]) -> dict[str, float]:
    return {name: max(each.memory for each in rows[name]) for name in rows}


def main(argv: list[str]) -> int:
    """Prints the table; returns 1 if a run costs too much."""
    parser = argparse.ArgumentParser(prog="python -m bench door", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args(argv)
    rounds = 2 if options.quick else 7
    bare: list[Cost] = []
    asking: dict[str, list[Cost]] = {}
    looking: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as name, ScriptedModel() as server:
        environ = environment(Path(name), server)
        cost(BARE, environ)
        for wire, model in MODELS.items():
            cost(ran(model), environ)
            for _ in range(rounds):
                bare.append(cost(BARE, environ))
                asking.setdefault(wire, []).append(cost(ran(model), environ))
        for command, ends in LOOKING.items():
            for _ in range(rounds):
                bare.append(cost(BARE, environ))
                row = cost([sys.executable, "-m", "sapwood.cli", command], environ, ends)
                looking.setdefault(f"sapwood {command}", []).append(row)
        counted = [cost(ran(COUNTED), environ) for _ in range(rounds)]
        server.script(lambda _: "On roofs.")
        screens = [screen(environ) for _ in range(min(rounds, 3))]
    base = statistics.median(each.cpu for each in bare)
    print(f"the bare import: {base:.0f} ms, {max(each.memory for each in bare):.0f} MB")
    for rows in (asking, looking):
        times, memory = times_of(rows, base), memory_of(rows)
        for row in rows:
            print(f"{row:<20} {times[row]:>5.1f}x {memory[row]:>6.0f} MB")
    exact = times_of({"": counted}, base)[""], memory_of({"": counted})[""]
    print(f"with exact token counts ({COUNTED}): {exact[0]:.1f}x, {exact[1]:.0f} MB")
    words = max(times_of(asking, base).values())
    shown = max(times_of(looking, base).values())
    whole = statistics.median(screens)
    megabytes = max(memory_of(asking).values())
    slack = QUICK_SLACK if options.quick else 1
    figure("door: times the bare import", words)
    figure("door: MB", megabytes)
    figure("door: times the bare import to look", shown)
    figure("door: first answer of the screen", whole)
    print(f"the screen at its first answer: {whole:.2f}x of the screen before the prompt")
    print(
        f"door: run -p {words:.1f}x the bare import (at most {MAX_TIMES * slack:.0f}) and "
        f"{megabytes:.0f} MB (at most {MAX_MB:.0f}); to look {shown:.1f}x "
        f"(at most {MAX_LOOKING * slack:.0f}); the screen {whole:.2f}x "
        f"(at most {MAX_OF_SCREEN * slack:.2f})"
    )
    return int(
        words > MAX_TIMES * slack
        or megabytes > MAX_MB
        or shown > MAX_LOOKING * slack
        or whole > MAX_OF_SCREEN * slack
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
