"""The bearer token of `sapwood mcp --http`: given by the user, or made once and stored privately.

Every user of the machine can connect to a port on 127.0.0.1. The token makes sure that only those
are served who may read the user's files.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from sapwood.config.folders import data_folder
from sapwood.core.errors import SapwoodError
from sapwood.private_files import replace_file

VARIABLE = "SAPWOOD_MCP_TOKEN"
_OTHERS = 0o077
"""The rights of everybody but the owner."""


class BearerToken(Struct, frozen=True):
    """A token, and the file that holds it; no file if it came from the environment."""

    value: str
    file: Path | None = None


def find_token(environ: Mapping[str, str], file: str = "") -> BearerToken:
    """The token in `file`, else that of the environment, else the stored one, made if missing.

    Raises `SapwoodError` if the file is empty, cannot be read, or can be read by others.
    """
    if file:
        named = Path(file).expanduser()
        return BearerToken(_read(named), named)
    if given := environ.get(VARIABLE, "").strip():
        return BearerToken(given)
    stored = stored_token_file()
    if not stored.exists() or stored.stat().st_mode & _OTHERS or not stored.read_text().strip():
        stored.unlink(missing_ok=True)  # a file that others could read would keep its rights
        replace_file(stored, secrets.token_urlsafe(32) + "\n")
    return BearerToken(_read(stored), stored)


def stored_token_file() -> Path:
    """The file of the token that Sapwood made."""
    return data_folder() / "mcp-token"


def _read(file: Path) -> str:
    try:
        if file.stat().st_mode & _OTHERS:
            raise SapwoodError(
                f"Other users can read the token in {file}. Type: chmod 600 {file}, "
                "then replace the token."
            )
        token = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SapwoodError(f"The token in {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SapwoodError(f"The token in {file} is not valid UTF-8 text.") from error
    if not token:
        raise SapwoodError(f"{file} is empty. Write a token into it, or leave out --token-file.")
    return token
