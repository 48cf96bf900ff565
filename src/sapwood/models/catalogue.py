"""The catalogue of models: names, context windows and prices, from the file beside this one.

`just prices` writes the file from the published list of `genai-prices`, which is not imported here.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

_FILE = Path(__file__).with_name("catalogue.json")

Rates = list[tuple[int, Decimal]]
"""Dollars per million tokens, from this many tokens of input on. A rate is that of all tokens."""


class Prices(Struct, frozen=True, omit_defaults=True):
    """The prices of a model from a day on. Tokens without a rate have that of input."""

    input: Rates = []
    output: Rates = []
    cache_read: Rates = []
    cache_write: Rates = []
    since: date | None = None


class CatalogueModel(Struct, frozen=True, omit_defaults=True):
    """A model. `names` are tests of which one must pass; a test is a list of conditions.

    A condition starts with its kind: `=` is, `^` begins with, `$` ends with, `~` contains, `/`
    matches the regular expression.
    """

    id: str
    names: list[list[str]]
    window: int | None = None
    prices: list[Prices] = []

    def has_name(self, name: str) -> bool:
        """Whether a name, in lower case, is one of this model."""
        return any(all(_holds(each, name) for each in test) for test in self.names)

    def prices_on(self, day: date) -> Prices:
        """The prices on a day. The last that have begun count."""
        begun = [each for each in self.prices if each.since is None or each.since <= day]
        return [*self.prices[:1], *begun][-1] if self.prices else Prices()


class Catalogue(Struct, frozen=True):
    """The models of each provider. `source` is the list that they come from."""

    source: str
    providers: Mapping[str, list[CatalogueModel]]


def _holds(condition: str, name: str) -> bool:
    kind, text = condition[0], condition[1:]
    match kind:
        case "=":
            return name == text
        case "^":
            return name.startswith(text)
        case "$":
            return name.endswith(text)
        case "~":
            return text in name
        case _:
            return re.search(text, name) is not None


@cache
def read_catalogue() -> Catalogue:
    """The catalogue, read once per process."""
    return msgspec.json.decode(_FILE.read_bytes(), type=Catalogue)


@lru_cache(maxsize=256)
def find_model(provider: str, model: str) -> CatalogueModel | None:
    """The entry of a model in a provider's catalogue, or None."""
    name = model.lower()
    models = read_catalogue().providers.get(provider, [])
    return next((each for each in models if each.has_name(name)), None)


def model_names(provider: str) -> Iterator[str]:
    """The models in a provider's catalogue."""
    return (each.id for each in read_catalogue().providers.get(provider, []))
