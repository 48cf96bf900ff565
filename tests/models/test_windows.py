"""What is known of models without asking them."""

from decimal import Decimal

import pytest

from sapwood.core.content import Usage
from sapwood.models import Money, fits, price_of, window_of


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-4-5", 200_000),
        ("anthropic:claude-sonnet-4-5-20250929", 200_000),
        ("gpt-5", 272_000),
        ("openai-chat:gpt-4o", 128_000),
        ("gemini-2.5-pro", 1_048_576),
        ("compatible:qwen3", None),
        ("den:qwen3", None),
        ("no-such-model", None),
        ("", None),
    ],
)
def test_a_window_is_known_or_it_is_not(model: str, window: int | None) -> None:
    assert window_of(model) == window


def test_a_request_fits_if_there_is_room_to_answer() -> None:
    assert fits(195_000, "claude-sonnet-4-5")
    assert not fits(200_000, "claude-sonnet-4-5")


def test_anything_fits_a_model_whose_window_is_unknown() -> None:
    assert fits(10**9, "compatible:qwen3")


def test_cached_input_is_cheaper_and_written_cache_dearer() -> None:
    def price(**usage: int) -> Decimal:
        money = price_of("claude-sonnet-4-5", Usage(input=1_000_000, **usage))
        assert money is not None
        assert money.currency == "USD"
        return money.amount

    assert price(cache_read=900_000) < price() < price(cache_write=900_000)


def test_the_price_of_an_unknown_model_is_unknown() -> None:
    assert price_of("compatible:qwen3", Usage(input=1)) is None


def test_money_is_recorded_in_millionths() -> None:
    assert Money(Decimal("0.0000015")).millionths == 2


def test_currencies_do_not_mix() -> None:
    with pytest.raises(ValueError, match="USD and EUR do not add up"):
        _ = Money(Decimal(1)) + Money(Decimal(1), "EUR")
