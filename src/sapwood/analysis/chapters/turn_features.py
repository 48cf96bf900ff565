"""The features of a turn that chapters are found by: weighted words, files, form and size.

They are computed once for each turn and stay small. What was pasted into a prompt counts for
nothing. Of a tool result only the words are kept, to see whether a later prompt refers to them.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from sapwood.analysis.language.pasted_text import typed_text
from sapwood.analysis.language.sentences import sentences
from sapwood.analysis.language.word_stems import content_words, word_set
from sapwood.analysis.ledger.ledger_builder import files_of
from sapwood.analysis.session import request_text
from sapwood.core.content import Text, ToolCall
from sapwood.core.turn import Reply, Turn

_PROMPT_WEIGHT, _REPLY_WEIGHT, _CALL_WEIGHT = 3.0, 1.0, 0.5
_MAX_WEIGHT = 6.0
_ARGS_LENGTH, _RESULT_LENGTH = 400, 1_500
"""Characters of the arguments of a call and of a result that are examined."""
_MAX_RESULTS = 40
_PROMPT_LENGTH = 3_000
"""Characters of a prompt that are examined; what follows is pasted material."""
_MAX_REPLY_WORDS = 400
_OPENING = 60
"""Characters of the first words of a prompt."""
_FEW_WORDS = 3
"""Words that a paragraph needs to name what a prompt is about: 'Perfect!' has fewer."""
_ANSWER_WORDS = 12
_REMARK_WORDS = 20
_NUMBER = re.compile(r"^[\d.,:%-]+$")
_SEPARATORS = re.compile(r"[/_.\"\\{}:,-]")

_REFERENCE = re.compile(r"\b(?:that|it|them|those|this|these|das|dafür|davon)\b", re.IGNORECASE)
_REFERRING_WORDS = 15
"""The most words of a prompt whose 'that' and 'it' are the words of the turn before."""


class TurnFeatures(Struct, frozen=True):
    """The features of one turn.

    `terms` are its words with their weights, `subject` the words of the prompt, `seen` all words to
    which a next prompt may refer. `files` are the paths that the turn touched, `opening` the first
    words that the user typed. `refers` if the prompt is short and says 'it' or 'that'. `opens` is
    false for a prompt that begins no chapter: one that asks Sapwood and not the agent, and a short
    statement to which the agent hardly replied. The field names are those of the features cache on
    disk.
    """

    terms: Mapping[str, float]
    subject: frozenset[str]
    seen: frozenset[str]
    files: tuple[str, ...]
    opening: str
    refers: bool
    opens: bool
    tokens: int


def features_of(turn: Turn, folder: str, tokens: int) -> TurnFeatures:
    """Returns the features of one turn. Paths are relative to the folder."""
    request = request_text(turn)
    prompt = typed_text(request[:_PROMPT_LENGTH]).strip()
    spoken = list(sentences(prompt))
    asked = _words(spoken)
    replies, calls, results = _texts(turn)
    answered = _words(sentences("\n".join(replies)))[:_MAX_REPLY_WORDS]
    called = _words(_SEPARATORS.sub(" ", call) for call in calls)
    short = len(prompt.split(None, _ANSWER_WORDS)) <= _ANSWER_WORDS
    is_remark = short and "?" not in prompt and len(answered) <= _REMARK_WORDS
    is_brief = len(prompt.split(None, _REFERRING_WORDS)) <= _REFERRING_WORDS
    result_words = _without_numbers(word_set(" ".join(results)))
    return TurnFeatures(
        terms=_weighted(
            ((asked, _PROMPT_WEIGHT), (answered, _REPLY_WEIGHT), (called, _CALL_WEIGHT))
        ),
        subject=frozenset(asked),
        seen=frozenset((*asked, *answered, *called, *result_words)),
        files=_files(turn, folder),
        opening=_opening(prompt),
        refers=is_brief and bool(_REFERENCE.search(prompt)),
        opens=bool(request) and bool(calls or not is_remark),
        tokens=tokens,
    )


def _opening(prompt: str) -> str:
    """Returns the first words of a prompt, shortened at a word: those of its first paragraph.

    A paragraph of one or two words is passed over if there is a longer one.

    >>> _opening("Perfect!\\n\\nNow number the invoices per year.")
    'Now number the invoices per year'
    """
    spoken = [" ".join(sentences(each)) for each in prompt.split("\n\n")]
    named = [each for each in spoken if any(map(str.isalpha, each))]
    longer = [each for each in named if each.count(" ") + 1 >= _FEW_WORDS]
    words = next(iter(longer or named), "")
    if len(words) > _OPENING:
        words = words[: _OPENING + 1].rpartition(" ")[0] or words[:_OPENING]
    return words.rstrip(".,:;")


def _texts(turn: Turn) -> tuple[list[str], list[str], list[str]]:
    """Returns the replies of the model, the arguments of its tool calls, and the results."""
    replies: list[str] = []
    calls: list[str] = []
    results: list[str] = []
    for item in turn.items:
        if not isinstance(item, Reply):
            results.append(item.content[:_RESULT_LENGTH])
            continue
        for part in item.parts:
            if isinstance(part, ToolCall):
                calls.append(part.args[:_ARGS_LENGTH])
            elif isinstance(part, Text):
                replies.append(part.text)
    return replies, calls[:_MAX_RESULTS], results[:_MAX_RESULTS]


def _weighted(groups: Iterable[tuple[Iterable[str], float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for words, weight in groups:
        for word in words:
            found[word] = min(found.get(word, 0.0) + weight, _MAX_WEIGHT)
    return found


def _words(texts: Iterable[str]) -> list[str]:
    """Returns the stems of the words that carry meaning, without numbers."""
    return _without_numbers(content_words(" ".join(texts)))


def _without_numbers(words: Iterable[str]) -> list[str]:
    return [word for word in words if not (word[0].isdigit() and _NUMBER.match(word))]


def _files(turn: Turn, folder: str) -> tuple[str, ...]:
    """Returns the files that a turn touched, those that it wrote first."""
    files = files_of(turn, folder)
    touched = (*files.created, *files.changed, *files.deleted, *files.read)
    return tuple(dict.fromkeys(file.path for file in touched))
