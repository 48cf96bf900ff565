"""Refusals of summaries: key facts are missing, or the summary is too long."""

from sapwood.core.plural import counted
from sapwood.core.refusals.refusal import Refusal

_REMEDY = (
    "Nothing was changed. Type /compact to try again, or /compact --anyway to accept any summary."
)
_NAMED = 5


class SummaryLacking(Refusal, frozen=True):
    """The summary lacks too many key facts, also after the model was asked to add them.

    >>> SummaryLacking(11, 4, ("a.py", "npm test", "retry", "cap")).sentence[:75]
    '11 turns summarised, but none of the key facts are in the summary. Nothing '
    """

    turns: int
    probes: int
    missing: tuple[str, ...]

    @property
    def sentence(self) -> str:
        turns = f"{counted(self.turns, 'turn')} summarised"
        found = self.probes - len(self.missing)
        if found <= 0:
            return f"{turns}, but none of the key facts are in the summary. {_REMEDY}"
        lacking = ", ".join(self.missing[:_NAMED])
        are = "is" if found == 1 else "are"
        return (
            f"{turns}, but only {found} of {self.probes} key facts {are} in the summary. Missing: "
            f"{lacking}. {_REMEDY}"
        )


class SummaryTooLong(Refusal, frozen=True):
    """The summary has more tokens than summaries may have, also after a second try."""

    tokens: int
    cap: int

    @property
    def sentence(self) -> str:
        return (
            f"The summary is {self.tokens:,} tokens long, but the limit is {self.cap:,}. {_REMEDY} "
            "To change the limit, type /config summary_cap."
        )
