"""Refusals of values: settings, a model with a small window, texts that are empty or too long."""

from sapwood.core.refusals.refusal import Refusal
from sapwood.core.token_count import Count, show


class BadSetting(Refusal, frozen=True):
    """A setting cannot have this value."""

    name: str
    rule: str

    @property
    def sentence(self) -> str:
        return f"Setting '{self.name}' must be {self.rule}. Nothing was changed."


class BadValue(Refusal, frozen=True):
    """A value has a type or a size that cannot be stored.

    >>> BadValue("parts[0].text", "text", "list").sentence
    "'parts[0].text' must be text, but a list was given. Nothing was changed."
    """

    place: str
    rule: str
    given: str

    @property
    def sentence(self) -> str:
        what = f"'{self.place}'" if self.place else "The value"
        return f"{what} must be {self.rule}, but a {self.given} was given. Nothing was changed."


class ModelTooSmall(Refusal, frozen=True):
    """The context is larger than the model's window.

    `blocks` are its parts with their sizes. `keeps` is how many of the last turns would fit beside
    system prompt, tools and pins; None if these alone do not fit.
    """

    model: str
    window: int
    blocks: tuple[tuple[str, Count], ...]
    keeps: int | None = 0

    @property
    def sentence(self) -> str:
        total = show(sum((size for _, size in self.blocks), Count(0, exact=True)))
        parts = ", ".join(f"{name} {show(size)}" for name, size in self.blocks if size.tokens)
        return (
            f"There are {total} tokens in view ({parts}), but {self.model} can take only "
            f"{show(Count(self.window, exact=True))}, including its answer. Nothing was changed. "
            f"{self._remedy}"
        )

    @property
    def _remedy(self) -> str:
        """What to type, the smallest change first."""
        if self.keeps is None:
            return (
                "The system prompt, tools and pins alone are too large: shorten the prompt with "
                "/system, or remove pins with /unpin."
            )
        fewer = f"/clear {self.keeps} to keep the last {self.keeps} turns"
        kept = fewer if self.keeps else "/clear to start with an empty context"
        return f"Type /compact for a summary, or {kept}; then /model {self.model} again."


class EmptyText(Refusal, frozen=True):
    """A text is blank that must not be."""

    what: str

    @property
    def sentence(self) -> str:
        return f"The {self.what} is empty. Enter some text and try again."


class TooLong(Refusal, frozen=True):
    """A text is longer than allowed."""

    what: str
    limit: int

    @property
    def sentence(self) -> str:
        return (
            f"The {self.what} is longer than {self.limit:,} characters. Shorten it, or put it in a "
            "file and refer to the file."
        )
