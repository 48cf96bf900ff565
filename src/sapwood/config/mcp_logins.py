"""Logins to MCP servers: their OAuth tokens, in a file that only its owner can read.

The file is beside that of the API keys. Only the connection to the server gets the tokens. They are
never logged and never stored with a conversation.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.config.config_file import ConfigError, config_file
from sapwood.config.editor import write_config_file
from sapwood.private_files import locked, reserved_space

_EARLY_SECONDS = 15.0
"""Seconds before the end of a token at which it is renewed."""
_LOCK_SECONDS = 15.0
MAX_TOKEN = 16_384
"""Characters of a token that is stored. Most servers refuse longer headers."""
_MAX_LOGIN_BYTES = 3 * MAX_TOKEN


class McpLogin(Struct, frozen=True, omit_defaults=True):
    """A login to the server at `url`. Without an access token it has ended.

    The access token is for addresses below `resource`, the refresh token for `token_endpoint` of
    the authorization server `issuer`. `expires` is 0 if that is not known.
    """

    url: str
    resource: str
    issuer: str
    token_endpoint: str
    client_id: str
    access_token: str
    client_secret: str = ""
    client_auth: str = ""
    refresh_token: str = ""
    expires: float = 0

    def is_due(self, now: float) -> bool:
        """Whether the access token has to be renewed before it is used."""
        return bool(self.refresh_token and self.expires and now > self.expires - _EARLY_SECONDS)

    def ended(self) -> "McpLogin":
        """What is kept of a login that the server no longer accepts: no token."""
        return McpLogin(
            self.url, self.resource, self.issuer, self.token_endpoint, self.client_id, ""
        )


class McpLogins:
    """The logins in the file. Other processes may change it at any time."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file or mcp_logins_file()

    def find(self, server: str, url: str) -> McpLogin | None:
        """The login to a server, if it was made for this address. Raises `ConfigError`."""
        login = self._read().get(server)
        return login if login is not None and login.url == url else None

    def update(
        self, server: str, change: Callable[[McpLogin | None], McpLogin | None]
    ) -> McpLogin | None:
        """Puts what `change` returns in place of a login; None removes it.

        No other process reads the login to change it meanwhile, so `change` must not wait.
        Nothing changes if it raises. Raises `ConfigError`.
        """
        try:
            with locked(self.file, _LOCK_SECONDS):
                return self._changed(server, change)
        except OSError as error:
            raise self._cannot_be_changed(error) from error

    @contextmanager
    def renewing(self, server: str) -> Generator[None]:
        """Keeps others from renewing a login in the block. They can still replace or delete it.

        Raises `ConfigError` if another process takes too long.
        """
        name = hashlib.sha256(server.encode()).hexdigest()[:16]
        with ExitStack() as held:
            try:
                lock = locked(self.file.with_name(f"mcp-login-{name}"), _LOCK_SECONDS)
                held.enter_context(lock)
            except OSError as error:
                raise self._cannot_be_changed(error) from error
            yield

    @contextmanager
    def room(self) -> Generator[None]:
        """Makes sure in the block that a login can be stored after it. Raises `ConfigError`."""
        folder = os.path.dirname(os.path.realpath(self.file))
        with ExitStack() as held:
            try:
                size = self.file.stat().st_size + _MAX_LOGIN_BYTES
                held.enter_context(reserved_space(folder, size))
            except OSError as error:
                raise self._cannot_be_changed(error) from error
            yield

    def _cannot_be_changed(self, error: OSError) -> ConfigError:
        return ConfigError(f"{self.file} cannot be changed: {error.strerror}.")

    def _changed(
        self, server: str, change: Callable[[McpLogin | None], McpLogin | None]
    ) -> McpLogin | None:
        logins = self._read()
        before = logins.pop(server, None)
        after = change(before)
        if after is not None:
            logins[server] = after
        if after != before:
            text = msgspec.json.encode(logins, order="sorted").decode()
            write_config_file(self.file, text, mode=0o600)
        return after

    def version(self) -> tuple[int, int, int]:
        """What differs after every change of the file."""
        try:
            about = self.file.stat()
        except OSError:
            return (0, 0, 0)
        return (about.st_ino, about.st_mtime_ns, about.st_size)

    def _read(self) -> dict[str, McpLogin]:
        try:
            mode, content = self.file.stat().st_mode, self.file.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"{self.file} cannot be read: {error.strerror}.") from error
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigError(
                f"Other users can read {self.file}. To fix that, type: chmod 600 {self.file}"
            )
        try:
            return msgspec.json.decode(content, type=dict[str, McpLogin])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            # The parser's message could quote a token.
            raise ConfigError(
                f"{self.file} is damaged. Delete it, then log in again: sapwood mcp list"
            ) from None


def mcp_logins_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file of the logins, beside the configuration file."""
    return config_file(environ).with_name("mcp-logins.json")
