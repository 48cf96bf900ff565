"""Dumps a database of PostgreSQL with the server's own program, `pg_dump`."""

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sapwood.config.database_address import split_pooler
from sapwood.core.log_values import LogError
from sapwood.private_files import new_file

_DEBIAN = Path("/usr/lib/postgresql")


def back_up(address: str, target: Path) -> int:
    """Dumps the log into a new file in the custom format of `pg_dump`. Returns its size in bytes.

    The dump is one transaction: writers go on, and the dump has none of their later commits. Tables
    of the engine are not in it. Raises `LogError` if the name is taken or the program fails.
    """
    if target.exists():
        raise LogError(f"'{target}' already exists. Nothing was written. Choose another name.")
    place, password = _without_password(split_pooler(address).sessions)
    program = _program()
    try:
        with new_file(target) as part:
            ran = subprocess.run(
                [program, "--format=custom", "--schema=sapwood", f"--file={part}", place],
                check=False,
                capture_output=True,
                text=True,
                errors="replace",
                env={**os.environ, **({"PGPASSWORD": password} if password else {})},
            )
            if ran.returncode:
                raise LogError(f"pg_dump failed: {ran.stderr.strip()}. Nothing was written.")
    except OSError as error:
        raise LogError(
            f"'{target}' cannot be written: {error.strerror}. Nothing was written."
        ) from error
    return target.stat().st_size


def _program() -> str:
    """The newest `pg_dump`: an older one refuses a newer server."""
    folders = sorted(_DEBIAN.glob("*/bin"), key=lambda folder: float(folder.parent.name))
    path = os.pathsep.join([*map(str, reversed(folders)), os.environ.get("PATH", os.defpath)])
    found = shutil.which("pg_dump", path=path)
    if found is None:
        raise LogError(
            "The program pg_dump is not installed. Nothing was written. "
            "On Debian, type: apt-get install postgresql-client"
        )
    return found


def _without_password(address: str) -> tuple[str, str]:
    """The address without its password, which other users could see in a list of processes.

    >>> _without_password("postgresql://ada:a%2Fb@db.example:5433/team?sslmode=require")
    ('postgresql://ada@db.example:5433/team?sslmode=require', 'a/b')
    """
    parts = urlsplit(address)
    login, at, host = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    return parts._replace(netloc=f"{user}{at}{host}").geturl(), unquote(password)
