"""What the program has to say while the screen is open stands on the screen, not across it."""

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from sapwood.core.secrets import mask_secrets

__all__ = ["noticed"]


class _Notices(logging.Handler):
    """Tells warnings, whichever thread they come from."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._loop = asyncio.get_running_loop()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        text = mask_secrets(record.getMessage())
        with suppress(RuntimeError):  # after the end of the loop there is nobody to tell
            self._loop.call_soon_threadsafe(self._tell, text)


@contextmanager
def noticed(tell: Callable[[str], None]) -> Generator[None]:
    """Tells every warning of Sapwood's meanwhile."""
    ours, handler = logging.getLogger("sapwood"), _Notices(tell)
    ours.addHandler(handler)
    try:
        yield
    finally:
        ours.removeHandler(handler)
