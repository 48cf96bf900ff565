"""The newest model call of an agent: what the next call needs to know about it."""

from typing import Literal

from msgspec import Struct, structs

Lifetime = Literal["5m", "1h"]
"""How long a provider keeps the beginning of a request in its cache, where there is a choice."""

PAUSES_KEPT = 16
"""How many pauses between turns are remembered."""

_SHORT, _LONG = 300, 3_600

# Prices of Anthropic in units of plain input: a read costs 0.10, a write 1.25, a write that is kept
# for an hour 2.00. A turn adds about a twentieth of what is cached.
_SAVED = 1.25 - 0.10
_DEARER = 2.00 - 1.25
_GROWTH = 0.05


class LastCall(Struct, frozen=True, omit_defaults=True):
    """A model call: the version and the moment of its event, and the version of the call before.

    `response` is the provider's id of the newest reply. `dropped` is how many thoughts the provider
    last said to have left out. `pauses` are the seconds between the last call of a turn and the
    first of the next, the newest last.
    """

    version: int = 0
    at: int = 0
    before: int = 0
    response: str = ""
    dropped: int = 0
    pauses: tuple[int, ...] = ()

    def followed(self, version: int, at: int, turn: int) -> "LastCall":
        """The next call, in the turn that starts at version `turn`."""
        pauses = self.pauses
        if self.version and turn > self.version:
            pauses = (*pauses, max(0, (at - self.at) // 1_000_000))[-PAUSES_KEPT:]
        return structs.replace(self, version=version, at=at, before=self.version, pauses=pauses)

    @property
    def lifetime(self) -> Lifetime:
        """The lifetime of the cache that costs less if the next pauses are like the last ones.

        An hour pays for pauses of 5 to 60 minutes, which otherwise cost a write of everything. It
        costs more for what each turn adds, and for all of it after a longer pause.

        >>> LastCall(pauses=(40, 700, 60)).lifetime, LastCall(pauses=(40, 9_000, 60)).lifetime
        ('1h', '5m')
        """
        between = sum(_SHORT < pause <= _LONG for pause in self.pauses)
        longer = sum(pause > _LONG for pause in self.pauses)
        dearer = _DEARER * (longer + _GROWTH * len(self.pauses))
        return "1h" if between * _SAVED > dearer else "5m"
