"""What servers share: tokens and counts, in the database on PostgreSQL, else on this machine."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable

from sapwood.config.config_file import Config
from sapwood.config.server_tokens import FileTokens, Tokens
from sapwood.store.stores import StoreOptions, store_of
from sapwood.turns.log import Log


class SharedCounts(Protocol):
    """Where all servers count requests together, in seconds of each key's rate."""

    async def count(self, used: Mapping[str, float]) -> dict[str, float]:
        """Adds what this server let pass; returns by how much each key is ahead now."""
        ...

    async def forget(self) -> None:
        """Removes what is not needed any more."""
        ...


@runtime_checkable
class ServerTables(Protocol):
    """A log whose database has tables for servers."""

    @property
    def tokens(self) -> Tokens:
        """The tokens that every server of the database knows."""
        ...

    @property
    def limits(self) -> SharedCounts:
        """The requests that all servers count together."""
        ...


def tokens_of(log: Log) -> Tokens:
    """The tokens for servers of this log."""
    return log.tokens if isinstance(log, ServerTables) else FileTokens()


def counts_of(log: Log) -> SharedCounts | None:
    """Where servers of this log count together; None if each counts alone."""
    return log.limits if isinstance(log, ServerTables) else None


@asynccontextmanager
async def stored_tokens(config: Config) -> AsyncGenerator[Tokens]:
    """The tokens for servers of the configured database. Raises `LogError`."""
    if not store_of(config.address).on_server:
        yield FileTokens()
        return
    log = await store_of(config.address).open(config.address, StoreOptions(patience=5.0))
    try:
        yield tokens_of(log)
    finally:
        await log.close()
