"""A summary that a model wrote: what it lacks, what the model must do better, and its list."""

from msgspec import Struct

from sapwood.analysis.probes import SummaryCheck
from sapwood.core.events import JudgedSentence
from sapwood.core.refusals import Refusal, SummaryLacking, SummaryTooLong
from sapwood.core.settings import Settings

_REPAIR = "Your summary lacks the following, which mattered. Write it again, with them: {missing}."
_SHORTEN = "Your summary is too long. Write it again, in at most {words:,} words."


class Draft(Struct, frozen=True):
    """A summary, what it lacks, and its size in tokens. `settings` are those of the agent.

    `drafted` is the number of decisions and questions that rules found, `sentences` what the model
    said of them; None if it gave no list that could be read. `signer` is the provider that wrote
    and signed the summary itself.
    """

    text: str
    checked: SummaryCheck
    tokens: int
    settings: Settings
    drafted: int = 0
    sentences: tuple[JudgedSentence, ...] | None = None
    signer: str = ""
    signature: str = ""

    @property
    def list_note(self) -> str:
        """Who made the list of decisions and questions; empty if there is none."""
        if not self.drafted:
            return ""
        if self.sentences is None:
            return (
                " Decisions and questions are listed as rules found them: the model gave no list "
                "that could be read."
            )
        return " The model corrected the list of decisions and questions."

    @property
    def lacks(self) -> bool:
        return self.checked.score < self.settings.summary_score

    @property
    def is_too_long(self) -> bool:
        return 0 < self.settings.summary_cap < self.tokens

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Larger for a better summary."""
        return not self.lacks, not self.is_too_long, self.checked.score

    @property
    def repair(self) -> str:
        """What the model is asked to do better; empty if nothing."""
        lines: list[str] = []
        if self.lacks:
            lines.append(_REPAIR.format(missing=", ".join(self.checked.missing)))
        if self.is_too_long:
            lines.append(_SHORTEN.format(words=words_of(self.settings)))
        return " ".join(lines)

    def problem(self, turns: int) -> Refusal | None:
        """Why this summary of so many turns is not used; None if it is good enough."""
        if self.lacks:
            return SummaryLacking(turns, self.checked.probes, self.checked.missing)
        if self.is_too_long:
            return SummaryTooLong(self.tokens, self.settings.summary_cap)
        return None


def words_of(settings: Settings) -> int:
    """How many words a summary may have. Three words have about four tokens."""
    return max(1, settings.summary_cap * 3 // 4)
