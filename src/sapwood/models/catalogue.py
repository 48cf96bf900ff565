"""The published list of models that comes with `genai-prices`, loaded when first asked.

Without the extra `models` the list is empty.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo

__all__ = ["find", "names"]


@lru_cache(maxsize=256)
def find(catalogue: str, model: str) -> "ModelInfo | None":
    """What is known of a model in a provider's catalogue."""
    snapshot = _snapshot()
    if snapshot is None or not catalogue:
        return None
    with suppress(LookupError):
        return snapshot.find_provider_model(model, None, catalogue, None)[1]
    return None


def names(catalogue: str) -> Iterator[str]:
    """The models in a provider's catalogue, without those that it serves for others."""
    snapshot = _snapshot()
    for provider in snapshot.providers if snapshot else ():
        if provider.id == catalogue:
            strangers = "claude" if catalogue == "google" else "\0"
            yield from (each.id for each in provider.models if not each.id.startswith(strangers))


def _snapshot() -> "DataSnapshot | None":
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    return get_snapshot()
