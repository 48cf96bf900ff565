"""What `sapwood run -p` costs beside the import of the libraries that it cannot do without.

Each run is a process of its own with one short answer, in each wire format. The figure is its
processor time divided by that of `import asyncio, httpx2, msgspec, click, sqlite3`, measured
alternately in one run. The limits hold for the engine of one process, `local`. The durable engine
costs more, which is printed beside it, with the packages that a process imports for it.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bench import QUICK_SLACK
from bench.kept_figures import figure
from scripted_model import ScriptedModel

MOST_TIMES = 4.0
MOST_MB = 80.0
BARE = [sys.executable, "-c", "import asyncio, httpx2, msgspec, click, sqlite3"]
MODELS = {
    "messages": "claude-sonnet-5-5",
    "responses": "gpt-6.1-sol",
    "chat": "openai-chat:gpt-6.1-terra",
    "gemini": "gemini-3.8-flash",
}
COUNTED = "gpt-5.4"
"""A model whose tokens are counted exactly, with a vocabulary that has to be loaded."""
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \| +([\w.]+)")


class Cost(Struct):
    """One run of a process: processor time in milliseconds, and the most memory in MB."""

    cpu: float
    memory: float


def cost(command: list[str], environ: Mapping[str, str]) -> Cost:
    """Runs a process to its end. Raises if it fails."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode:
            raise RuntimeError(output.read().decode())
    return Cost((used.ru_utime + used.ru_stime) * 1e3, used.ru_maxrss / 1e3)


def ran(model: str) -> list[str]:
    return [sys.executable, "-m", "sapwood.cli", "run", "-p", "hi", "--model", model]


def environment(folder: Path, server: ScriptedModel, engine: str) -> dict[str, str]:
    """An environment of its own, with every provider at one server."""
    config = folder / f"{engine}.toml"
    urls = {"anthropic": server.url, "openai": f"{server.url}/v1", "google": server.url}
    lines = [f'{name} = "{url}"' for name, url in urls.items()]
    config.write_text(f'engine = "{engine}"\n[base_urls]\n' + "\n".join(lines) + "\n")
    return {
        **os.environ,
        **server.env(),
        "HOME": str(folder),
        "SAPWOOD_CONFIG": str(config),
        "SAPWOOD_DATABASE": str(folder / f"{engine}.db"),
    }


def imports(model: str, environ: Mapping[str, str]) -> Counter[str]:
    """Milliseconds that the modules of each package take to import, in one run."""
    command = [sys.executable, "-X", "importtime", *ran(model)[1:]]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    found: Counter[str] = Counter()
    for micros, name in _IMPORT.findall(done.stderr):
        found[name.partition(".")[0]] += int(micros)
    return found


def times_of(rows: Mapping[str, list[Cost]], base: float) -> dict[str, float]:
    return {wire: statistics.median(each.cpu for each in rows[wire]) / base for wire in rows}


def memory_of(rows: Mapping[str, list[Cost]]) -> dict[str, float]:
    return {wire: max(each.memory for each in rows[wire]) for wire in rows}


def main(argv: list[str]) -> int:
    """Prints the table; returns 1 if a run costs too much."""
    parser = argparse.ArgumentParser(prog="python -m bench door", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args(argv)
    rounds = 2 if options.quick else 7
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as name, ScriptedModel() as server:
        environ = environment(Path(name), server, "local")
        durable = environment(Path(name), server, "auto")
        cost(BARE, environ)
        cost(ran(MODELS["chat"]), durable)
        bare: list[Cost] = []
        rows: dict[str, list[Cost]] = {}
        with_engine: dict[str, list[Cost]] = {}
        for wire, model in MODELS.items():
            cost(ran(model), environ)
            for _ in range(rounds):
                bare.append(cost(BARE, environ))
                rows.setdefault(wire, []).append(cost(ran(model), environ))
                with_engine.setdefault(wire, []).append(cost(ran(model), durable))
        counted = [cost(ran(COUNTED), environ) for _ in range(rounds)]
        packages = imports(MODELS["messages"], durable)
    base = statistics.median(each.cpu for each in bare)
    print(f"the bare import: {base:.0f} ms, {max(each.memory for each in bare):.0f} MB")
    times, memory = times_of(rows, base), memory_of(rows)
    slower, larger = times_of(with_engine, base), memory_of(with_engine)
    print(f"{'wire':<10} {'local':>6} {'memory':>9} {'durable':>8} {'memory':>9}")
    for wire in rows:
        print(
            f"{wire:<10} {times[wire]:>5.1f}x {memory[wire]:>6.0f} MB "
            f"{slower[wire]:>7.1f}x {larger[wire]:>6.0f} MB"
        )
    exact = times_of({"": counted}, base)[""], memory_of({"": counted})[""]
    print(f"with exact token counts ({COUNTED}): {exact[0]:.1f}x, {exact[1]:.0f} MB")
    total = sum(packages.values())
    print(f"with the durable engine, imports take {total / 1e3:.0f} ms:")
    for package, micros in packages.most_common(8):
        print(f"  {package:<16} {micros / 1e3:>6.0f} ms")
    figure("door: times the bare import", max(times.values()))
    figure("door: MB", max(memory.values()))
    slack = QUICK_SLACK if options.quick else 1
    print(
        f"door: {max(times.values()):.1f}x the bare import, of {MOST_TIMES * slack:.0f} allowed; "
        f"{max(memory.values()):.0f} MB, of {MOST_MB:.0f} allowed"
    )
    return int(max(times.values()) > MOST_TIMES * slack or max(memory.values()) > MOST_MB)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
