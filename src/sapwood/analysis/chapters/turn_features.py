"""The features of a turn that chapters are found by: weighted words, files, markers and size.

They are computed once for each turn and stay small, whatever was pasted. Of a tool result only the
words are kept, to see whether a later prompt refers to them.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from sapwood.analysis.chapters.discourse_markers import (
    is_aside,
    is_reference,
    is_return,
    is_switch,
)
from sapwood.analysis.language.sentences import sentences
from sapwood.analysis.language.word_stems import content_words, stem, word_set
from sapwood.analysis.ledger import files_of
from sapwood.analysis.session import request_text
from sapwood.core.content import Text, ToolCall
from sapwood.core.turn import Reply, Turn

_PROMPT_WEIGHT, _REPLY_WEIGHT, _CALL_WEIGHT = 3.0, 1.0, 0.5
_MAX_WEIGHT = 6.0
_ARGS_LENGTH, _RESULT_LENGTH = 400, 1_500
"""Characters of the arguments of a call and of a result that are examined."""
_MOST_RESULTS = 40
_PROMPT_LENGTH = 3_000
"""Characters of a prompt that are examined; what follows is pasted material."""
_MAX_REPLY_WORDS = 400
_MAX_SENTENCES, _SENTENCE_LENGTH = 6, 300
_QUESTION_LENGTH = 250
_ANSWER_WORDS = 12
_REMARK_WORDS = 20
_NUMBER = re.compile(r"^[\d.,:%-]+$")
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
    touched, `asked` the first sentences of the prompt. `asks` if the reply ends with a question,
    `short` if the prompt may be an answer to one. `switches`, `returns`, `refers` and `aside` say
    how the prompt begins. `opens` is false for a prompt that begins no chapter: one that asks
    Sapwood and not the agent, and a short statement to which the agent hardly replied. The field
    names are those of the features cache on disk.
    """

    terms: Mapping[str, float]
    subject: frozenset[str]
    seen: frozenset[str]
    files: tuple[str, ...]
    asked: tuple[str, ...]
    asks: bool
    short: bool
    switches: bool
    returns: bool
    refers: bool
    aside: bool
    opens: bool
    tokens: int


def features_of(turn: Turn, folder: str, tokens: int) -> TurnFeatures:
    """Returns the features of one turn. Paths are relative to the folder."""
    prompt = "\n".join(part.text for part in turn.prompt if isinstance(part, Text)).strip()
    prompt = prompt[:_PROMPT_LENGTH]
    spoken = list(sentences(prompt))
    asked = _words(spoken)
    replies, calls, results = _texts(turn)
    answered = _words(sentences("\n".join(replies)))[:_MAX_REPLY_WORDS]
    called = _words(_SEPARATORS.sub(" ", call) for call in calls)
    short = len(prompt.split(None, _ANSWER_WORDS)) <= _ANSWER_WORDS
    switches, returns = is_switch(prompt), is_return(prompt)
    is_remark = short and "?" not in prompt and len(answered) <= _REMARK_WORDS
    result_words = _without_numbers(word_set(" ".join(results)))
    return TurnFeatures(
        terms=_weighted(
            ((asked, _PROMPT_WEIGHT), (answered, _REPLY_WEIGHT), (called, _CALL_WEIGHT))
        ),
        subject=frozenset(asked) - GENERIC_WORDS,
        seen=frozenset((*asked, *answered, *called, *result_words)),
        files=_files(turn, folder),
        asked=tuple(each[:_SENTENCE_LENGTH] for each in spoken[:_MAX_SENTENCES]),
        asks="?" in "".join(replies[-1:]).rstrip()[-_QUESTION_LENGTH:],
        short=short,
        switches=switches,
        returns=returns,
        refers=is_reference(prompt),
        aside=is_aside(prompt),
        opens=bool(request_text(turn)) and bool(calls or switches or returns or not is_remark),
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
    return replies, calls[:_MOST_RESULTS], results[:_MOST_RESULTS]


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
