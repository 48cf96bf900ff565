"""From the name of a hook to its answer: the way that every hook goes.

Fails open. An error, or too long a time, becomes a line in the journal and no answer at all.
"""

import gc
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from types import FrameType

__all__ = ["HOOKS", "SECONDS", "OutOfTime", "main", "run_hook"]

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
"""How long a hook may take. The programs themselves wait longer, 3 seconds at the least."""


class OutOfTime(BaseException):
    """A hook took too long. Not an `Exception`, so that nothing on the way takes it for one."""


def run_hook(name: str, told: bytes, environ: Mapping[str, str] = os.environ) -> bytes:
    """What the program is to read on the hook's standard output. Never raises."""
    try:
        with suppress(ValueError, AttributeError):  # another thread than the first, or no signals
            signal.signal(signal.SIGALRM, _too_late)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
        said = _answered(name, told, environ)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return said
    except BaseException as error:  # an interrupt or an exit must not reach the program either
        with suppress(BaseException):
            signal.setitimer(signal.ITIMER_REAL, 0)
            _tell(name, told, error)
        return b""


def _answered(name: str, told: bytes, environ: Mapping[str, str]) -> bytes:
    if name == "status-line":  # which needs next to nothing, and is asked for all the time
        from sapwood.app.tending.status_line import draw

        return draw(told, environ)
    from sapwood.app.tending.moment import Moment
    from sapwood.app.tending.told import Answer

    moment = Moment(name, told, environ)
    hook = import_module(f"sapwood.app.tending.on_{name.replace('-', '_')}")
    moment.remember()
    answer: Answer = hook.answer(moment)
    return answer.written(moment.told.hook_event_name or "")


def _too_late(number: int, frame: FrameType | None) -> None:
    raise OutOfTime(f"it took more than {SECONDS:g} seconds")


def _tell(name: str, content: bytes, error: BaseException) -> None:
    from sapwood.app.journaling import note
    from sapwood.app.tending.told import Told, read_told

    if name == "status-line" and not _is_first_of_the_hour():
        return  # it is drawn all the time, and would fill the journal
    told = Told()
    with suppress(Exception):
        told = read_told(content)
    place = _where(error)
    says = f"The hook {name} did nothing: {type(error).__name__}: {error}{place}"
    note("failed", says, source=told.program, session=told.session, folder=told.folder)


def _is_first_of_the_hour() -> bool:
    from sapwood.app.tending.memory import Memory
    from sapwood.app.tending.tended import tending_folder

    ran, hour = Memory(tending_folder(), "ran"), str(int(time.time()) // 3600)
    if ran.get("told-in-hour") == hour:
        return False
    ran.put("told-in-hour", hour)
    return True


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"


def main(name: str) -> int:
    """The program's way in: answers and always ends well."""
    gc.disable()  # so short a life makes little garbage
    # msgspec asks for it and does without; to import it takes a tenth of a hook's time.
    sys.modules.setdefault("typing_extensions", None)  # pyright: ignore[reportArgumentType]
    with suppress(BaseException):
        said = run_hook(name, sys.stdin.buffer.read())
        sys.stdout.buffer.write(said)
        sys.stdout.flush()
    return 0
