"""The process of a probe: reads a `ProbeTask` from its input, and prints a `ProbeResult`.

It is a process of its own so that it can be isolated and killed. Nothing of the user's environment
is passed on to the program but PATH.
"""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from sapwood.core.model_calls import Failure
from sapwood.programs.agent_provider import ProgramInfo, SessionBusy
from sapwood.programs.probe.model_server import ModelServer
from sapwood.programs.probe.probe_process import ProbeResult, ProbeTask
from sapwood.programs.probe.session_test import NotProved, SessionTest
from sapwood.programs.registry import program

_MAX_REASON = 300


async def _probe(task: ProbeTask) -> ProbeResult:
    scratch = Path(task.scratch)
    home, work = scratch / "home", scratch / "work"
    for folder in (home, work, scratch / "tmp"):
        folder.mkdir()
    tested = program(task.program)
    async with ModelServer.running() as model:
        environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "TMPDIR": str(scratch / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **tested.probe(home, model.url, model.key),
        }
        info = ProgramInfo(tested.name, task.path, task.version, True)
        provider = tested.provider(scratch / "data", environ, info)
        test = SessionTest(provider, model, home, work)
        try:
            async with asyncio.timeout(task.seconds):
                await test.run()
        except TimeoutError:
            reason = f"{test.step}, it did not answer within {task.seconds:g} seconds"
            return ProbeResult(False, reason, True)
        except NotProved as difference:
            return ProbeResult(False, _plain(str(difference)))
        except (Failure, SessionBusy, OSError, LookupError, ValueError) as error:
            reason = _plain(str(error)).rstrip(".")
            is_passing = isinstance(error, OSError)
            return ProbeResult(False, f"it could not run a turn ({reason})", is_passing)
        finally:
            await provider.kill()
    return ProbeResult(True)


def _plain(text: str) -> str:
    """A text that contains words of the program, without control characters, and not too long."""
    return "".join(each if each.isprintable() else " " for each in text)[:_MAX_REASON]


async def _run(task: ProbeTask) -> ProbeResult:
    """The result of a probe. SIGTERM ends it, and with it everything that it started."""
    probe = asyncio.create_task(_probe(task))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, probe.cancel)
    return await probe


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.buffer.read(), type=ProbeTask)
    with suppress(asyncio.CancelledError):
        sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(_run(given))))
