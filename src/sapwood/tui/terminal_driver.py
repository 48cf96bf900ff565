"""Textual's driver of a Unix terminal, which ends when the terminal has gone.

Textual writes to the terminal in a thread, through a queue of 30 pieces. When the terminal closes,
the thread ends with an error and nothing empties the queue: the 31st write waits for ever, and the
program stays behind without a terminal. This driver drops what nobody can read.
"""

from queue import Full

from textual.drivers.linux_driver import LinuxDriver

__all__ = ["TerminalDriver"]

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

    def _put(self, data: str | None) -> None:
        thread = self._writer_thread
        while thread is not None and thread.is_alive():
            try:
                # Textual has no public way to give up a write.
                thread._queue.put(data, timeout=_LOOK_AGAIN)  # pyright: ignore[reportPrivateUsage]
            except Full:
                continue
            return
