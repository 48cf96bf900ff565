"""What every refusal is, and the words that several of them share."""

from msgspec import Struct

__all__ = ["Refusal", "cut", "did_you_mean", "nearest", "quoted"]

_SHOWN = 60


class Refusal(Struct, frozen=True):
    """A reason, which `sentence` tells together with what to do instead."""

    @property
    def sentence(self) -> str:
        """What a person reads."""
        raise NotImplementedError


def nearest(word: str, names: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Up to three names that somebody who typed `word` may have meant, best first."""
    by_fold = {name.casefold(): name for name in reversed(names)}
    from difflib import get_close_matches

    found = get_close_matches(word.casefold(), list(by_fold), n=3, cutoff=0.5)
    return tuple(by_fold[name] for name in found)


def did_you_mean(names: tuple[str, ...], prefix: str = "") -> str:
    """The question that offers names, if there are any."""
    if not names:
        return ""
    return f" Did you mean {' or '.join(prefix + name for name in names)}?"


def cut(word: str) -> str:
    """What was typed, unless somebody pasted a page."""
    return word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"


def quoted(word: str) -> str:
    """The same between quotation marks."""
    return f"'{cut(word)}'"
