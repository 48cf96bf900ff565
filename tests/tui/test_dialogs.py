"""Every page that asks something, at three sizes of the terminal, with its answers visible.

The text of each is kept in `snapshots/dialogs`. `just tui-pictures` writes them anew; with
`SAPWOOD_PICTURES=FOLDER` it also draws them as SVG. Look at them before you commit.
"""

import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sapwood.api import Agent, Sapwood
from sapwood.app.connection import connect
from sapwood.config.config_file import Config
from sapwood.conversation.model_setup import ModelSetup
from sapwood.core.commands import Fork
from sapwood.core.ids import AgentId
from sapwood.tui.screens.first_run_page import FirstRunPage
from sapwood.tui.screens.modal_page import KeyPage
from sapwood.tui.screens.permission_page import PermissionPage
from sapwood.workspace.permissions.permission_gate import PermissionOffer, PermissionQuestion
from sapwood.workspace.permissions.permission_rules import parse_rules
from tests.tui.stage import MODEL, Stage, on_stage, until
from tools.pictures.svg import still

SIZES = ((80, 24), (60, 20), (150, 40))
FOLDER = Path(__file__).parent / "snapshots" / "dialogs"
WRITE = bool(os.environ.get("SAPWOOD_WRITE_SNAPSHOTS"))
PICTURES = os.environ.get("SAPWOOD_PICTURES", "")
VARIES = (
    (re.compile(r"\b(just now|\d+ (?:s|seconds?|min|minutes?|h) ago)( *)"), "just now"),
    (re.compile(r"\b[0-9a-f]{32}…"), "0" * 32 + "…"),
    (re.compile(r"\$0\.\d+"), "$0.00"),
)

Open = Callable[[Stage], Awaitable[None]]


class Dialog(NamedTuple):
    """How a page is opened, and the words of its answers, which no size may hide.

    Pages that list commands or settings change with every new one: their text is not kept.
    """

    open: Open
    answers: tuple[str, ...]
    is_kept: bool = True


def _question(tool: str, subject: str, preview: str = "", folder: str = "") -> PermissionQuestion:
    rules = parse_rules([f"allow {tool}({subject})"])
    grants = "Exactly this, in the workspace's own folder. From now on in /srv/wood."
    starting = "Every command that starts with 'make'. From now on in /srv/wood."
    offers = [PermissionOffer("once", "Only this call."), PermissionOffer("exact", grants, rules)]
    if tool == "shell":
        rule = parse_rules(["allow shell(make *)"])
        offers.append(PermissionOffer("prefix", starting, rule))
    why = "No permission rule covers this."
    agent = AgentId("kept")
    return PermissionQuestion(
        agent,
        "/srv/wood",
        tool,
        subject,
        why,
        preview or subject,
        rules,
        folder,
        tuple(offers),
    )


_LONG = "\n".join(
    f"python3 tools/measure.py --ring {number} --out results/ring-{number}.csv --seed 7 --verbose"
    for number in range(40)
)
_DIFF = "\n".join(
    [
        "--- invoice.py",
        "+++ invoice.py",
        "@@ -1,40 +1,40 @@",
        *(
            line
            for number in range(40)
            for line in (
                f"-    total += price[{number}] * 1.19",
                f"+    total += price[{number}] * rate",
            )
        ),
    ]
)
_SLY = "git status\x1b]\ntouch x # \u202e\u200b\u00a0done"
_ALLOW = ("y  Allow once", "a  Always in this project", "n  Deny", "t  Deny with a reason")
_ALL = (*_ALLOW, "p  Always in this project: allow shell(make *)")


_TEXT = "The invoices of 2025 have no tax number. What should the export do?"
_ASKED = PermissionQuestion(
    AgentId("kept"),
    "/srv/wood",
    "ask_user",
    _TEXT,
    "The turn waits for your answer.",
    _TEXT,
    choices=(
        "Leave the field empty",
        "Stop with an error",
        "Use the number of 2024, and write the invoices without one to the log of the export",
    ),
)
_CHOICES = ("1  Leave the field", "of the export", "t  Write an answer", "n  Do not answer")


def permission(question: PermissionQuestion, *keys: str) -> Open:
    async def show(stage: Stage) -> None:
        stage.app.push_screen(PermissionPage(question))
        await stage.sees("A question for you" if question.choices else "Allow this?")
        await stage.pilot.press(*keys)

    return show


def whole_permission(question: PermissionQuestion) -> Open:
    """The question, scrolled to its end."""

    async def show(stage: Stage) -> None:
        await permission(question)(stage)
        await stage.sees("more line")
        while "more line" in stage.screen():
            await stage.pilot.press("space")

    return show


def first_run(*keys: str, sees: str) -> Open:
    async def show(stage: Stage) -> None:
        stage.app.push_screen(FirstRunPage(Config(database=":memory:")))
        await stage.sees("Welcome to Sapwood")
        await stage.pilot.press(*keys)
        await stage.sees(sees)

    return show


async def key_page(stage: Stage) -> None:
    why = "Anthropic rejected the API key (from keys.toml)."
    stage.app.push_screen(
        KeyPage(ModelSetup(Config(database=":memory:")), "claude-sonnet-5-5", why)
    )
    await stage.sees("Another API key?")


def pressed(*keys: str, sees: str) -> Open:
    async def show(stage: Stage) -> None:
        await stage.pilot.press(*keys)
        await stage.sees(sees)

    return show


def typed(line: str, sees: str) -> Open:
    async def show(stage: Stage) -> None:
        await stage.type(line)
        await stage.sees(sees)

    return show


async def sent_messages(stage: Stage) -> None:
    stage.conversation.composer.sent.add("Count the nests.")
    await pressed("ctrl+r", sees="Sent messages")(stage)


async def changed_setting(stage: Stage) -> None:
    await typed("/config", "Settings")(stage)
    await stage.pilot.press(*"model", "enter")
    await stage.sees("New value for model")


DIALOGS = {
    "permission-short": Dialog(
        permission(_question("shell", "make test", folder="node_modules/evil")), _ALL
    ),
    "permission-long-command": Dialog(permission(_question("shell", _LONG)), _ALL),
    "permission-end-of-command": Dialog(whole_permission(_question("shell", _LONG)), _ALL),
    "permission-long-diff": Dialog(permission(_question("edit_file", "invoice.py", _DIFF)), _ALLOW),
    "permission-invisible": Dialog(permission(_question("shell", _SLY)), _ALLOW),
    "permission-reason": Dialog(
        permission(_question("edit_file", "invoice.py", _DIFF), "t"), ("Why not",)
    ),
    "question-choices": Dialog(permission(_ASKED), _CHOICES),
    "question-own-words": Dialog(permission(_ASKED, "t"), ("Your answer",)),
    "first-run": Dialog(first_run(sees="API key for"), ("enter chooses", "claude-sonnet-5-5")),
    "first-run-key": Dialog(
        first_run("enter", sees="Paste your API key"), ("enter continues", "Paste your API key")
    ),
    "first-run-address": Dialog(
        first_run("up", "enter", sees="Address and model"), ("enter continues", "Address and model")
    ),
    "first-run-mistyped": Dialog(
        first_run(*"gpt-banana", "enter", sees="does not list"),
        ("enter chooses", "Press enter again"),
    ),
    "key-rejected": Dialog(key_page, ("enter stores it", "Paste your API key")),
    "rewind": Dialog(pressed("f3", sees="BEFORE_STORKS"), ("enter goes back", "BEFORE_STORKS")),
    "conversations": Dialog(pressed("ctrl+l", sees="┃"), ("enter opens", "storks")),
    "sent-messages": Dialog(sent_messages, ("esc closes", "Count the nests.")),
    "agents": Dialog(typed("/agents", "Eleven nests."), ("esc closes", "storks")),
    "search": Dialog(typed("/recall nest", "Where do"), ("esc closes",)),
    "settings": Dialog(typed("/config", "Settings"), ("enter changes", "database"), is_kept=False),
    "settings-value": Dialog(changed_setting, ("enter", "model"), is_kept=False),
    "context": Dialog(typed("/context", "history"), ("esc closes",), is_kept=False),
    "help": Dialog(typed("/help", "Typing"), ("esc closes",), is_kept=False),
    "commands": Dialog(pressed("/", "m", "a", sees="/mark"), ("/mark",), is_kept=False),
}


_QUESTIONS = [name for name in DIALOGS if name.startswith(("permission", "question"))]
_KEYS = [name for name in DIALOGS if name.startswith(("first-run", "key"))]
SCREENS = [_QUESTIONS, _KEYS, [name for name in DIALOGS if name not in _QUESTIONS + _KEYS]]
"""Dialogs that are opened one after the other on one screen: sent messages before what is typed."""


@pytest.fixture(autouse=True)
def fixed_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the pictures depends on the machine. No page here writes."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SAPWOOD_CONFIG", "/srv/ada/settings/sapwood/config.toml")


@pytest.mark.parametrize(
    "size", [SIZES[0], *(pytest.param(size, marks=pytest.mark.night) for size in SIZES[1:])]
)
@pytest.mark.parametrize("names", SCREENS, ids=["questions", "keys", "pages"])
async def test_a_dialog_shows_its_answers_at_every_size(
    names: list[str], size: tuple[int, int]
) -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    agent = await db.start("storks", id="kept", model=MODEL, folder="/tmp/project")
    await agent.record("Where do storks nest?", "On roofs.")
    await agent.mark("BEFORE_STORKS")
    await agent.record("And herons? " + "Please answer in whole sentences. " * 3, "In tall trees.")
    await agent.record("And owls, where do they nest?", "In barns and old trees.")
    child = Agent(connection, AgentId("keptchild"))
    await agent.do(Fork(agent.id, child.id, None, ""))
    await child.send(agent, "Eleven nests.")
    async with on_stage(agent.id, connection=connection, size=SIZES[0]) as stage:
        await stage.sees("In barns")
        for name in names:
            dialog = DIALOGS[name]
            await dialog.open(stage)
            if size != SIZES[0]:
                await stage.pilot.resize_terminal(*size)
            shown = await settled(stage, size, dialog.answers)
            draw(name, size, stage)
            if dialog.is_kept:
                compare(name, size, shown, stage)
            while stage.app.screen is not stage.conversation:
                await stage.app.screen.dismiss(None)
            if size != SIZES[0]:
                await stage.pilot.resize_terminal(*SIZES[0])
    await connection.close()


async def settled(stage: Stage, size: tuple[int, int], answers: tuple[str, ...]) -> str:
    """What is on the screen when it does not change any more. Every answer must be there."""
    before = ""

    def missing() -> list[str]:
        return [words for words in answers if words not in stage.screen()]

    await until(lambda: not missing(), 30, lambda: f"{size}: {missing()}\n{stage.screen()}")
    while before != (before := stage.screen()) or "Searching …" in before:
        await stage.pilot.pause(0.3)
    assert len(before.split("\n")) == size[1]
    assert not missing()
    return before


def draw(name: str, size: tuple[int, int], stage: Stage) -> None:
    """Draws the whole screen, if pictures are wanted."""
    if PICTURES:
        compositor = stage.app.screen._compositor  # pyright: ignore[reportPrivateUsage]
        drawn = still(compositor.render_strips(), name)
        file = Path(PICTURES) / f"{name}-{size[0]}x{size[1]}.svg"
        file.write_text(drawn, encoding="utf-8")


def compare(name: str, size: tuple[int, int], shown: str, stage: Stage) -> None:
    """Compares the frame of the page with the text that is kept."""
    x, y, width, height = stage.app.screen.query_one("#frame").region
    shown = "\n".join(line[x : x + width] for line in shown.split("\n")[y : y + height])
    for pattern, words in VARIES:
        shown = pattern.sub(words, shown)
    shown = "\n".join(line.rstrip() for line in shown.split("\n")) + "\n"
    kept = FOLDER / f"{name}-{size[0]}x{size[1]}.txt"
    if WRITE:
        FOLDER.mkdir(parents=True, exist_ok=True)
        kept.write_text(shown, encoding="utf-8")
    assert shown == kept.read_text(encoding="utf-8"), f"{kept.name} looks otherwise"
