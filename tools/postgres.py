"""A PostgreSQL server for tests and benchmarks: an existing one, or a temporary one.

    python -m tools.postgres [--volatile] -- just check

runs the command with `SAPWOOD_TEST_POSTGRES` set. If the variable is already set, the command uses
that server. Otherwise a temporary cluster starts on a free port of the loopback interface. It is
stopped and deleted when the command ends, also after an error or a signal.

A temporary cluster flushes its commits (`fsync` stays on), so measurements include the disk of the
temporary folder; `TMPDIR` chooses another one. `--volatile` turns `fsync` off, which is right for
tests: what was committed then survives every end of a process, but not the end of the machine.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import NoReturn

VARIABLE = "SAPWOOD_TEST_POSTGRES"

_DEBIAN = Path("/usr/lib/postgresql")
_ROLE = "sapwood"
_START_SECONDS = 60
_STOP_SECONDS = 60


class PostgresUnavailable(RuntimeError):
    """There is no server. The message has the next step."""


@contextlib.contextmanager
def dsn_or_throwaway(*, volatile: bool = False) -> Generator[str]:
    """The address in `SAPWOOD_TEST_POSTGRES`, or that of a temporary cluster."""
    if named := os.environ.get(VARIABLE):
        yield named
    else:
        with throwaway(volatile=volatile) as dsn:
            yield dsn


@contextlib.contextmanager
def throwaway(*, volatile: bool = False) -> Generator[str]:
    """The address of a temporary cluster, which runs until the end of the `with` block."""
    with cluster(volatile=volatile) as server:
        yield server.dsn


@contextlib.contextmanager
def cluster(*, volatile: bool = False, within: Path | None = None) -> Generator["Cluster"]:
    """Starts a temporary cluster, which runs until the end of the `with` block.

    A volatile one never waits for the disk. Its data is in a new folder, in the folder `within`.
    """
    programs = _programs()
    owner = owner_of_servers()
    with tempfile.TemporaryDirectory(prefix="sapwood-pg-", dir=within) as name:
        folder = Path(name)
        if owner:
            shutil.chown(folder, owner)
        _initialise(programs, folder, owner)
        server = Cluster(programs, folder, owner, volatile=volatile)
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def replica(primary: "Cluster") -> Generator["Cluster"]:
    """Starts a streaming replica of a cluster, which runs until the end of the `with` block."""
    with tempfile.TemporaryDirectory(prefix="sapwood-pg-") as name:
        folder = Path(name)
        if primary.owner:
            shutil.chown(folder, primary.owner)
        primary.copy_to(folder / "data")
        server = Cluster(primary.programs, folder, primary.owner, volatile=False)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _programs() -> Path:
    """The folder of PostgreSQL's programs. On Debian they are not on the `PATH`."""
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if versions:
        return versions[-1].parent
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    raise PostgresUnavailable(
        "PostgreSQL is not installed. On Debian: apt-get install postgresql. "
        f"Or set {VARIABLE} to the address of a server, such as postgresql://me@localhost/test."
    )


def owner_of_servers() -> str | None:
    """The account that runs the server. PostgreSQL refuses root, so root uses `postgres`."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        raise PostgresUnavailable(
            "PostgreSQL does not run as root and there is no account `postgres` to run it. "
            f"Use another account, or set {VARIABLE} to the address of a server."
        ) from None


def _initialise(programs: Path, folder: Path, owner: str | None) -> None:
    _run_program(
        [
            str(programs / "initdb"),
            f"--pgdata={folder / 'data'}",
            f"--username={_ROLE}",
            "--auth=trust",  # the server listens on loopback only
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
        ],
        folder,
        owner,
    )


def _run_program(command: list[str], folder: Path, owner: str | None) -> None:
    """Runs one of PostgreSQL's programs in a folder as the account of the server."""
    done = subprocess.run(
        command,
        cwd=folder,
        user=owner,
        group=owner,
        extra_groups=[] if owner else None,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise PostgresUnavailable(f"{Path(command[0]).name} failed:\n{done.stderr}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """A server that keeps its port and its data when it is stopped and started."""

    def __init__(self, programs: Path, folder: Path, owner: str | None, *, volatile: bool) -> None:
        self.programs = programs
        self.folder = folder
        self.owner = owner
        self._flush = "off" if volatile else "on"
        self._port = free_port()
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        """The address of the server."""
        return f"postgresql://{_ROLE}@127.0.0.1:{self._port}/postgres"

    @property
    def pid(self) -> int:
        """The number of the running process, the parent of those of all sessions."""
        assert self._server is not None
        return self._server.pid

    def start(self) -> None:
        """Starts the server and waits until it accepts connections."""
        log = self.folder / "server.log"
        with log.open("ab") as output:
            self._server = subprocess.Popen(
                [
                    *dying_with_us(),
                    str(self.programs / "postgres"),
                    *("-D", str(self.folder / "data")),
                    *("-k", str(self.folder)),
                    *("-p", str(self._port)),
                    *("-c", "listen_addresses=127.0.0.1"),
                    *("-c", "max_connections=400"),
                    *("-c", f"fsync={self._flush}"),
                    *("-c", f"full_page_writes={self._flush}"),
                ],
                cwd=self.folder,
                user=self.owner,
                group=self.owner,
                extra_groups=[] if self.owner else None,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C is for the command; we stop it afterwards
            )
        _await_ready(self.programs, self._server, self._port, log)

    def stop(self, *, at_once: bool = False) -> None:
        """Closes all connections and stops the server; with `at_once`, without a clean shutdown."""
        if self._server is not None:
            _stop(self._server, signal.SIGQUIT if at_once else signal.SIGINT)
            self._server = None

    @property
    def has_ended(self) -> bool:
        """Whether it has stopped by itself, as it does without room for its WAL."""
        return self._server is not None and self._server.poll() is not None

    def copy_to(self, folder: Path) -> None:
        """Copies the data of the running server into a new folder, for a replica."""
        copy = (str(self.programs / "pg_basebackup"), f"--pgdata={folder}", f"--dbname={self.dsn}")
        options = ("--write-recovery-conf", "--checkpoint=fast", "--no-sync")
        _run_program([*copy, *options], folder.parent, self.owner)

    def promote(self) -> None:
        """Makes a replica accept writes. Returns when it does."""
        command = [str(self.programs / "pg_ctl"), "promote", f"--pgdata={self.folder / 'data'}"]
        _run_program(command, self.folder, self.owner)


def dying_with_us() -> list[str]:
    """A command prefix that makes Linux interrupt the command if this process is killed.

    For Linux the parent is the thread that starts the command: start it in the main thread.
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "INT"] if setpriv else []


def _await_ready(programs: Path, server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    probe = [str(programs / "pg_isready"), "--quiet", "--host=127.0.0.1", f"--port={port}"]
    deadline = time.monotonic() + _START_SECONDS
    while subprocess.run(probe).returncode != 0:
        if server.poll() is not None or time.monotonic() > deadline:
            raise PostgresUnavailable(f"PostgreSQL did not start:\n{log.read_text()}")
        time.sleep(0.05)


def _stop(server: subprocess.Popen[bytes], how: signal.Signals) -> None:
    server.send_signal(how)  # SIGINT is 'fast': sessions are closed, not waited for
    try:
        server.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.send_signal(signal.SIGQUIT)  # 'immediate'; SIGKILL would leave its children
        server.wait()


def _run(command: Sequence[str], dsn: str) -> int:
    """Runs the command and returns the exit code that a shell would report."""
    with subprocess.Popen(command, env={**os.environ, VARIABLE: dsn}) as child:
        while True:
            try:
                code = child.wait()
            except KeyboardInterrupt:
                continue  # the terminal sent it to the command too, which ends in its own way
            except SystemExit:
                child.terminate()
                raise
            return code if code >= 0 else 128 - code


def _terminated(signum: int, frame: object) -> NoReturn:
    raise SystemExit(128 + signum)


def main(arguments: Sequence[str]) -> int:
    """Runs the command after `--` with a server, and returns its exit code."""
    volatile = arguments[:1] == ["--volatile"]
    rest = arguments[1:] if volatile else arguments
    command = list(rest[1:] if rest[:1] == ["--"] else rest)
    if not command:
        print(
            "usage: python -m tools.postgres [--volatile] -- COMMAND [ARGUMENT…]", file=sys.stderr
        )
        return 2
    if not shutil.which(command[0]):
        print(f"no such command: {command[0]}", file=sys.stderr)
        return 127
    signal.signal(signal.SIGTERM, _terminated)  # so that the clean-up runs
    try:
        with dsn_or_throwaway(volatile=volatile) as dsn:
            return _run(command, dsn)
    except PostgresUnavailable as problem:
        print(problem, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
