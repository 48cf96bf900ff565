"""A turn as the finder of topics sees it: weighed words, files, cues, size.

Made once a turn and small, whatever the turn holds: tool results count only as far as later
prompts may take up a word of them.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from sapwood.core.content import Text, ToolCall
from sapwood.core.ledger import files_of
from sapwood.core.ledger.speech.sentences import sentences
from sapwood.core.ledger.speech.words import content_words, stem, word_set
from sapwood.core.turn import Reply, Turn
from sapwood.garden.topics.cues import EVERYDAY, chats, is_aside, is_return

__all__ = ["GENERIC", "TurnFeatures", "features_of"]

_PROMPT, _REPLY, _CALL = 3.0, 1.0, 0.5
_HEAVIEST = 6.0
_ARGS, _RESULT = 400, 1_500
"""Characters of a call and of a result that are looked at."""
_REPLY_WORDS = 400
_REPLY_SENTENCES = 20
_NUMBER = re.compile(r"^[\d.,:%-]+$")
_BACKWARDS = re.compile(r"\b(?:that|it|them|those|i'll|we'll)\b", re.IGNORECASE)
_SEPARATORS = re.compile(r"[/_.\"\\{}:,-]")

GENERIC = frozenset(
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
"""Words of the trade: they stand in any session and say little about its subject."""


class TurnFeatures(Struct, frozen=True):
    """What matters of a turn.

    `terms` are its words with their weights, `subject` those of the prompt that are not generic,
    `seen` all words that a next prompt may take up. `files` are the paths it touched, `made` those
    that it created. `rest` counts the words of a prompt that are neither small talk nor everyday
    life, `refers` says that it speaks of what was just said. `asked` and `answered` are sentences.
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
    """The features of one turn."""
    prompt = "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
    said = list(sentences(prompt))
    asked = _words(said)
    replies, calls, results = _heard(turn)
    replied = list(sentences("\n".join(replies)))
    answered = _words(replied)[:_REPLY_WORDS]
    called = _words(_SEPARATORS.sub(" ", call) for call in calls)
    heard = _about_something(word_set(" ".join(results)))
    seen = {*asked, *answered, *called, *heard}
    files, made = _files(turn, folder)
    return TurnFeatures(
        terms=_weighed(((asked, _PROMPT), (answered, _REPLY), (called, _CALL))),
        subject=frozenset(asked) - GENERIC,
        seen=frozenset(seen),
        files=files,
        made=made,
        asked=tuple(said),
        answered=tuple(replied[:_REPLY_SENTENCES]),
        tools=len(turn.calls),
        reply_words=len(answered),
        chatty=any(map(chats, said)),
        everyday=sum(word in EVERYDAY for word in re.findall(r"[a-z]+", prompt.lower())),
        rest=_rest(said),
        technical=bool(re.search(r"[`_]|\w/\w|\w\.\w|\w\(", prompt)),
        refers=bool(_BACKWARDS.search(prompt)),
        aside=is_aside(prompt),
        returns=is_return(prompt),
        tokens=tokens,
    )


def _heard(turn: Turn) -> tuple[list[str], list[str], list[str]]:
    """What the model said, which arguments it gave to tools, and what they gave back."""
    replies: list[str] = []
    calls: list[str] = []
    results: list[str] = []
    for item in turn.items:
        if not isinstance(item, Reply):
            results.append(item.content[:_RESULT])
            continue
        for part in item.parts:
            if isinstance(part, ToolCall):
                calls.append(part.args[:_ARGS])
            elif isinstance(part, Text):
                replies.append(part.text)
    return replies, calls, results


def _weighed(groups: Iterable[tuple[Iterable[str], float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for words, weight in groups:
        for word in words:
            found[word] = min(found.get(word, 0.0) + weight, _HEAVIEST)
    return found


def _words(texts: Iterable[str]) -> list[str]:
    """The words that carry meaning."""
    return _about_something(content_words(" ".join(texts)))


def _about_something(words: Iterable[str]) -> list[str]:
    """A bare number is about nothing."""
    return [word for word in words if not (word[0].isdigit() and _NUMBER.match(word))]


def _files(turn: Turn, folder: str) -> tuple[frozenset[str], frozenset[str]]:
    """Which files a turn touched, and which of them it made."""
    files = files_of(turn, folder)
    touched = (*files.read, *files.created, *files.changed, *files.deleted)
    return (
        frozenset(file.path for file in touched),
        frozenset(file.path for file in files.created),
    )


def _rest(said: Iterable[str]) -> int:
    """How many words a prompt has that are neither small talk nor everyday life."""
    words = content_words(" ".join(sentence for sentence in said if not chats(sentence)))
    return sum(word not in EVERYDAY for word in words)
