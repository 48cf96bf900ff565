"""PgBouncer before a PostgreSQL server, for tests and proofs.

By default it pools transactions, so no connection keeps a session. The program must be version 1.21
or newer, the first that keeps prepared statements. On Debian 13 or Ubuntu 24.04, type:
apt-get install pgbouncer.
"""

import contextlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit

from sapwood.store.postgres.connections import CONNECT_QUERY
from tools.postgres import dying_with_us, free_port, owner_of_servers

_OLDEST = (1, 21)
_START_SECONDS = 30
_FOLDERS = ("/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin")
_CONFIGURATION = """\
[databases]
* = host={host} port={port} {options}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = {mode}
max_prepared_statements = 200
default_pool_size = {size}
max_client_conn = 1000
server_login_retry = 1
logfile = {folder}/log
"""


class PoolerUnavailable(RuntimeError):
    """There is no PgBouncer. The message has the next step."""


@contextlib.contextmanager
def pooler(
    dsn: str, *, size: int = 20, settings: str = CONNECT_QUERY, mode: str = "transaction"
) -> Generator[str]:
    """Starts PgBouncer before a server; yields the address through it, with the direct one.

    It has at most `size` connections to each database, which all have these settings.
    """
    program, owner, place, listen = find_program(), owner_of_servers(), urlsplit(dsn), free_port()
    with tempfile.TemporaryDirectory(prefix="sapwood-pooler-") as name:
        folder = Path(name)
        options = f"connect_query='{settings}'" if settings else ""
        (folder / "users").write_text(f'"{place.username}" ""\n')
        (folder / "ini").write_text(
            _CONFIGURATION.format(
                host=place.hostname,
                port=place.port,
                options=options,
                listen=listen,
                folder=folder,
                size=size,
                mode=mode,
            )
        )
        for path in (folder, *folder.iterdir()):
            if owner:
                shutil.chown(path, owner)
        with subprocess.Popen(
            [*dying_with_us(), program, "--quiet", str(folder / "ini")],
            user=owner,
            group=owner,
            extra_groups=[] if owner else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as server:
            try:
                _await_ready(server, listen, folder / "log")
                query = f"direct={place.hostname}:{place.port}"
                through = f"{place.username}@127.0.0.1:{listen}"
                yield place._replace(netloc=through, query=query).geturl()
            finally:
                server.terminate()


def find_program() -> str:
    """The path of a PgBouncer that keeps prepared statements. Raises `PoolerUnavailable`."""
    found = [path for path in (shutil.which("pgbouncer", path=each) for each in _FOLDERS) if path]
    for path in found:
        text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        version = re.search(r"PgBouncer (\d+)\.(\d+)", text)
        if version and (int(version[1]), int(version[2])) >= _OLDEST:
            return path
    raise PoolerUnavailable(
        "PgBouncer 1.21 or newer is not installed. On Debian 13 or Ubuntu 24.04, type: "
        "apt-get install pgbouncer"
    )


def _await_ready(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if server.poll() is not None or time.monotonic() > deadline:
            raise PoolerUnavailable(f"PgBouncer did not start:\n{log.read_text()}")
        time.sleep(0.02)
