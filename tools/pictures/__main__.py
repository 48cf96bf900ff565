"""`python -m tools.pictures` writes docs/images; `--check` fails when one is missing."""

import argparse
import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot
from textual.strip import Strip

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.config.config_file import Config, ContextConfig, ScreenConfig
from sapwood.tui.app import SapwoodApp
from sapwood.turns.clock_and_ids import now
from sapwood.workspace.permissions.permission_gate import PermissionAnswer, PermissionQuestion
from sapwood.workspace.permissions.permission_rules import parse_rules
from scripted_model import ScriptedModel
from tools.pictures.scenes import ANSWER, CHANGE, MODEL, oauth
from tools.pictures.svg import Frame, moving, still

FOLDER = Path(__file__).parents[2] / "docs" / "images"
_TWO_HOURS = 7_200_000_000
_WHY = "No permission rule covers this."


class Stage:
    """A screen with a conversation, and methods that press keys."""

    def __init__(self, app: SapwoodApp, pilot: Pilot[object], server: ScriptedModel) -> None:
        self.app = app
        self.pilot = pilot
        self.server = server
        self.waiting: asyncio.Future[PermissionAnswer] | None = None

    def strips(self) -> list[Strip]:
        """The present content of the screen."""
        compositor = self.app.screen._compositor  # pyright: ignore[reportPrivateUsage]
        return compositor.render_strips()

    def shows(self, words: str) -> bool:
        """Whether words are on the screen."""
        return any(words in strip.text for strip in self.strips())

    async def sees(self, words: str) -> None:
        """Waits until words are on the screen."""
        async with asyncio.timeout(60):
            while not self.shows(words):  # noqa: ASYNC110 (there is no event for it)
                await asyncio.sleep(0.05)

    async def type(self, text: str) -> None:
        """Types a line and sends it."""
        self.app.conversation.composer.put(text)
        await self.pilot.press("enter")


@asynccontextmanager
async def staged(
    *, size: tuple[int, int] = (132, 40), theme: str = "sapwood-dark", delay: float = 0.01
) -> AsyncGenerator[Stage]:
    """Opens the conversation of the pictures on a screen."""
    connection = await connect(":memory:")
    agent = await oauth(Sapwood(connection))
    with ScriptedModel(delay=delay) as server:
        config = Config(
            database=":memory:",
            model=MODEL,
            base_urls={"anthropic": server.anthropic_url},
            screen=ScreenConfig(theme=theme, bell=False),
            context=ContextConfig(default_prompt=False, instructions=False),
        )
        app = SapwoodApp(connection, config, {"anthropic": "none"}, "oauth-mobile", agent.id)
        async with app.run_test(size=size) as pilot:
            await pilot.pause(0.3)
            yield Stage(app, pilot, server)
        await app.controller.close()
    await connection.close()


async def conversation(stage: Stage) -> None:
    """The conversation after it is opened."""


async def top(stage: Stage) -> None:
    """The pruned and summarised part."""
    stage.app.conversation.transcript.clock = lambda: now() + _TWO_HOURS
    await stage.app.conversation.transcript.action_start()


async def completion(stage: Stage) -> None:
    """The completion after a slash."""
    await stage.pilot.press("/")
    await stage.sees("Name this place")


async def context(stage: Stage) -> None:
    """The page of what fills the window."""
    await stage.pilot.press("ctrl+t")
    await stage.sees("LARGEST")


async def rewind(stage: Stage) -> None:
    """The picker of a rewind, with the turns that it would remove."""
    await stage.pilot.press("f3")
    await stage.sees("BEFORE_REFACTOR")
    await stage.pilot.press("down")
    await stage.sees("leaves view")


async def replay(stage: Stage) -> None:
    """The page of what the model saw."""
    stage.server.replies(["Yes: the retry sees the old grant."])
    await stage.type("Is it the retry?")
    await stage.sees("the old grant.")
    await stage.type("/replay")
    await stage.sees("the hash matches")


async def ask(stage: Stage) -> None:
    """A tool that wants to change a file."""
    agent = stage.app.controller.agent
    assert agent is not None
    rules = parse_rules(["allow edit_file(src/auth/**)"])
    question = PermissionQuestion(
        agent, "oauth-mobile", "edit_file", "src/auth/tokens.py", _WHY, CHANGE, rules
    )
    stage.waiting = asyncio.ensure_future(stage.app.conversation.ask_permission(question))
    await stage.sees("Allow once")


async def clipped(stage: Stage) -> None:
    """The divider of the window."""
    stage.server.replies(["Done: the refresh goes first, and eleven tests hold it."])
    await stage.type("/config cap 200")
    await stage.type("Patch it, please.")
    await stage.sees("eleven tests hold it")
    await stage.sees("model can't see above")


async def queue(stage: Stage) -> None:
    """A streaming answer, with a queued prompt."""
    stage.server.replies([ANSWER * 6])
    await stage.type("Write the patch.")
    await stage.sees("working")
    await stage.type("Then run the whole suite.")
    await stage.sees("queued")
    await stage.sees("async def refresh")


SCENES: dict[str, tuple[Callable[[Stage], Awaitable[None]], str]] = {
    "conversation": (conversation, "sapwood-dark"),
    "pruned": (top, "sapwood-dark"),
    "window": (clipped, "sapwood-dark"),
    "completion": (completion, "sapwood-dark"),
    "queue": (queue, "sapwood-dark"),
    "ask": (ask, "sapwood-dark"),
    "context": (context, "sapwood-dark"),
    "rewind": (rewind, "sapwood-dark"),
    "replay": (replay, "sapwood-dark"),
    "light": (conversation, "sapwood-light"),
}


async def film() -> list[Frame]:
    """A mark, a question, its streaming answer, a rewind and its undo."""
    frames: list[Frame] = []
    async with staged(size=(104, 28), delay=0.03) as stage:

        async def shot(seconds: float) -> None:
            await stage.pilot.pause(0.05)
            frames.append((seconds, stage.strips()))

        async def typed(text: str) -> None:
            for end in range(0, len(text) + 1, 3):
                stage.app.conversation.composer.put(text[:end])
                await shot(0.09)
            stage.app.conversation.composer.put(text)
            await shot(0.5)
            await stage.pilot.press("enter")
            await shot(0.2)

        await shot(1.2)
        await typed("/mark TRY")
        await shot(0.8)
        stage.server.replies([ANSWER])
        await typed("Show me the fix.")
        for _ in range(60):
            await shot(0.12)
            if stage.shows("clock frozen") and not stage.shows("working"):
                break
        await shot(1.5)
        await stage.pilot.press("f3")
        await stage.sees("TRY")
        await stage.pilot.press("down")
        await stage.sees("leaves view")
        await shot(1.8)
        await stage.pilot.press("enter")
        await stage.sees("Rewound to TRY")
        await shot(1.8)
        await typed("/undo")
        await stage.sees("Undone")
        await shot(2.2)
    return frames


async def make(names: list[str]) -> None:
    """Writes the pictures of these names."""
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        if name == "recording":
            drawn = moving(await film(), "sapwood")
        else:
            scene, theme = SCENES[name]
            async with staged(theme=theme, delay=0.05 if name == "queue" else 0.0) as stage:
                await scene(stage)
                await stage.pilot.pause(0.2)
                drawn = still(stage.strips(), "sapwood")
                if stage.waiting is not None:
                    stage.waiting.cancel()
        (FOLDER / f"{name}.svg").write_text(drawn, encoding="utf-8")
        print(f"{name}.svg: {len(drawn) // 1024} kB", flush=True)


def main(argv: list[str]) -> int:
    """Writes all pictures, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join([*SCENES, 'recording'])}")
    parser.add_argument("--check", action="store_true", help="only see that all are there")
    options = parser.parse_args(argv)
    everything = [*SCENES, "recording"]
    if options.check:
        missing = [name for name in everything if not (FOLDER / f"{name}.svg").is_file()]
        print(f"missing: {', '.join(missing)}" if missing else "every picture is there")
        return bool(missing)
    asyncio.run(make(options.names or everything))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
