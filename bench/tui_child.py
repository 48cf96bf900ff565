"""One measured program on its own terminal: the screen, or one widget for each message.

`python -m bench.tui_child ours|widgets DATABASE OUT` writes its measurements as JSON and exits.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual import events
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown, Static

from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import Config
from sapwood.core.content import Text, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta
from sapwood.core.timeline.row_content import MessageEvent, message_parts
from sapwood.tui.app import SapwoodApp

AGENT = AgentId("old")
FRAMES = 150
TOKENS = 800
RATE = 200
KEYS = 40

_REPLY = (
    "### Plan\n\nThe refresh path **must not** clear storage on a `401`; it should retry.\n\n"
    "```python\nasync def refresh(self, grant):\n    return await self.post(grant)\n```\n\n"
    "- keep the verifier until the exchange *completes*\n- add a jittered back-off\n\n"
)


def memory() -> float:
    """The largest memory of the process so far, in megabytes."""
    # `getrusage` also counts the parent process, from the time between fork and exec.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


class Painted:
    """An event that is set after each painted frame."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def mark_painted(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        """Waits for the next painted frame, or for a short time."""
        self._event.clear()
        try:
            await asyncio.wait_for(self._event.wait(), 0.5)
        except TimeoutError:
            return


async def frames(painted: Painted, step: Callable[[], Awaitable[None]]) -> list[float]:
    """Milliseconds of CPU time for each of many steps, painting included."""
    found: list[float] = []
    for _ in range(FRAMES):
        before = time.process_time()
        waiting = asyncio.ensure_future(painted.wait())
        await asyncio.sleep(0)
        await step()
        await waiting
        found.append((time.process_time() - before) * 1000)
    return found


class Ours(SapwoodApp):
    """The screen, measured from within."""

    def __init__(self, connection: Connection, out: Path) -> None:
        super().__init__(connection, Config(), {}, str(Path.cwd()), AGENT)
        self._painted = Painted()
        self._out = out

    def post_display_hook(self) -> None:
        self._painted.mark_painted()

    async def on_mount(self) -> None:
        self.run_worker(self._measure())

    async def _measure(self) -> None:
        while not self.conversation.is_mounted:
            await self._painted.wait()
        transcript = self.conversation.transcript
        while not (transcript.view.lines() and transcript.page.shown):
            await self._painted.wait()
        await self._painted.wait()
        first = time.process_time()
        while self.conversation.is_reading:  # noqa: ASYNC110 (it has no event to wait for)
            await asyncio.sleep(0.02)
        whole = time.process_time()
        opened = memory()
        found = await frames(self._painted, lambda: transcript.action_scroll(-3))
        await transcript.action_start()
        await transcript.action_end()
        share = await self._stream()
        typing = asyncio.ensure_future(self._type())
        await self._stream()
        echo = await typing
        figures = {
            "rows": len(transcript.page.shown),
            "first": first,
            "whole": whole,
            "memory": opened,
            "frames": found,
            "share": share,
            "echo": echo,
        }
        self._out.write_text(json.dumps(figures), encoding="utf-8")
        self.exit()

    async def _stream(self) -> float:
        """The share of a CPU core that a fast streamed answer needs."""
        text = _REPLY * 30
        before, began = time.process_time(), time.monotonic()
        for token in range(TOKENS):
            self.conversation.add_delta(Delta("text", text[token * 4 : token * 4 + 4]))
            ahead = began + (token + 1) / RATE - time.monotonic()
            if ahead > 0:
                await asyncio.sleep(ahead)
        spent = time.process_time() - before
        return spent / (TOKENS / RATE)

    async def _type(self) -> list[float]:
        """The milliseconds from a key until it is painted."""
        found: list[float] = []
        composer = self.conversation.composer
        for _ in range(KEYS):
            began = time.perf_counter()
            size = len(composer.text)
            self.post_message(events.Key("a", "a"))
            while len(composer.text) == size:
                await self._painted.wait()
            found.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.05)
        return found


class Widgets(App[None]):
    """The usual design: one widget for each message in a scrolling container."""

    def __init__(self, messages: list[tuple[str, str]], out: Path) -> None:
        super().__init__()
        self._messages = messages
        self._painted = Painted()
        self._out = out

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            for role, text in self._messages:
                yield Markdown(text) if role == "model" else Static(text, markup=False)

    def post_display_hook(self) -> None:
        self._painted.mark_painted()

    async def on_mount(self) -> None:
        self.run_worker(self._measure())

    async def _measure(self) -> None:
        scroll = self.query_one(VerticalScroll)
        await self._painted.wait()
        while not scroll.max_scroll_y:  # noqa: ASYNC110 (it has no event to wait for)
            await asyncio.sleep(0.02)
        scroll.scroll_end(animate=False, force=True)
        await self._painted.wait()
        first = time.process_time()

        async def step() -> None:
            scroll.scroll_relative(y=-3, animate=False, force=True)

        opened = memory()
        found = await frames(self._painted, step)
        figures = {"first": first, "memory": opened, "frames": found, "rows": len(self._messages)}
        self._out.write_text(json.dumps(figures), encoding="utf-8")
        self.exit()


async def messages_of(connection: Connection) -> list[tuple[str, str]]:
    """The role and the text of each message, from the rows of the timeline."""
    found: list[tuple[str, str]] = []
    seen = 0
    while page := await connection.log.read(connection.space, AGENT, seen + 1, limit=1_000):
        for recorded in page:
            event = recorded.event
            for part in message_parts(event) if isinstance(event, MessageEvent) else ():
                match part:
                    case Text(text):
                        found.append(("model" if recorded.kind == "reply.added" else "you", text))
                    case ToolCall(_, name, args):
                        found.append(("tool", f"{name} {args}"))
                    case _:
                        pass
        seen = page[-1].version
    return found


async def main(argv: list[str]) -> None:
    """Runs one of the two programs until it has measured itself."""
    kind, address, out = argv
    connection = await connect(address)
    if kind == "ours":
        app = Ours(connection, Path(out))
        await app.run_async()
        await app.controller.close()
        if app.failure is not None:
            raise app.failure
    else:
        await Widgets(await messages_of(connection), Path(out)).run_async()
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
