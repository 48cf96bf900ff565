"""Textual's driver of a Unix terminal, with two of its faults mended.

Textual writes to the terminal in a thread, through a queue of 30 pieces. When the terminal closes,
the thread ends with an error and nothing empties the queue: the 31st write waits for ever, and the
program stays behind without a terminal. This driver drops what nobody can read.

Textual starts again when the program continues. If the program was stopped by SIGSTOP, which it
cannot see, Textual is still running: then two threads read the keys and mix them up, and at the
end the terminal is not restored. This driver only draws the screen again.
"""

from queue import Full

from textual.drivers.linux_driver import LinuxDriver

_LOOK_AGAIN = 0.2


class TerminalDriver(LinuxDriver):
    """Writes to the terminal for as long as there is one."""

    def write(self, data: str) -> None:
        """Puts text into the queue of the thread that writes."""
        self._put(data)

    def close(self) -> None:
        """Writes what is left in the queue, and ends the thread."""
        self._put(None)
        if self._writer_thread is not None:
            self._writer_thread.join()

    def _sigcont_application(self, *_: object) -> None:
        if self._must_signal_resume:
            super()._sigcont_application()  # pyright: ignore[reportUnknownMemberType]
        else:
            self._loop.call_soon_threadsafe(self._app.refresh)

    def _put(self, data: str | None) -> None:
        thread = self._writer_thread
        while thread is not None and thread.is_alive():
            try:
                # Textual has no public way to give up a write.
                thread._queue.put(data, timeout=_LOOK_AGAIN)  # pyright: ignore[reportPrivateUsage]
            except Full:
                continue
            return
