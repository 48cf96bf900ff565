"""The engines that the proof runs on: how a worker is started, and how agents are woken."""

import secrets
import sys
from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from sapwood.config.config_file import TemporalConfig
from sapwood.engine.process_engine import ProcessEngine
from sapwood.turns.scheduler import Engine
from sapwood_temporal import TemporalEngine
from tools.temporal_server import address_or_throwaway

_WORKER = (sys.executable, "-m", "sapwood.cli", "worker")
_PROCESS = (sys.executable, "-m", "proofs.crash_runtime.local_worker")


class EngineSetup(Struct, frozen=True):
    """An engine: its name, the commands that start workers, and lines of the configuration."""

    name: str
    commands: tuple[tuple[str, ...], ...] = (_WORKER,)
    settings: str = ""
    temporal: TemporalConfig | None = None

    def engine(self, address: str) -> Engine:
        """The engine through which the proof wakes agents that the workers drive."""
        if self.temporal is not None:
            return TemporalEngine(self.temporal)
        return ProcessEngine(address)


@contextmanager
def engine_setup(name: str) -> Generator[EngineSetup]:
    """The engine of this name: local, worker, temporal, or mixed: processes of the first two."""
    if name == "local":
        yield EngineSetup(name, (_PROCESS,))
    elif name == "mixed":
        yield EngineSetup(name, (_PROCESS, _WORKER))
    elif name == "temporal":
        with address_or_throwaway() as address:
            queue = f"crash-{secrets.token_hex(6)}"
            table = f'[temporal]\naddress = "{address}"\ntask_queue = "{queue}"\n'
            yield EngineSetup(
                name,
                settings=f'engine = "temporal"\n{table}',
                temporal=TemporalConfig(address=address, task_queue=queue),
            )
    else:
        yield EngineSetup(name)
