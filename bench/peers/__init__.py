"""Measures the stores of other frameworks ("peers") with the same conversation.

Each store is measured by its own program in the peers' environment, one after another, with its
default settings. Nothing of the peers is imported here.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

from bench.peers.environment import PeersError, peers_python
from bench.peers.figures import PeerFigures

__all__ = ["PEERS", "PeerFigures", "PeersError", "dbos_turns", "measure_peers"]

_HERE = Path(__file__).resolve().parent

_STORES = (
    ("langgraph_sqlite.py", "full"),
    ("langgraph_sqlite.py", "delta"),
    ("openai_agents.py", "plain"),
    ("openai_agents.py", "advanced"),
    ("google_adk.py", "database"),
    ("google_adk.py", "sqlite"),
)

_SILENCE = {
    "DO_NOT_TRACK": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""Switches off the telemetry of the peers, so that a run makes no network calls."""

_TIMEOUT_SECONDS = 300


PEERS = tuple(f"{program.removesuffix('.py')}-{store}" for program, store in _STORES)
"""The names of all peers."""


def measure_peers(
    messages: int, names: Collection[str] = PEERS, directory: Path | None = None
) -> list[PeerFigures]:
    """Measures these peers on a conversation of `messages` messages, one after another.

    The databases are created in `directory`, or in the usual temporary one, and then removed.
    """
    python = peers_python()
    return [
        _measure(python, program, store, messages, directory)
        for name, (program, store) in zip(PEERS, _STORES, strict=True)
        if name in names
    ]


def dbos_turns(address: str, agents: int, turns: int) -> float:
    """Bare DBOS workflows of three empty steps a second, in the database of this address.

    Without `://` it is the path of an SQLite file.
    """
    url = address if "://" in address else f"sqlite:///{address}"
    task = ("--database", url, "--agents", str(agents), "--turns", str(turns))
    with tempfile.TemporaryDirectory(prefix="peers-") as home:
        return float(_run([str(peers_python()), str(_HERE / "dbos_workflows.py"), *task], home))


def _measure(
    python: Path, program: str, store: str, messages: int, directory: Path | None
) -> PeerFigures:
    started = time.monotonic()
    print(f"peers: {program} {store} ...", end=" ", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="peers-", dir=directory) as database:
        arguments = ("--store", store, "--messages", str(messages), "--database", database)
        line = _run([str(python), str(_HERE / program), *arguments], home=database)
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return PeerFigures.from_json(line)


def _run(command: list[str], home: str) -> str:
    """The last line that a peer's program prints."""
    try:
        finished = subprocess.run(
            command,
            env=_SILENCE | {"PATH": os.defpath, "HOME": home},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=_TIMEOUT_SECONDS,
        )
    except subprocess.CalledProcessError as failure:
        raise PeersError("The program of a peer failed; its message is above.") from failure
    except subprocess.TimeoutExpired as expiry:
        raise PeersError(f"A peer took more than {_TIMEOUT_SECONDS} s and was ended.") from expiry
    return finished.stdout.splitlines()[-1]
