"""How a scripted model behaves apart from its script."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from sapwood.testing.scripted.script.summary import SUMMARY

__all__ = ["Options"]


class Options(Struct, frozen=True, kw_only=True):
    """Settings of a server. The defaults are those of a friendly provider."""

    port: int = 0
    """Which port to listen on; 0 takes a free one."""
    key: str | None = None
    """The only key that is accepted; `None` accepts any."""
    models: tuple[str, ...] | None = None
    """The only models that exist; `None` means any."""
    context_limit: int | Mapping[str, int] | None = None
    """Input tokens above which a request is too long, for all models or by name."""
    validate: bool = True
    """Whether requests that break a rule are refused."""
    allow: Mapping[str, tuple[str, ...]] = {}
    """Further top-level fields to let pass, by wire format."""
    piece: int = 16
    """Characters in a piece of a stream."""
    delay: float = 0.0
    """Seconds between the events of a stream."""
    cache_minimum: int = 1024
    """The shortest prefix, in tokens, that is cached."""
    retry_after: float = 1.0
    """Seconds after which a failing provider wants to be asked again."""
    summary: str = SUMMARY
    """What a request for a summary of the conversation is answered with."""
    summary_words: tuple[str, ...] = ()
    """Further words by which such a request is known."""
    log: str | Path | None = None
    """A file to which every request is appended, one JSON object a line."""
    keep: int | None = None
    """How many requests are held in memory; `None` means all."""

    def limit_of(self, model: str) -> int | None:
        """The most input tokens that the model takes."""
        if isinstance(self.context_limit, Mapping):
            return self.context_limit.get(model)
        return self.context_limit
