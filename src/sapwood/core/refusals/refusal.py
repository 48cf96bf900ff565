"""The base class of refusals, and the phrases that several of them use."""

from string import Formatter
from typing import Any, ClassVar

from msgspec import Struct, structs

_SHOWN = 60


class _Sentences(Formatter):
    """Formats `{name}`, and `{name!q}` as `quoted` does."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return quoted(value) if conversion == "q" else value


_sentences = _Sentences()


class Refusal(Struct, frozen=True):
    """Why a command changed nothing. Subclasses add the fields of the reason.

    `says` is the sentence, with the names of fields in braces; `{name!q}` is typed by a person and
    comes in quotation marks. A subclass whose sentence is not always the same overrides `sentence`.
    `again` is what a person types to do it nevertheless; a screen has it ready. Often there is
    nothing.
    """

    says: ClassVar[str]
    again: ClassVar[str] = ""

    @property
    def sentence(self) -> str:
        """What happened and what to do instead, for the user."""
        return _sentences.vformat(self.says, (), structs.asdict(self))

    @property
    def for_model(self) -> str:
        """The same for a model, without commands that a model cannot use."""
        return self.sentence


def nearest(word: str, names: tuple[str, ...] | list[str], cutoff: float = 0.5) -> tuple[str, ...]:
    """Up to three names that resemble `word`, best first; `cutoff` is from 0 to 1 (equal)."""
    by_fold = {name.casefold(): name for name in reversed(names)}
    from difflib import get_close_matches

    found = get_close_matches(word.casefold(), list(by_fold), n=3, cutoff=cutoff)
    return tuple(by_fold[name] for name in found)


def did_you_mean(names: tuple[str, ...], prefix: str = "") -> str:
    """The question that offers similar names; empty if there are none."""
    if not names:
        return ""
    return f" Did you mean {' or '.join(prefix + name for name in names)}?"


def cut(word: str) -> str:
    """The typed word, shortened if it is long."""
    return word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"


def quoted(word: str) -> str:
    """The typed word in quotation marks, shortened if it is long."""
    return f"'{cut(word)}'"
