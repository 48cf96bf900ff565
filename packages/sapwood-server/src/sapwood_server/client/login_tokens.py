"""The tokens with which this user signs in to servers: of the environment, or kept privately."""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from sapwood.config.folders import config_folder
from sapwood.core.errors import SapwoodError
from sapwood.private_files import locked, replace_file

VARIABLE = "SAPWOOD_TOKEN"


def login_file() -> Path:
    """The file of the kept tokens. Only its owner can read it."""
    return config_folder() / "logins.json"


def server_token(address: str, environ: Mapping[str, str] = os.environ) -> str:
    """The token for a server: of the environment, else the kept one; empty if there is none."""
    return environ.get(VARIABLE, "").strip() or _read().get(_origin(address), "")


def keep_login(address: str, token: str) -> None:
    """Keeps the token for a server."""
    with locked(login_file()):
        _write({**_read(), _origin(address): token})


def forget_login(address: str) -> bool:
    """Removes the token for a server. Returns whether there was one."""
    with locked(login_file()):
        kept = _read()
        if kept.pop(_origin(address), None) is None:
            return False
        _write(kept)
        return True


def _origin(address: str) -> str:
    """The part of an address that names the server.

    >>> _origin("https://Sapwood.example/x")
    'https://sapwood.example'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"


def _read() -> dict[str, str]:
    file = login_file()
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise SapwoodError(
            f"{file} cannot be read: {error}. Sign in again: sapwood login"
        ) from None


def _write(kept: dict[str, str]) -> None:
    replace_file(login_file(), msgspec.json.encode(kept).decode() + "\n")
