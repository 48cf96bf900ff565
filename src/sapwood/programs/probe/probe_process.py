"""Runs a probe in a process of its own, isolated where the machine allows it, and ends it in time.

With bubblewrap the process has no network but its own loopback, can write only to the scratch
folder, sees nothing of the home folder but what it needs to start, and everything that it started
ends with it. Without bubblewrap the program still gets only the scratch home and a new environment.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, structs

import sapwood
from sapwood.programs.program import user_home

_SECONDS = 20.0
"""For a slow machine. A probe takes at most 3 seconds on an ordinary one."""
_GRACE = 5.0
_POLL_SECONDS = 0.1
_PAUSE = 0.05
_LINE = 256
"""Bytes that the system reads of the first line of a script."""
_MAX_LINKS = 40


class ProbeTask(Struct, frozen=True):
    """What the process is to do."""

    program: str
    path: str
    version: str
    scratch: str
    seconds: float = _SECONDS


class ProbeResult(Struct, frozen=True):
    """Whether sessions can be changed in place, and a clause that says why not.

    `passing` means that another try may end otherwise: the machine was slow. `isolated` says
    whether the program had no network but loopback.
    """

    proved: bool
    reason: str = ""
    passing: bool = False
    isolated: bool = False


def run_probe(
    program: str,
    path: str,
    version: str,
    environ: Mapping[str, str],
    *,
    seconds: float = _SECONDS,
    stop: threading.Event | None = None,
    isolate: bool = True,
) -> ProbeResult:
    """Probes a program in a scratch folder, which is removed afterwards.

    Of `environ` only PATH is passed on. `stop` ends the probe. Without `isolate` bubblewrap is not
    used, so that the CPU time of the probe can be measured. Raises nothing: a probe that cannot
    run has proved nothing.
    """
    try:
        scratch = os.path.realpath(tempfile.mkdtemp(prefix="sapwood-probe-"))
    except OSError as error:
        return ProbeResult(False, f"the probe could not start ({error})", True)
    try:
        task = ProbeTask(program, path, version, scratch, seconds)
        isolating = _isolating_command(task, environ) if isolate else []
        return structs.replace(_run(task, isolating, environ, stop), isolated=bool(isolating))
    except (OSError, subprocess.SubprocessError) as error:
        return ProbeResult(False, f"the probe could not start ({error})", True)
    finally:
        _remove(scratch)


def _remove(folder: str) -> None:
    """Removes a folder, again if a process that was just killed still wrote into it."""
    until = time.monotonic() + _GRACE
    while os.path.exists(folder) and time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(_PAUSE)


def _run(
    task: ProbeTask,
    isolating: list[str],
    environ: Mapping[str, str],
    stop: threading.Event | None,
) -> ProbeResult:
    process = subprocess.Popen(
        [*isolating, sys.executable, "-s", "-P", "-m", "sapwood.programs.probe"],
        cwd=task.scratch,
        env={
            "PATH": environ.get("PATH", os.defpath),
            "HOME": task.scratch,
            "PYTHONPATH": str(_package_root()),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        output = _output(process, msgspec.json.encode(task), task.seconds + _GRACE, stop)
        return msgspec.json.decode(output, type=ProbeResult)
    except subprocess.TimeoutExpired:
        return ProbeResult(False, f"it did not answer within {task.seconds:g} seconds", True)
    except (msgspec.MsgspecError, ValueError):
        return ProbeResult(False, "the probe ended without a result", True)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process: first by a signal after which it kills what it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_GRACE)
            return


def _output(
    process: subprocess.Popen[bytes],
    given: bytes,
    seconds: float,
    stop: threading.Event | None,
) -> bytes:
    """What a process printed; nothing after `stop`. Raises `TimeoutExpired`."""
    until = time.monotonic() + seconds
    left: bytes | None = given
    while stop is None or not stop.is_set():
        try:
            return process.communicate(left, _POLL_SECONDS)[0]
        except subprocess.TimeoutExpired:
            left = None
            if time.monotonic() > until:
                raise
    return b""


def _isolating_command(task: ProbeTask, environ: Mapping[str, str]) -> list[str]:
    """The command that isolates another one; empty where bubblewrap does not work."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return []
    needed = {str(path) for path in _needed(task, environ)}
    command = [bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    command += ["--tmpfs", "/tmp", "--tmpfs", "/run"]
    for path in _hidden(user_home(environ), needed):
        command += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    bound = "\0"
    for path in sorted(needed):
        if path.startswith(("/tmp/", "/run/")) and not path.startswith(f"{bound}/"):
            command += ["--ro-bind", path, path]
            bound = path
    command += ["--bind", task.scratch, task.scratch, "--chdir", task.scratch]
    command += ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--"]
    tried = subprocess.run(
        [*command, "true"], capture_output=True, timeout=_GRACE, check=False, env={}
    )
    return [] if tried.returncode else command


def _needed(task: ProbeTask, environ: Mapping[str, str]) -> Iterator[Path]:
    """The files and folders without which Python or the program does not start."""
    yield from (Path(sys.prefix), Path(sys.base_prefix), _package_root())
    for name in (task.path, sys.executable, _interpreter(task.path, environ)):
        yield from _links(Path(name).absolute())
    package = [each for each in Path(task.path).resolve().parents if each.name == "node_modules"]
    yield from package[-1:]
    for name in environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(name) and os.path.isdir(name):
            yield Path(name)


def _interpreter(path: str, environ: Mapping[str, str]) -> str:
    """What `env` finds for a script that begins with `#!/usr/bin/env node`; else the path itself.

    A folder of PATH often has only a link to it.
    """
    with suppress(OSError), open(path, "rb") as file:
        first = os.fsdecode(file.readline(_LINE)).split()
        if len(first) == 2 and first[0] == "#!/usr/bin/env":
            return shutil.which(first[1], path=environ.get("PATH")) or path
    return path


def _links(path: Path) -> Iterator[Path]:
    """A path, what it is a link to, what that is a link to, and the file."""
    yield path.resolve()
    yield path
    for _ in range(_MAX_LINKS):
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()
        yield Path(os.path.normpath(path))


def _hidden(home: Path, needed: set[str]) -> Iterator[str]:
    """What lies in the home folder, without what is needed to start."""
    with suppress(OSError):
        for path in sorted(home.resolve().iterdir()):
            own = str(path)
            if path.is_symlink() or any(f"{each}/".startswith(f"{own}/") for each in needed):
                continue
            yield own


def _package_root() -> Path:
    return Path(str(sapwood.__file__)).resolve().parents[1]
