"""Keys that arrive in one read are handled in the order in which they were typed."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import pytest
from textual import events
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.widgets import Input, TextArea

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.core.events import TurnStarted
from sapwood.tui.app import SapwoodApp
from sapwood.tui.composer import Composer
from sapwood.tui.key_order import KeyOrder
from sapwood.tui.pages import Pages
from sapwood.tui.screens.context_pages import ContextPage
from sapwood.tui.screens.modal_page import HelpPage
from sapwood.tui.screens.search_pages import SearchPage
from tests.tui.inline.inline_stage import on_inline_stage
from tests.tui.keyboard import Keyboard, keyboard
from tests.tui.stage import MODEL, on_stage, until

# pyright: reportPrivateUsage=false

ENTER, TAB, UP, DOWN = "\r", "\t", "\x1b[A", "\x1b[B"
CTRL_C, CTRL_G, CTRL_P, CTRL_R, CTRL_S, CTRL_T = "\x03", "\x07", "\x10", "\x12", "\x13", "\x14"
LEFT, BACKSPACE = "\x1b[D", "\x7f"
ESCAPE = "\x1b[27u"
"""Escape as terminals send it that tell it from the start of a sequence."""
BARE_ESCAPE = "\x1b"

_LONG = "A text that takes many turns of the event loop to write into the composer."


class Screen:
    """A screen, full or inline, that handles each step slowly, and a keyboard at it."""

    def __init__(self, app: SapwoodApp, keys: Keyboard) -> None:
        self.app = app
        self.burst = keys.burst
        self.edited: list[str] = []

    @property
    def text(self) -> str:
        """What stands in the composer."""
        return self.app.conversation.composer.text

    async def marked(self, *names: str) -> None:
        """Waits until the screen knows these marks."""
        await until(lambda: {*names} <= {*dict(self.app.conversation._known.marks)})

    async def prompts(self) -> list[str]:
        """What was sent to the model, in order."""
        controller = self.app.controller
        assert controller.agent is not None
        connection = controller.connection
        found = await connection.log.read(connection.space, controller.agent)
        started = [each.event for each in found if isinstance(each.event, TurnStarted)]
        return ["".join(getattr(part, "text", "") for part in each.prompt) for each in started]

    async def edit(self, text: str) -> str:
        """Stands for the editor of the person."""
        self.edited.append(text)
        return f"{text}from an editor"


@contextmanager
def nothing() -> Generator[None]:
    """Stands for giving the terminal to an editor."""
    yield


async def many_turns() -> None:
    """Lets everything else run for a while."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.fixture(params=["full screen", pytest.param("inline", marks=pytest.mark.night)])
async def screen(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Screen]:
    write, open_page = Composer._on_key, Pages.open

    async def write_slowly(composer: Composer, event: events.Key) -> None:
        await many_turns()
        await write(composer, event)

    async def open_slowly(pages: Pages, name: str) -> None:
        await many_turns()
        await open_page(pages, name)

    monkeypatch.setattr(Composer, "_on_key", write_slowly)
    monkeypatch.setattr(Pages, "open", open_slowly)
    async with a_screen(request.param) as app, keyboard(app) as keys:
        shown = Screen(app, keys)
        monkeypatch.setattr(app, "suspend", nothing)
        monkeypatch.setattr("sapwood.tui.conversation_screen.edit_text", shown.edit)
        yield shown


@asynccontextmanager
async def a_screen(kind: str) -> AsyncGenerator[SapwoodApp]:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("here", model=MODEL)
    await agent.record("Where do herons nest?", "In tall trees.")
    if kind == "inline":
        async with on_inline_stage(agent.id, connection=connection) as below:
            yield below.app
    else:
        async with on_stage(agent.id, connection=connection) as stage:
            yield stage.app
    await connection.close()


async def test_letters_that_arrive_together_are_written_together(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit, edits = TextArea.edit, list[Edit]()

    def counted(area: TextArea, made: Edit) -> EditResult:
        edits.append(made)
        return edit(area, made)

    monkeypatch.setattr(TextArea, "edit", counted)
    text = "Herons nest in tall trees. " * 10
    await screen.burst(text)
    await until(lambda: screen.text == text)
    assert len(edits) < len(text) / 4
    await screen.burst(f"And{BACKSPACE}{BACKSPACE}s{LEFT}{LEFT}b")
    await until(lambda: screen.text == f"{text}bAs")


async def test_enter_sends_the_whole_text(screen: Screen) -> None:
    await screen.burst(f"{_LONG}{ENTER}")
    assert (await screen.prompts())[-1] == _LONG
    assert screen.text == ""


async def test_text_after_enter_belongs_to_the_next_message(screen: Screen) -> None:
    await screen.burst(f"one{ENTER}two")
    assert (await screen.prompts())[-1] == "one"
    assert screen.text == "two"


@pytest.mark.night
async def test_letters_that_arrive_right_before_a_letter_is_released_stay_behind_it(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, late = KeyOrder._settle, deque(" third")

    async def settle_and_type(order: KeyOrder, event: events.Key | events.Paste | None) -> None:
        await settle(order, event)
        while late and event is not None:  # as the thread that reads the terminal does
            letter = late.popleft()
            screen.app.post_message(events.Key("space" if letter == " " else letter, letter))

    monkeypatch.setattr(KeyOrder, "_settle", settle_and_type)
    await screen.burst("A")
    await until(lambda: len(screen.text) == len("A third"))
    assert screen.text == "A third"


@pytest.mark.night
async def test_the_editor_opens_with_the_whole_text(screen: Screen) -> None:
    await screen.burst(f"{_LONG}{CTRL_G}, and more")
    assert screen.edited == [_LONG]
    assert screen.text == f"{_LONG}from an editor, and more"


@pytest.mark.parametrize("escape", [ESCAPE, BARE_ESCAPE])
async def test_escape_interrupts_the_turn_that_was_sent_before_it(
    screen: Screen, escape: str
) -> None:
    await screen.burst(f"{_LONG}[[sleep: 60]]{ENTER}{escape}")
    assert not await screen.app.controller.session.is_working()


@pytest.mark.night
async def test_escape_closes_the_list_of_completions(screen: Screen) -> None:
    await screen.burst(f"/ma{ESCAPE}")
    assert not screen.app.conversation.query_one("#popup").display
    assert screen.text == "/ma"


async def test_several_enters_send_each_message_once(screen: Screen) -> None:
    await screen.burst(f"/mark ONE{ENTER}{ENTER}/mark TWO{ENTER}{ENTER}{ENTER}")
    state = await screen.app.controller.state()
    assert state is not None
    assert [mark.name for mark in state.marks] == ["ONE", "TWO"]
    assert screen.text == ""


async def test_messages_are_queued_in_the_order_in_which_they_were_sent(screen: Screen) -> None:
    await screen.burst(f"[[sleep: 60]]{ENTER}two{ENTER}three{ENTER}")
    assert (await screen.prompts())[-1] == "[[sleep: 60]]"
    assert [each.text for each in await screen.app.controller.session.queue()] == ["two", "three"]
    await screen.burst(ESCAPE)


async def test_a_paste_is_whole_when_enter_follows(screen: Screen) -> None:
    await screen.burst(f"See: \x1b[200~first\nsecond\x1b[201~, right?{ENTER}")
    assert (await screen.prompts())[-1] == "See: first\nsecond, right?"


async def test_tab_completes_what_was_typed_before_it(screen: Screen) -> None:
    await screen.burst(f"/mar{TAB}HERE{ENTER}")
    state = await screen.app.controller.state()
    assert state is not None
    assert [mark.name for mark in state.marks] == ["HERE"]


async def test_up_recalls_what_was_just_sent(screen: Screen) -> None:
    await screen.burst(f"/mark ONE{ENTER}{UP}, and more")
    assert screen.text == "/mark ONE, and more"


async def test_keys_typed_while_a_page_opens_go_to_the_page(screen: Screen) -> None:
    await screen.burst(f"draft{CTRL_S}herons")
    page = screen.app.screen
    assert isinstance(page, SearchPage)
    assert page.query_one(Input).value == "herons"
    assert screen.text == "draft"


@pytest.mark.night
async def test_enter_picks_from_the_list_that_the_typed_words_give(screen: Screen) -> None:
    await screen.burst(f"/mark ONE{ENTER}/mark TWO{ENTER}{CTRL_R}one{ENTER} and more")
    assert screen.app.screen is screen.app.conversation
    assert screen.text == "/mark ONE and more"


@pytest.mark.night
async def test_keys_typed_after_a_page_closes_go_to_the_composer(screen: Screen) -> None:
    await screen.burst(f"draft{CTRL_T}{ESCAPE}, and more")
    assert screen.app.screen is screen.app.conversation
    assert screen.text == "draft, and more"


@pytest.mark.night
async def test_a_page_that_a_command_asks_for_gets_the_keys_after_it(screen: Screen) -> None:
    await screen.burst(f"/help{ENTER}{ESCAPE}/context{ENTER}")
    assert isinstance(screen.app.screen, ContextPage)
    await screen.burst(f"{ESCAPE}/help{ENTER}jk")
    assert isinstance(screen.app.screen, HelpPage)
    assert screen.text == ""


@pytest.mark.night
async def test_a_message_goes_to_the_agent_that_was_switched_to(screen: Screen) -> None:
    other = await Sapwood(screen.app.controller.connection).start("there", model=MODEL)
    await screen.burst(f"/switch {other.id}{ENTER}Hello.{ENTER}")
    assert screen.app.controller.agent == other.id
    assert await screen.prompts() == ["Hello."]


@pytest.mark.night
async def test_the_palette_runs_the_command_that_was_typed(screen: Screen) -> None:
    await screen.burst(f"{CTRL_P}/mark{ENTER}HERE")
    assert screen.text == "/mark HERE"


async def test_ctrl_c_empties_the_whole_line(screen: Screen) -> None:
    await screen.burst(f"{_LONG}{CTRL_C}new")
    assert screen.text == "new"


async def test_a_slow_command_can_be_stopped(screen: Screen) -> None:
    agent = screen.app.controller.agent
    await screen.burst(f"[[sleep: 60]]{ENTER}/wait {agent}{ENTER}{ESCAPE}more")
    assert screen.text == "more"
    assert await screen.app.controller.session.is_working()
    await screen.burst(f"{CTRL_C}{ESCAPE}")
    assert not await screen.app.controller.session.is_working()


async def test_ctrl_c_gets_past_a_command_that_hangs(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(text: str) -> bool:
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr(screen.app.controller, "submit", hang)
    left = asyncio.Event()
    monkeypatch.setattr(screen.app.conversation, "leave", left.set)
    presses = CTRL_C * 4  # it empties the line, stops the command, warns, and quits
    hanging = asyncio.create_task(screen.burst(f"/mark ONE{ENTER}more{presses}"))
    await asyncio.wait_for(left.wait(), 60)
    screen.app.workers.cancel_all()
    await hanging


@pytest.mark.night
@pytest.mark.parametrize(
    ("keys", "left"),
    [
        ("\x7fx", "hellx"),
        ("\x7f\x7fp!", "help!"),
        ("\x15bye", "bye"),
        ("\x1b[Dx", "hellxo"),
        ("\x17a\x7fb", "b"),
    ],
    ids=["backspace", "backspaces", "ctrl+u", "left", "ctrl+w"],
)
async def test_letters_after_an_editing_key_come_after_it(
    screen: Screen, keys: str, left: str
) -> None:
    await screen.burst("hello")
    await screen.burst(keys)
    assert screen.text == left


@pytest.mark.night
@pytest.mark.parametrize(
    "keys",
    ["\x1b\r", "\x1b[13;3u", "\x1b[13;2u", "\n", "\\\r"],
    ids=["alt+enter", "alt+enter as a code", "shift+enter", "ctrl+j", "backslash"],
)
async def test_these_keys_make_a_new_line(screen: Screen, keys: str) -> None:
    await screen.burst(f"one{keys}two")
    assert screen.text == "one\ntwo"
    assert await screen.prompts() == []


@pytest.mark.parametrize(
    "typed", ["/clear 3", "/rewind A", "/quit", "/switch here", "/rewind PHASE_3"]
)
async def test_enter_sends_a_complete_command_as_it_was_typed(
    screen: Screen, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await screen.burst(f"/mark PHASE_3{ENTER}/mark A{ENTER}/mark A2{ENTER}")
    await screen.marked("PHASE_3", "A", "A2")
    sent: list[str] = []
    monkeypatch.setattr(screen.app.conversation, "submit", sent.append)
    await screen.burst(f"{typed}{ENTER}")
    assert (sent, screen.text) == ([typed], "")


async def test_enter_completes_a_word_that_is_only_begun(screen: Screen) -> None:
    await screen.burst(f"/mark PHASE_3{ENTER}")
    await screen.marked("PHASE_3")
    await screen.burst(f"/rewind PHA{ENTER}")
    assert screen.text == "/rewind PHASE_3 "


@pytest.mark.night
async def test_enter_takes_what_was_picked_in_the_list(screen: Screen) -> None:
    await screen.burst(f"/mark A{ENTER}/mark A2{ENTER}")
    await screen.marked("A", "A2")
    await screen.burst(f"/rewind A{DOWN}{ENTER}")
    assert screen.text == "/rewind A2 "


@pytest.mark.night
async def test_a_late_look_at_the_text_leaves_what_was_picked(screen: Screen) -> None:
    await screen.burst(f"/mark A{ENTER}/mark A2{ENTER}")
    await screen.marked("A", "A2")
    await screen.burst(f"/rewind A{DOWN}")
    composer = screen.app.conversation.composer
    composer.post_message(TextArea.Changed(composer))
    await screen.burst(ENTER)
    assert screen.text == "/rewind A2 "
