"""Text that attacks a terminal, a conversation that has it in every field, and a real terminal."""

import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path

from sapwood.api import Agent, Sapwood
from sapwood.core.commands import Fork
from sapwood.core.content import RecordedReply, RecordedResult, Text, Thinking, ToolCall
from sapwood.core.ids import AgentId

ATTACKS = (
    b"\x1b]0;PWN",  # renames the window
    b"\x1b[38;5;201mPWN",  # colours
    b"\x1b[8mPWN",  # hides
    b"\x1b[2JPWN",  # clears the screen
    b"\xc2\x9b31mPWN",  # the same by one character
    b"\xe2\x80\xaePWN",  # reverses the text after it
    b"\xe2\x80\x8bPWN",  # is not seen
    b"\xf3\xa0\x81\x81PWN",  # a letter that is not seen
)
_TEXT = b"".join(ATTACKS).decode()


def hostile(field: str) -> str:
    """A value for a field: the attacks, and the name of the field to find it again."""
    return f"@{field}@{_TEXT}"


def attacks_in(written: bytes) -> list[bytes]:
    """The attacks that reached a terminal."""
    signs = (b"\xc2\x9b", b"\xe2\x80\xae", b"\xe2\x80\x8b", b"\xf3\xa0\x81\x81")
    return [each for each in (*ATTACKS, *signs) if each in written]


async def hostile_conversation(db: Sapwood, folder: str) -> None:
    """An agent and its child with such text wherever somebody else can put it."""
    agent = await db.start(
        hostile("name"), id="hostile", model=hostile("model"), folder=folder, cap=0
    )
    await agent.mark("START")
    await agent.pin(hostile("pin").replace(" ", ""), hostile("pin text"))
    call = ToolCall("c1", hostile("tool"), '{"command": "' + _escaped(hostile("argument")) + '"}')
    raw = ToolCall("c2", "shell", '{"command": "' + hostile("raw argument") + '"}')
    edit = ToolCall("c3", "edit_file", '{"path": "' + _escaped(hostile("path")) + '.py"}')
    for number in range(3):
        await agent.record(
            hostile(f"prompt {number}"),
            RecordedReply(
                (Thinking(hostile("thinking")), Text(hostile("reply")), call, raw, edit),
                hostile("reply model"),
            ),
            RecordedResult("c1", hostile("result")),
            RecordedResult("c2", hostile("failure"), error=True),
            RecordedResult("c3", "ok"),
            f"We decided to use {hostile('decision')}.",
        )
    await agent.compact(hostile("summary"), ledger=hostile("ledger"), score=0.5)
    await agent.record(hostile("prompt 4"), hostile("last"), status="failed", reason=hostile("why"))
    child = Agent(db.connection, AgentId("hostilechild"))
    await agent.do(Fork(agent.id, child.id, None, ""))
    await child.send(agent, hostile("mail"))


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" if ord(char) < 0x20 else char for char in text)


class Terminal:
    """A program on a pseudo-terminal, and every byte that it wrote."""

    def __init__(self, command: Sequence[str], columns: int = 120, rows: int = 40) -> None:
        self.written = b""
        self._master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "", "FORCE_COLOR": "1"}
        environ.pop("COLUMNS")
        self._program = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True
        )
        os.close(slave)

    def read(self, seconds: float = 0.2) -> bool:
        """Reads what is there, and waits for it up to some time; returns false at the end."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # the program has ended
            return False
        self.written += data
        return bool(data)

    def until(self, words: bytes, after: int = 0, seconds: float = 120.0) -> None:
        """Waits until words were written after a place."""
        end = time.monotonic() + seconds
        while words not in self.written[after:]:
            assert time.monotonic() < end, f"no {words!r} in {self.written[after:][-3000:]!r}"
            assert self.read(), f"ended without {words!r}: {self.written[after:][-3000:]!r}"

    def end(self, seconds: float = 240.0) -> int:
        """Reads until the program ends; returns its exit code."""
        end = time.monotonic() + seconds
        while self.read() and time.monotonic() < end:
            pass
        return self._program.wait(timeout=20)

    @property
    def is_stopped(self) -> bool:
        """Whether the program was stopped and can go on."""
        state = Path(f"/proc/{self._program.pid}/stat").read_text(encoding="utf-8")
        return state.rpartition(")")[2].split()[0] == "T"

    @property
    def processor_seconds(self) -> float:
        """The processor time of the program so far."""
        fields = Path(f"/proc/{self._program.pid}/stat").read_text(encoding="utf-8")
        user, system = fields.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def go_on(self) -> None:
        """Lets a stopped program go on, as `fg` does."""
        self._program.send_signal(signal.SIGCONT)

    def press(self, keys: bytes) -> None:
        """Types keys."""
        os.write(self._master, keys)

    def hang_up(self, seconds: float = 120.0) -> int:
        """Closes the terminal and waits until the program ends; returns its exit code."""
        os.close(self._master)
        try:
            return self._program.wait(timeout=seconds)
        finally:
            self._program.kill()

    def close(self) -> None:
        """Ends the program if it still runs."""
        with suppress(ProcessLookupError):
            self._program.kill()
        self._program.wait(timeout=20)
        os.close(self._master)
