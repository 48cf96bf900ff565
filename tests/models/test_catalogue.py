"""The catalogue of models says what the list of genai-prices says."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from sapwood.core.content import Usage
from sapwood.models import price_of
from sapwood.models.catalogue import CatalogueModel, Prices, find_model, read_catalogue

genai_prices = pytest.importorskip("genai_prices", reason="the list of prices is not installed")
catalogue = pytest.importorskip("tools.catalogue", reason="the list of prices is not installed")

USAGES = (
    Usage(1_000, 100),
    Usage(1_000, 100, cache_read=900),
    Usage(1_000, 0, cache_write=900),
    Usage(900_000, 1, cache_read=300_000, cache_write=300_000),
    Usage(1_000, 1, cache_read=900, cache_write=900),
)
MODELS = [
    (provider, model.id)
    for provider, models in read_catalogue().providers.items()
    for model in models
]


def test_the_file_is_the_one_that_the_recipe_writes() -> None:
    assert catalogue.FILE.read_bytes() == catalogue.catalogue(), "type: just prices"


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_a_price_is_that_of_the_list(provider: str, model: str) -> None:
    for usage in USAGES:
        priced = genai_prices.Usage(
            input_tokens=usage.input,
            output_tokens=usage.output,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
        )
        try:
            wanted = genai_prices.calc_price(priced, model, provider_id=provider).total_price
        except (LookupError, ValueError):
            wanted = None
        found = price_of(f"{provider}:{model}", usage)
        assert (found and found.amount) == wanted


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_a_name_leads_to_the_same_model_as_in_the_list(provider: str, model: str) -> None:
    found = find_model(provider, model.upper())
    snapshot = genai_prices.data_snapshot.get_snapshot()
    try:
        listed = snapshot.find_provider_model(model, None, provider, None)[1]
    except LookupError:
        listed = None
    wanted = listed and (listed.id, listed.context_window)
    assert (found and (found.id, found.window)) == wanted


def test_the_last_price_that_has_begun_counts() -> None:
    old, new = (
        Prices(input=[(0, Decimal(2))]),
        Prices(since=datetime(2026, 1, 1, tzinfo=UTC).date()),
    )
    model = CatalogueModel("m", [["=m"]], prices=[old, new])
    assert model.prices_on(datetime(2025, 12, 31, tzinfo=UTC).date()) is old
    assert model.prices_on(datetime(2026, 1, 1, tzinfo=UTC).date()) is new
