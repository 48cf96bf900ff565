"""What `--inline` takes from inside Textual is still there. A new version has to pass this."""

import asyncio
import inspect
import os
import signal

import pytest
from textual._compositor import Compositor, InlineUpdate
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_inline_driver import LinuxInlineDriver
from textual.screen import Screen

from sapwood.app.connection import connect
from sapwood.config.config_file import Config
from sapwood.tui.inline.app import InlineApp, InlineDriver

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownArgumentType=false


def _nothing(driver: LinuxInlineDriver) -> None:
    pass


def test_a_frame_is_given_to_the_application_as_lines() -> None:
    assert [*inspect.signature(App._display).parameters] == ["self", "screen", "renderable"]
    assert InlineUpdate([]).strips == []
    assert Compositor().size.height == 0
    assert "self.size = size" in inspect.getsource(Compositor.reflow)
    assert "app._display(" in inspect.getsource(Screen._compositor_refresh)
    assert "_get_inline_height" in inspect.getsource(Screen._compositor_refresh)
    assert "_get_inline_height" in inspect.getsource(Screen._refresh_layout)


def test_the_application_builds_its_driver() -> None:
    names = [*inspect.signature(App._build_driver).parameters]
    assert names == ["self", "headless", "inline", "mouse", "size"]


def test_the_driver_can_step_aside() -> None:
    assert "stop_application_mode" in inspect.getsource(Driver.suspend_application_mode)
    assert "start_application_mode" in inspect.getsource(Driver.resume_application_mode)
    assert "SIGWINCH" in inspect.getsource(LinuxInlineDriver.start_application_mode)


async def test_the_driver_passes_on_where_the_cursor_is(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = await connect(":memory:")
    app = InlineApp(connection, Config(), {}, "/tmp/project")
    told: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(app, "cursor_reported", told.set_result)
    driver = InlineDriver(app, mouse=False, size=(80, 24))
    reading, writing = os.pipe()
    driver.fileno = reading
    reader = asyncio.create_task(asyncio.to_thread(driver.run_input_thread))
    os.write(writing, b"\x1b[5;3R")
    assert await asyncio.wait_for(told, 60) == 4
    assert driver.cursor_origin is None
    driver.exit_event.set()
    await reader
    os.close(reading)
    os.close(writing)
    await connection.close()


async def test_another_size_is_told_without_clearing_the_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = await connect(":memory:")
    app = InlineApp(connection, Config(), {}, "/tmp/project")
    driver = InlineDriver(app, mouse=False, size=(80, 24))
    written: list[str] = []
    told: list[object] = []
    monkeypatch.setattr(driver, "write", written.append)
    monkeypatch.setattr(driver, "send_message", told.append)
    monkeypatch.setattr(LinuxInlineDriver, "start_application_mode", _nothing)
    before = signal.getsignal(signal.SIGWINCH)
    try:
        driver.start_application_mode()
        signal.raise_signal(signal.SIGWINCH)
    finally:
        signal.signal(signal.SIGWINCH, before)
    assert len(told) == 1
    assert written == []
    await connection.close()
