"""The features of a turn that topics are found by: weighted words, files, markers and size.

They are computed once for each turn and stay small. Of a tool result only the words are kept, to
see whether a later prompt refers to them.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from sapwood.analysis.language.sentences import sentences
from sapwood.analysis.language.word_stems import content_words, stem, word_set
from sapwood.analysis.ledger import files_of
from sapwood.analysis.topics.discourse_markers import (
    EVERYDAY_WORDS,
    is_aside,
    is_return,
    is_small_talk,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.turn import Reply, Turn

__all__ = ["GENERIC_WORDS", "TurnFeatures", "features_of"]

_PROMPT_WEIGHT, _REPLY_WEIGHT, _CALL_WEIGHT = 3.0, 1.0, 0.5
_MAX_WEIGHT = 6.0
_ARGS_LENGTH, _RESULT_LENGTH = 400, 1_500
"""Characters of the arguments of a call and of a result that are examined."""
_MAX_REPLY_WORDS = 400
_MAX_REPLY_SENTENCES = 20
_NUMBER = re.compile(r"^[\d.,:%-]+$")
_REFERENCE = re.compile(r"\b(?:that|it|them|those|i'll|we'll)\b", re.IGNORECASE)
_SEPARATORS = re.compile(r"[/_.\"\\{}:,-]")

GENERIC_WORDS = frozenset(
    stem(word)
    for word in """test file code error fix add function build line write read check change commit
    problem issue page name number value text list set data version default option config setting
    update create delete remove show find help question answer idea case example part piece step
    result output input call return type class object method server project repo repository command
    script tool user people team week month year day hour minute plain single local real full empty
    existing missing wrong simple small large big little short fast slow rule pass passing fail
    failing green everything anything enough ready current present place side end exactly instead
    directly twice move open close clean print log note path folder directory module package library
    app application program software computer machine system feature bug branch merge topic subject
    aside unrelated btw different totally completely leave raise sound perfect late happen ouch wow
    found stop suggest possible several three other others sense ago forget hold happens""".split()
)
"""Words that occur in any session about software and say little about its subject."""


class TurnFeatures(Struct, frozen=True):
    """The features of one turn.

    `terms` are its words with their weights, `subject` the words of the prompt that are not
    generic, `seen` all words to which a next prompt may refer. `files` are the paths that the turn
    touched, `made` those that it created. `asked` and `answered` are sentences. `everyday` counts
    words of everyday life, `rest` the other words of a prompt that are not small talk. `refers` if
    the prompt refers to the turn before, `aside` if it changes the subject, `returns` if it returns
    to an earlier one. The field names are those of the features cache on disk.
    """

    terms: Mapping[str, float]
    subject: frozenset[str]
    seen: frozenset[str]
    files: frozenset[str]
    made: frozenset[str]
    asked: tuple[str, ...]
    answered: tuple[str, ...]
    tools: int
    reply_words: int
    chatty: bool
    everyday: int
    rest: int
    technical: bool
    refers: bool
    aside: bool
    returns: bool
    tokens: int


def features_of(turn: Turn, folder: str, tokens: int) -> TurnFeatures:
    """Returns the features of one turn. Paths are relative to the folder."""
    prompt = "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
    prompt_sentences = list(sentences(prompt))
    asked = _words(prompt_sentences)
    replies, calls, results = _texts(turn)
    replied = list(sentences("\n".join(replies)))
    answered = _words(replied)[:_MAX_REPLY_WORDS]
    called = _words(_SEPARATORS.sub(" ", call) for call in calls)
    result_words = _without_numbers(word_set(" ".join(results)))
    seen = {*asked, *answered, *called, *result_words}
    files, made = _files(turn, folder)
    return TurnFeatures(
        terms=_weighted(
            ((asked, _PROMPT_WEIGHT), (answered, _REPLY_WEIGHT), (called, _CALL_WEIGHT))
        ),
        subject=frozenset(asked) - GENERIC_WORDS,
        seen=frozenset(seen),
        files=files,
        made=made,
        asked=tuple(prompt_sentences),
        answered=tuple(replied[:_MAX_REPLY_SENTENCES]),
        tools=len(turn.calls),
        reply_words=len(answered),
        chatty=any(map(is_small_talk, prompt_sentences)),
        everyday=sum(word in EVERYDAY_WORDS for word in re.findall(r"[a-z]+", prompt.lower())),
        rest=_count_other_words(prompt_sentences),
        technical=bool(re.search(r"[`_]|\w/\w|\w\.\w|\w\(", prompt)),
        refers=bool(_REFERENCE.search(prompt)),
        aside=is_aside(prompt),
        returns=is_return(prompt),
        tokens=tokens,
    )


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
    return replies, calls, results


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


def _files(turn: Turn, folder: str) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the files that a turn touched, and those that it created."""
    files = files_of(turn, folder)
    touched = (*files.read, *files.created, *files.changed, *files.deleted)
    return (
        frozenset(file.path for file in touched),
        frozenset(file.path for file in files.created),
    )


def _count_other_words(prompt: Iterable[str]) -> int:
    """Counts the words of a prompt that are neither small talk nor everyday life."""
    words = content_words(" ".join(sentence for sentence in prompt if not is_small_talk(sentence)))
    return sum(word not in EVERYDAY_WORDS for word in words)
