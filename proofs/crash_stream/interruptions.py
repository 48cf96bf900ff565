"""One screen, one kind of database, and the ways in which an answer is interrupted."""

import asyncio
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from proofs.crash_stream.stream_check import StoredTurn, missing_characters, stored_turn
from proofs.tui_tmux.terminal import Failed, Terminal
from sapwood.app.connection import connect
from sapwood.core.commands import InterruptTurn
from sapwood.core.ids import AgentId
from sapwood.turns.clock_and_ids import command_meta
from scripted_model import ModelRequest, Reply, ReplyLike, ScriptedModel

_WORDS = 60
_MODEL = "claude-sonnet-5-5"
_KEY = "ANTHROPIC_API_KEY"
_NOTE = "Sapwood ended before this answer"

KINDS = (
    "connection dropped",
    "interrupt from another process",
    "connection dropped",
    "escape",
    "interrupt from another process",
    "ctrl+c once",
    "SIGKILL",
    "connection dropped",
    "interrupt from another process",
    "ctrl+c three times",
    "escape",
    "SIGTERM",
)
"""The kinds on SQLite, in the order in which they come. Some of them end the screen."""

POSTGRES_KINDS = (
    "PostgreSQL cut",
    "connection dropped",
    "PostgreSQL cut",
    "interrupt from another process",
    "PostgreSQL cut",
    "SIGKILL",
)


class Findings(Struct):
    """What was counted. `missing` are characters, `unsaid` are turns billed twice silently."""

    kinds: Counter[str] = field(default_factory=Counter[str])
    shown: int = 0
    missing: int = 0
    unsaid: int = 0
    asked_again: int = 0
    sentences: list[str] = field(default_factory=list[str])


class Interruptions:
    """Asks for answers on a screen and interrupts them."""

    def __init__(
        self,
        address: str,
        folder: Path,
        server: ScriptedModel,
        findings: Findings,
        seed: int,
        cut_database: Callable[[float], None] | None = None,
    ) -> None:
        self._address, self._folder, self._server = address, folder, server
        self._findings = findings
        self._dice = random.Random(seed)
        self._cut_database = cut_database
        self._terminal = Terminal(110, 40, patience=90.0)
        self._asks: Counter[str] = Counter()
        self._cuts: dict[str, int] = {}
        self._number = 0
        self._screens: list[str] = []
        server.script(self._answer)

    def run(self, count: int, kinds: tuple[str, ...]) -> None:
        """Makes this many interruptions."""
        (self._folder / "config" / "sapwood").mkdir(parents=True)
        (self._folder / "project").mkdir()
        (self._folder / "config" / "sapwood" / "config.toml").write_text(
            f'model = "{_MODEL}"\ndatabase = "{self._address}"\n'
            f'[base_urls]\nanthropic = "{self._server.anthropic_url}"\n',
            encoding="utf-8",
        )
        self._open()
        try:
            for number in range(count):
                self._interrupt(kinds[number % len(kinds)])
        finally:
            self._terminal.close()

    # The model

    def _answer(self, request: ModelRequest) -> ReplyLike | None:
        found = re.findall(r"Tell (K\d+)\.", request.prompt)
        if not found:
            return None
        name = found[-1]
        self._asks[name] += 1
        if self._asks[name] > 1:
            return f"{name}.again is the answer."
        words = " ".join(f"{name}.{number:03}" for number in range(_WORDS))
        return Reply.of(words, cut=self._cuts.get(name))

    # One interruption

    def _interrupt(self, kind: str) -> None:
        self._number += 1
        name, self._screens = f"K{self._number}", []
        length = _WORDS * (len(name) + 5)
        if kind == "connection dropped":
            self._cuts[name] = self._dice.randrange(60, length)
        self._terminal.type(f"Tell {name}.")
        self._watch(lambda shown: f"{name}.00" in shown)
        self._watch_for(self._dice.uniform(0.0, 0.8))
        is_open = self._act(kind, name)
        self._screens.append(self._terminal.screen())
        if not is_open:
            self._terminal.close()
            self._open()
        turn = self._ended(name)
        self._count(kind, name, turn)

    def _act(self, kind: str, name: str) -> bool:
        """Interrupts; returns whether the screen is still there."""
        match kind:
            case "interrupt from another process":
                asyncio.run(_interrupt_from_here(self._address, name))
            case "escape":
                self._terminal.keys("Escape")
            case "ctrl+c once":
                self._terminal.keys("C-c")
                self._watch_for(2.0)  # the next two would come too soon
            case "ctrl+c three times":
                self._terminal.keys("C-c", "C-c", "C-c")
                self._watch(lambda shown: "left=" in shown)
                return False
            case "SIGTERM" | "SIGKILL":
                self._kill(signal.Signals[kind])
                return False
            case "PostgreSQL cut":
                assert self._cut_database is not None
                self._cut_database(self._dice.uniform(0.2, 1.5))
            case _:
                pass  # the model drops the connection
        return True

    def _kill(self, how: signal.Signals) -> None:
        pid = int((self._folder / "pid").read_text(encoding="ascii"))
        self._screens.append(self._terminal.screen())
        os.kill(pid, how)
        self._watch(lambda shown: "left=" in shown)

    def _ended(self, name: str) -> StoredTurn:
        end = time.monotonic() + 90
        while time.monotonic() < end:
            self._screens.append(self._terminal.screen())
            turn = asyncio.run(stored_turn(self._address, name))
            if turn is not None and turn.ended:
                return turn
            time.sleep(0.1)
        raise Failed(f"the turn of {name} did not end:\n{self._terminal.screen()}")

    def _count(self, kind: str, name: str, turn: StoredTurn) -> None:
        findings = self._findings
        if turn.lost:
            findings.asked_again += 1
            self._watch(lambda shown: _NOTE in shown)
        missing = missing_characters(name, self._screens, turn.words)
        unsaid = max(turn.calls, self._asks[name]) - 1 - turn.lost
        findings.kinds[kind] += 1
        findings.shown += len(set(re.findall(rf"\b{name}\.\d+", "\n".join(self._screens))))
        findings.missing += missing
        findings.unsaid += max(0, unsaid)
        if missing or unsaid > 0:
            findings.sentences.append(
                f"{name} ({kind}): {missing} characters are not in the log, {turn.calls} calls in "
                f"the log, {self._asks[name]} at the model, {turn.lost} told as lost"
            )

    # The screen

    def _open(self) -> None:
        folder, pid = self._folder, self._folder / "pid"
        run = (
            f"import os; open({str(pid)!r}, 'w').write(str(os.getpid())); "
            "from sapwood.cli import main; main()"
        )
        env = {
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_STATE_HOME": str(folder / "state"),
            _KEY: "sk-a-key-for-tests",
        }
        self._terminal.start([sys.executable, "-c", run], str(folder / "project"), env, ())
        self._watch(lambda shown: "Message, or /" in shown)

    def _watch(self, seen: Callable[[str], bool]) -> None:
        end = time.monotonic() + 90
        while not seen(self._look()):
            if time.monotonic() > end:
                raise Failed(f"this is shown:\n{self._screens[-1]}")
            time.sleep(0.02)

    def _watch_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._look()
            time.sleep(0.02)

    def _look(self) -> str:
        self._screens.append(self._terminal.screen())
        return self._screens[-1]


async def _interrupt_from_here(address: str, name: str) -> None:
    """Interrupts the open turn, as `sapwood interrupt` does in another process."""
    connection = await connect(address)
    try:
        for agent in await connection.log.working(connection.space):
            command = InterruptTurn(AgentId(agent.agent), f"in the middle of {name}")
            await connection.dispatcher.dispatch(command, command_meta())
    finally:
        await connection.close()
