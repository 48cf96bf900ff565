"""The tokens of `sapwood serve`: made once, shown once, stored as hashes in a private file.

The bearer token of `sapwood mcp --http`: given by the user, or made once and stored privately.

Every user of the machine can connect to a port on 127.0.0.1. The token makes sure that only those
are served who may read the user's files.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import CoroutineType
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

import msgspec
from msgspec import Struct, structs

from sapwood.config.folders import data_folder
from sapwood.core.errors import SapwoodError
from sapwood.private_files import locked, replace_file

P = ParamSpec("P")
T = TypeVar("T")

TokenScope = Literal["read", "write", "approve", "admin"]
SCOPES: tuple[TokenScope, ...] = ("read", "write", "approve", "admin")
TokenKind = Literal["token", "session"]
_PREFIX = "sw_"
ISSUED = "oidc-"
"""How the id of a person of an issuer begins."""
MAX_SESSIONS = 20
"""Browsers that one token keeps signed in. The next one signs the oldest out."""


class TokenRecord(Struct, frozen=True, omit_defaults=True):
    """What is stored of a token: never the token itself. `expires` is 0 if it does not expire.

    `kind` is 'session' for the cookie of a browser. The id of a session begins with that of the
    token by which the browser signed in, and the session ends with that token.
    """

    id: str
    hash: str
    name: str
    space: str
    scopes: tuple[TokenScope, ...]
    created: int
    expires: int = 0
    kind: TokenKind = "token"

    def is_valid(self, now: float) -> bool:
        """Whether it has not expired.

        A session of a named token that does not say which token is from an earlier version. Nobody
        can tell whether that token was revoked, so the browser has to sign in again.
        """
        is_unknown = self.kind == "session" and bool(self.name) and not self.parent
        return not is_unknown and (not self.expires or now < self.expires)

    @property
    def parent(self) -> str:
        """The id of the token that a session ends with; empty for a token, and for a session of
        the printed address.
        """
        return self.id.rpartition(".")[0] if self.kind == "session" else ""

    @property
    def stored_parent(self) -> str:
        """The parent, if it is a token that is stored here and not one of an issuer."""
        return "" if self.parent.startswith(ISSUED) else self.parent


class Tokens(Protocol):
    """The tokens that a server knows, wherever they are stored."""

    async def create(
        self,
        name: str,
        space: str,
        scopes: tuple[TokenScope, ...],
        *,
        seconds: int = 0,
        kind: TokenKind = "token",
        parent: str = "",
    ) -> tuple[str, TokenRecord]:
        """Makes a token. Returns it, to be shown once, and what is stored of it.

        A session has the id of its token as `parent`. Of the sessions of one token, the newest are
        kept.
        """
        ...

    async def find(self, value: str) -> TokenRecord | None:
        """The record of a token; None if it is unknown or has expired, or if its token has."""
        ...

    async def records(self) -> tuple[TokenRecord, ...]:
        """All tokens, oldest first."""
        ...

    async def revoke(self, id_or_name: str, space: str | None = None) -> tuple[TokenRecord, ...]:
        """Removes the tokens with this id or name, and their sessions. Returns all of them.

        A name is that of tokens of this space; without one, of any space.
        """
        ...


class TokenStore:
    """The tokens in a file. Other processes may add and remove tokens at any time."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file or token_file()
        self._stamp: tuple[int, int] | None = None
        self._by_hash: dict[str, TokenRecord] = {}

    def create(
        self,
        name: str,
        space: str,
        scopes: tuple[TokenScope, ...],
        *,
        seconds: int = 0,
        kind: TokenKind = "token",
        parent: str = "",
    ) -> tuple[str, TokenRecord]:
        """Makes a token. Returns it, to be shown once, and what is stored of it."""
        value, record = new_token(name, space, scopes, seconds, kind, parent)
        with locked(self.file):
            kept = [each for each in self._read() if each.is_valid(record.created)]
            siblings = [each for each in kept if each.kind == kind and each.parent == parent]
            surplus = siblings[: -MAX_SESSIONS + 1] if kind == "session" else []
            self._write([*(each for each in kept if each not in surplus), record])
        return value, record

    def find(self, value: str) -> TokenRecord | None:
        """The record of a token; None if it is unknown or has expired."""
        self._load()
        digest = token_hash(value)
        record = self._by_hash.get(digest)
        if record is None or not hmac.compare_digest(record.hash, digest):
            return None
        if record.stored_parent and record.stored_parent not in self._valid_ids():
            return None
        return record if record.is_valid(time.time()) else None

    def _valid_ids(self) -> set[str]:
        now = time.time()
        return {each.id for each in self._by_hash.values() if each.is_valid(now)}

    def records(self) -> tuple[TokenRecord, ...]:
        return tuple(self._read())

    def revoke(self, id_or_name: str, space: str | None = None) -> tuple[TokenRecord, ...]:
        """Removes the tokens with this id, or with this name in a space. Returns them."""
        with locked(self.file):
            records = self._read()
            ids = {
                each.id
                for each in records
                if id_or_name == each.id
                or (id_or_name == each.name and space in (None, each.space))
            }
            gone = [each for each in records if each.id in ids or each.parent in ids]
            if gone:
                self._write([each for each in records if each not in gone])
        return tuple(gone)

    def _load(self) -> None:
        try:
            found = self.file.stat()
        except FileNotFoundError:
            self._by_hash, self._stamp = {}, None
            return
        stamp = (found.st_mtime_ns, found.st_ino)
        if stamp != self._stamp:
            self._by_hash = {each.hash: each for each in self._read()}
            self._stamp = stamp

    def _read(self) -> list[TokenRecord]:
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=list[TokenRecord])
        except FileNotFoundError:
            return []
        except msgspec.MsgspecError as error:
            raise SapwoodError(
                f"The tokens in {self.file} cannot be read: {error}. Delete the file, then create "
                "new tokens."
            ) from error

    def _write(self, records: list[TokenRecord]) -> None:
        replace_file(self.file, msgspec.json.encode([structs.asdict(each) for each in records]))


def _awaited(
    method: Callable[Concatenate[TokenStore, P], T],
) -> "Callable[Concatenate[FileTokens, P], CoroutineType[Any, Any, T]]":
    """Returns a method that does this with the file."""

    @wraps(method)
    async def run(self: "FileTokens", *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self.store, *args, **kwargs)

    return run


class FileTokens:
    """The tokens in a file, as a server asks for them."""

    def __init__(self, store: TokenStore | None = None) -> None:
        self.store = store or TokenStore()

    create = _awaited(TokenStore.create)
    find = _awaited(TokenStore.find)
    records = _awaited(TokenStore.records)
    revoke = _awaited(TokenStore.revoke)


def new_token(
    name: str,
    space: str,
    scopes: tuple[TokenScope, ...],
    seconds: int,
    kind: TokenKind,
    parent: str = "",
) -> tuple[str, TokenRecord]:
    """A token that does not exist yet, and what is to be stored of it."""
    value = _PREFIX + secrets.token_urlsafe(32)
    now = int(time.time())
    expires = now + seconds if seconds else 0
    number = secrets.token_hex(4)
    identity = f"{parent}.{number}" if parent else number
    record = TokenRecord(identity, token_hash(value), name, space, scopes, now, expires, kind)
    return value, record


def token_file() -> Path:
    """The file of the tokens."""
    return data_folder() / "server-tokens.json"


def token_hash(value: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


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
