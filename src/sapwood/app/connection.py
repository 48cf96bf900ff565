"""A space of a database, ready for commands: log, dispatcher and counters wired together."""

from collections.abc import Iterable
from pathlib import Path

from sapwood.app.opening import open_log
from sapwood.app.outages import Outages
from sapwood.core.counting import Counter
from sapwood.core.errors import LogError
from sapwood.core.ids import Space, can_be_stored
from sapwood.runtime.dispatch import Dispatcher
from sapwood.runtime.log import Log

__all__ = ["Connection", "connect"]

_SHORTEST_SECRET = 8
"""Characters; no text that is shorter holds a secret that the masker knows."""


class Connection:
    """What every face holds on to. Only the owner of a log closes it.

    `address` is where the log is kept, if it was opened here. `secrets` are values that are masked
    wherever they stand, beside everything that looks like a secret.
    """

    def __init__(
        self,
        log: Log,
        space: Space,
        *,
        owner: bool = True,
        outages: Outages | None = None,
        address: str = "",
        secrets: Iterable[str] = (),
    ) -> None:
        self.log = log
        self.space = space
        self.outages = outages
        self.address = address
        self._owner = owner
        self._secrets = tuple(secrets)
        self.dispatcher = Dispatcher(log, space, self.counter_for, mask=self.masked)
        self._counters: dict[str, Counter] = {}

    def counter_for(self, model: str) -> Counter:
        """The best counter there is for a model."""
        counter = self._counters.get(model)
        if counter is None:
            from sapwood.tokens import RememberingCounter, counter_for

            counter = self._counters[model] = RememberingCounter(counter_for(model))
        return counter

    def masked(self, text: str) -> str:
        """The text without the secrets in it."""
        if len(text) < _SHORTEST_SECRET:
            return text
        from sapwood.core.secrets import mask_secrets

        return mask_secrets(text, self._secrets)

    def know_secrets(self, values: Iterable[str]) -> None:
        """Masks these values too from now on."""
        self._secrets = tuple(dict.fromkeys((*self._secrets, *values)))

    def beside(self, space: str) -> "Connection":
        """Another space, over the same log."""
        return Connection(
            self.log,
            _space(space),
            owner=False,
            outages=self.outages,
            address=self.address,
            secrets=self._secrets,
        )

    async def close(self) -> None:
        """Finishes what is under way and lets go of the database."""
        await self.dispatcher.close()
        if self._owner:
            await self.log.close()
            if self.outages:
                self.outages.close()


async def connect(
    address: str | Path | Log,
    space: str = "local",
    *,
    patience: float = 30.0,
    opening: float | None = None,
    secrets: Iterable[str] | None = None,
) -> Connection:
    """Opens a database, unless it is given as a log that is open, and one space of it.

    `patience` is how many seconds to wait for a server that is away, `opening` how many at first.
    `secrets` are values to mask wherever they stand; by default the configured API keys.
    """
    named = _space(space)
    known = _configured_keys() if secrets is None else tuple(secrets)
    if isinstance(address, str | Path):
        outages = Outages()
        log = await open_log(address, patience=patience, opening=opening, tell=outages.hear)
        return Connection(log, named, outages=outages, address=str(address), secrets=known)
    return Connection(address, named, owner=False, secrets=known)


def _configured_keys() -> tuple[str, ...]:
    """The API keys of the user. A file of keys that cannot be read is the concern of others."""
    from sapwood.app.config import ConfigError
    from sapwood.app.keys import load_keys

    try:
        return tuple(load_keys().values())
    except ConfigError:
        return ()


def _space(name: str) -> Space:
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] # from outside
        raise LogError(f"The name of a space must be text, not {type(name).__name__}.")
    plain = str.__str__(name)
    if not can_be_stored(plain):
        raise LogError(f"{plain!a} cannot be a space. Nothing was opened. Choose another name.")
    return Space(plain)
