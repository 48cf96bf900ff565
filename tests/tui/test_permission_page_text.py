"""A permission question shows every character, and allows nothing before its end was shown."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from msgspec import structs

from sapwood.core.ids import AgentId
from sapwood.tui.screens.permission_page import ApprovalText, PermissionPage
from sapwood.workspace.permissions.permission_gate import (
    Deny,
    PermissionAnswer,
    PermissionQuestion,
)
from sapwood.workspace.permissions.permission_rules import parse_rules
from tests.tui.inline.inline_stage import InlineStage, on_inline_stage
from tests.tui.stage import Stage, on_stage, until

SIZES = [
    (80, 24),
    pytest.param((60, 20), marks=pytest.mark.night),
    pytest.param((150, 40), marks=pytest.mark.night),
]
LONG = "\n".join(f"echo step {number} {'and more ' * 12}" for number in range(60)) + "\nrm last"
DIFF = "\n".join(["--- a.py", "+++ a.py", *(f"+line {number}" for number in range(200)), "+last"])


def question(tool: str, subject: str, preview: str = "", folder: str = "") -> PermissionQuestion:
    rules = parse_rules([f"allow {tool}({subject})"])
    why = "No permission rule covers this."
    return PermissionQuestion(
        AgentId("other"), "/w", tool, subject, why, preview or subject, rules, folder
    )


QUESTIONS = {
    "short command": question("shell", "make test", folder="node_modules/evil"),
    "long command": question("shell", LONG),
    "long diff": question("edit_file", "a.py", DIFF),
}


class Asked:
    """A question on a stage, and the answer to it."""

    def __init__(self, stage: Stage | InlineStage, page: PermissionPage) -> None:
        self.stage, self.page = stage, page
        self.answers: list[PermissionAnswer | None] = []

    @property
    def screen(self) -> str:
        stage = self.stage
        return stage.screen() if isinstance(stage, Stage) else stage.screen

    @property
    def left(self) -> int:
        return self.page.query_one(ApprovalText).rows_left

    async def press(self, key: str) -> None:
        await self.stage.pilot.press(key)


@asynccontextmanager
async def asked(
    about: PermissionQuestion, size: tuple[int, int], *, inline: bool
) -> AsyncGenerator[Asked]:
    async with on_inline_stage(size=size) if inline else on_stage(size=size) as stage:
        yield await ask(stage, about)


async def ask(stage: Stage | InlineStage, about: PermissionQuestion) -> Asked:
    found = Asked(stage, PermissionPage(about))
    stage.app.push_screen(found.page, found.answers.append)
    await until(lambda: "Deny with a reason" in found.screen, shown=lambda: found.screen)
    return found


@pytest.mark.parametrize(
    "inline", [False, pytest.param(True, marks=pytest.mark.night)], ids=["full", "inline"]
)
@pytest.mark.parametrize("size", SIZES)
async def test_every_answer_is_visible(size: tuple[int, int], inline: bool) -> None:
    async with on_inline_stage(size=size) if inline else on_stage(size=size) as stage:
        for about in QUESTIONS.values():
            found = await ask(stage, about)
            for words in ("y  Allow once", "a  Always in", "n  Deny", "t  Deny with a reason"):
                assert words in found.screen
            assert "The model wants to" in found.screen
            assert f"in the folder {about.folder}" in found.screen or not about.folder
            await found.page.dismiss(None)


@pytest.mark.parametrize(
    ("name", "key", "inline"),
    [
        ("long command", "enter", False),
        ("long command", "y", True),
        ("long diff", "a", False),
        ("long diff", "enter", True),
    ],
)
async def test_nothing_is_allowed_before_its_end_was_shown(
    name: str, key: str, inline: bool
) -> None:
    async with asked(QUESTIONS[name], (80, 24), inline=inline) as found:
        await until(lambda: "more lines: press space or page down" in found.screen)
        assert "last" not in found.screen
        while True:
            before = found.left
            await found.press(key)
            if not before:
                break
            assert not found.answers  # the key scrolled on instead
            await until(lambda before=before: found.left < before)
            if not found.left:
                await until(lambda: "last" in found.screen, shown=lambda: found.screen)
        await until(lambda: bool(found.answers))
        assert not isinstance(found.answers[0], Deny)


async def test_the_end_key_and_a_jump_do_not_count_as_shown() -> None:
    async with asked(QUESTIONS["long command"], (80, 24), inline=False) as found:
        await until(lambda: "more lines" in found.screen)
        left = found.left
        found.page.query_one(ApprovalText).scroll_end(animate=False)  # as a mouse can do
        await until(lambda: "rm last" in found.screen)
        assert found.left == left
        await found.press("y")
        assert not found.answers
        await until(lambda: found.left < left)


async def test_a_long_question_can_be_denied_at_once() -> None:
    async with asked(QUESTIONS["long diff"], (60, 20), inline=False) as found:
        await found.press("n")
        await until(lambda: bool(found.answers))
        assert found.answers == [Deny()]


HIDDEN = {
    "\x1b]\ntouch x": "␛]",
    "\x1b[8m": "␛[8m",
    "\u202e": r"\u202e",
    "\u200b": r"\u200b",
    "\u009b31m": r"\u009b31m",
    "\r": "␍",
    "\u00a0": r"\u00a0",
    "\U000e0041": r"\U000e0041",
    "\u3164": r"\u3164",
    "\x00": "␀",
}
"""Characters that a terminal obeys or does not show, and their signs."""


async def test_invisible_characters_are_shown() -> None:
    async with on_stage(size=(80, 24)) as stage:
        for hidden, sign in HIDDEN.items():
            found = await ask(stage, question("shell", f"git status{hidden}end of it"))
            assert f"git status{sign}" in found.screen
            assert "end of it" in found.screen
            assert "invisible characters" in found.screen
            await found.page.dismiss(None)


@pytest.mark.night
async def test_no_character_is_lost_where_lines_wrap() -> None:
    letters = "".join(chr(33 + at % 90) for at in range(3_000)) + "日本語" * 50
    for width in (60, 80, 81):
        async with asked(question("shell", letters), (width, 30), inline=False) as found:
            text = found.page.query_one(ApprovalText)
            await until(lambda text=text: text.size.height > 0)
            rows: dict[int, str] = {}
            while True:
                top = text.scroll_offset.y
                drawn = (text.render_line(y).text for y in range(text.size.height))
                rows |= {top + y: line[2:].rstrip() for y, line in enumerate(drawn)}
                if not found.left:
                    break
                await found.press("space")
            assert letters in "".join(rows[at] for at in sorted(rows))


@pytest.mark.parametrize("inline", [False, True], ids=["full", "inline"])
async def test_a_sentence_of_ours_wraps_between_words(inline: bool) -> None:
    folder = "/srv/projects of somebody/invoices and reminders/of the year before last"
    about = structs.replace(question("shell", "make test"), workspace=folder)
    async with asked(about, (60, 20), inline=inline) as found:
        shown = [line.strip(" │┃▌▐") for line in found.screen.splitlines()]
        at = next(at for at, line in enumerate(shown) if "a allows: From now on in" in line)
        words = " ".join(line.removeprefix("↪").strip() for line in shown[at : at + 3])
        assert f"a allows: From now on in {folder}." in words


async def test_another_agent_is_named_and_the_shown_one_is_the_model() -> None:
    async with on_stage() as stage:
        stage.app.push_screen(PermissionPage(QUESTIONS["long diff"], "Check the locale"))
        await stage.sees("The model of 'Check the locale' wants to edit a.py")
