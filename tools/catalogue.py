"""Writes the catalogue of models from the published list of `genai-prices`: `just prices`.

The list has far more than Sapwood uses, and its package takes long to import.
"""

import sys
from collections.abc import Iterator
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
from genai_prices import types
from genai_prices.data_snapshot import get_snapshot

from sapwood.config.providers import PROVIDERS
from sapwood.models.catalogue import CatalogueModel, Prices, Rates

FILE = Path(__file__).parent.parent / "src/sapwood/models/catalogue.json"
_FOREIGN = {"google": "claude"}
"""Models of other makers that a provider also serves, but not in its own wire format."""


def catalogue() -> bytes:
    """The file: one line per model, so that a change of a price is a change of a line."""
    wanted = dict.fromkeys(each.catalogue for each in PROVIDERS.values() if each.catalogue)
    lists = {each.id: each.models for each in get_snapshot().providers}
    blocks = [f'"{name}":[\n' + ",\n".join(_lines(name, lists[name])) + "\n]" for name in wanted]
    source = f"genai-prices {version('genai-prices')}"
    text = f'{{"source":"{source}","providers":{{\n' + ",\n".join(blocks) + "\n}}\n"
    return text.encode()


def _lines(provider: str, models: list[types.ModelInfo]) -> Iterator[str]:
    for model in models:
        if not model.id.startswith(_FOREIGN.get(provider, "\0")):
            yield msgspec.json.encode(_model(model)).decode()


def _model(model: types.ModelInfo) -> CatalogueModel:
    window = model.context_window
    return CatalogueModel(model.id, _tests(model.match), window, list(_all_prices(model)))


def _tests(clause: Any) -> list[list[str]]:
    """A clause as alternatives, each of which is a list of conditions."""
    match clause:
        case types.ClauseOr():
            return [test for each in clause.or_ for test in _tests(each)]
        case types.ClauseAnd():
            tests = product(*(_tests(each) for each in clause.and_))
            return [[condition for each in test for condition in each] for test in tests]
        case types.ClauseEquals():
            return [["=" + clause.equals.lower()]]
        case types.ClauseStartsWith():
            return [["^" + clause.starts_with.lower()]]
        case types.ClauseEndsWith():
            return [["$" + clause.ends_with.lower()]]
        case types.ClauseContains():
            return [["~" + clause.contains.lower()]]
        case types.ClauseRegex():
            return [["/" + clause.regex]]
        case _:
            raise TypeError(f"unknown clause: {clause}")


def _all_prices(model: types.ModelInfo) -> Iterator[Prices]:
    if isinstance(model.prices, types.ModelPrice):
        yield _prices(model.prices, None)
        return
    for each in model.prices:
        match each.constraint:
            case None:
                yield _prices(each.prices, None)
            case types.StartDateConstraint():
                yield _prices(each.prices, each.constraint.start_date)
            case other:
                raise TypeError(f"{model.id}: unknown condition of a price: {other}")


def _prices(prices: types.ModelPrice, since: Any) -> Prices:
    def rates(name: str) -> Rates:
        price = getattr(prices, name, None)
        if price is None:
            return []
        if isinstance(price, types.TieredPrices):
            return [(0, price.base), *((tier.start, tier.price) for tier in price.tiers)]
        return [(0, price)]

    return Prices(
        rates("input_mtok"),
        rates("output_mtok"),
        rates("cache_read_mtok"),
        rates("cache_write_mtok"),
        since,
    )


def main() -> int:
    """Writes the file and prints what it holds."""
    FILE.write_bytes(catalogue())
    print(f"{FILE.name}: {len(FILE.read_bytes()):,} bytes, from genai-prices")
    return 0


if __name__ == "__main__":
    sys.exit(main())
