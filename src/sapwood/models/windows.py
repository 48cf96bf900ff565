"""What is known of models without asking them: the context window and the price of a call.

For a model that the catalogue does not know the answer is None, never a guess.
"""

from contextlib import suppress
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from sapwood.core.calling import Failure
from sapwood.core.content import Usage
from sapwood.models.catalogue import find
from sapwood.models.names import Route, resolve

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

__all__ = ["Money", "fits", "price_of", "window_of"]

_ROOM_TO_ANSWER = 4_096

# The catalogue has no figure for some members of a family that all take as much.
_GEMINI_WINDOW = 1_048_576
_NOT_FOR_TALKING = ("-tts", "-live", "-image", "embedding")

# The catalogue counts these models' answers in their window; a request never gets that part.
_KEPT_FOR_ANSWERS = 128_000


class Money(Struct, frozen=True):
    """An amount in one currency. Amounts of one currency add up.

    >>> Money(Decimal("0.25")) + Money(Decimal("0.5"))
    Money(amount=Decimal('0.75'), currency='USD')
    """

    amount: Decimal
    currency: str = "USD"

    @property
    def millionths(self) -> int:
        """The amount in millionths, rounded: how usage is recorded."""
        return int((self.amount * 1_000_000).to_integral_value(ROUND_HALF_UP))

    def __add__(self, other: "Money") -> "Money":
        if self.currency != other.currency:
            raise ValueError(f"{self.currency} and {other.currency} do not add up")
        return Money(self.amount + other.amount, self.currency)


def window_of(model: str) -> int | None:
    """How many tokens a request to the model may have, or None where that is unknown.

    >>> window_of("anthropic:claude-sonnet-4-5"), window_of("gpt-5"), window_of("compatible:qwen3")
    (200000, 272000, None)
    """
    route, info = _known(model)
    if route is None or info is None:
        return None
    window = info.context_window
    if window is None:
        return _GEMINI_WINDOW if _is_gemini(info.id) else None
    shares = route.catalogue == "openai" and info.id.startswith(("gpt-5", "gpt-6"))
    return window - _KEPT_FOR_ANSWERS if shares and window > 2 * _KEPT_FOR_ANSWERS else window


def fits(tokens: int, model: str) -> bool:
    """Whether a request of that size leaves the model room to answer; yes where that is unknown.

    >>> fits(190_000, "claude-sonnet-4-5"), fits(199_000, "claude-sonnet-4-5")
    (True, False)
    """
    window = window_of(model)
    return window is None or tokens + _ROOM_TO_ANSWER <= window


def price_of(model: str, usage: Usage) -> Money | None:
    """What a call costs by the provider's list, or None where the price is unknown.

    >>> price_of("claude-sonnet-4-5", Usage(input=1_000, output=100, cache_read=900)).amount
    Decimal('0.00207')
    """
    route, info = _known(model)
    if route is None or info is None:
        return None
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    counted = Counted(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    with suppress(LookupError, ValueError):
        return Money(calc_price(counted, route.model, provider_id=route.catalogue).total_price)
    return None


def _known(model: str) -> "tuple[Route, ModelInfo] | tuple[None, None]":
    try:
        route = resolve(model, {model.partition(":")[0]: "http://"})
    except Failure:
        return None, None
    info = find(route.catalogue, route.model)
    return (route, info) if info else (None, None)


def _is_gemini(name: str) -> bool:
    talks = not any(word in name for word in _NOT_FOR_TALKING)
    return talks and name.startswith(("gemini-2.5-", "gemini-3"))
