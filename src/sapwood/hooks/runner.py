"""Runs a hook by its name and returns its answer.

An error, or a hook that takes too long, becomes a journal entry and an empty answer, so that the
calling program continues.
"""

import gc
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType

HOOKS = (
    "session-start",
    "user-prompt-submit",
    "pre-compact",
    "stop",
    "subagent-start",
    "subagent-stop",
    "session-end",
    "status-line",
)

SECONDS = 2.5
"""How long a hook may take. The programs themselves wait at least 3 seconds."""


class OutOfTime(BaseException):
    """A hook took too long. Not an `Exception`, so that no handler on the way catches it."""


def run_hook(name: str, content: bytes, environ: Mapping[str, str] = os.environ) -> bytes:
    """Runs a hook on its standard input and returns its standard output. Never raises.

    Does nothing in a program that Sapwood itself has started to ask it something.
    """
    if environ.get("SAPWOOD_NO_HOOKS"):
        return b""
    try:
        with suppress(ValueError, AttributeError):  # not the main thread, or no signals here
            signal.signal(signal.SIGALRM, _raise_out_of_time)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
        answer = _answer(name, content, environ)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return answer
    except BaseException as error:  # an interrupt or an exit must not reach the program either
        with suppress(BaseException):
            signal.setitimer(signal.ITIMER_REAL, 0)
            _journal_failure(name, content, error)
        return b""


def _answer(name: str, content: bytes, environ: Mapping[str, str]) -> bytes:
    if name == "status-line":  # it is drawn several times a second, and needs few imports
        from sapwood.hooks.status_line import draw

        return draw(content, environ)
    from sapwood.hooks.hook_call import HookCall
    from sapwood.hooks.hook_handlers import HANDLERS

    handler = HANDLERS[name]
    call = HookCall(name, content, environ)
    call.remember()
    return handler(call).encode(call.input.hook_event_name or "")


def _raise_out_of_time(number: int, frame: FrameType | None) -> None:
    raise OutOfTime(f"it took more than {SECONDS:g} seconds")


def _journal_failure(name: str, content: bytes, error: BaseException) -> None:
    from sapwood.hooks.hook_call import HookInput, read_hook_input
    from sapwood.journal import add_to_journal

    if name == "status-line" and not _is_first_of_the_hour():
        return  # it is drawn all the time, and would fill the journal
    called = HookInput()
    with suppress(Exception):
        called = read_hook_input(content)
    message = f"The hook {name} did nothing: {type(error).__name__}: {error}{_where(error)}"
    about = {"source": called.program, "session": called.session, "folder": called.folder}
    add_to_journal("failed", message, **about)


def _is_first_of_the_hour() -> bool:
    from sapwood.context_actions.hook_memory import HookMemory, hook_memory_folder

    ran, hour = HookMemory(hook_memory_folder(), "ran"), str(int(time.time()) // 3600)
    if ran.get("told-in-hour") == hour:
        return False
    ran.put("told-in-hour", hour)
    return True


def _where(error: BaseException) -> str:
    """The file and the line that raised the error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"


def main(name: str) -> int:
    """Runs a hook on the standard streams of this process. Returns 0, whatever happens."""
    gc.disable()  # the process ends before there is much garbage
    # msgspec imports it if it can and works without it; the import takes a tenth of a hook's time.
    sys.modules.setdefault("typing_extensions", None)  # pyright: ignore[reportArgumentType]
    with suppress(BaseException):
        answer = run_hook(name, sys.stdin.buffer.read())
        sys.stdout.buffer.write(answer)
        sys.stdout.flush()
    return 0
