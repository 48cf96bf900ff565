"""Probes: facts that a good summary must contain, to check a summary without a model.

They come from the turns that leave view: created and changed files, commands that fail, and the
longest words of the last request. A probe is found as whole words: `a.py` is not in `data.py`.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.analysis.language.word_stems import stem
from sapwood.analysis.ledger.entries import Ledger
from sapwood.core.content import Text
from sapwood.core.turn import Reply, Turn

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{5,}")
_TOKEN = re.compile(r"[\w./\\~@+-]*\w")
_MAX_FILES = 20
_MAX_COMMANDS = 10
_MAX_WORDS = 5
_SAID_SHARE = 0.6
"""The share of its words that a text must have in common with the conversation."""


class SummaryCheck(Struct, frozen=True):
    """The share of the probes that a summary contains, from 0 to 1, and the missing ones.

    `probes` is the number of probes.
    """

    score: float
    missing: tuple[str, ...]
    probes: int = 0


def probes_of(turns: Sequence[Turn], ledger: Ledger) -> tuple[str, ...]:
    """Returns the probes for a summary of these turns."""
    touched = (*ledger.files.created, *ledger.files.changed)[-_MAX_FILES:]
    files = [file.path.rsplit("/", 1)[-1] for file in touched]
    failing = [_command_name(each.command) for each in ledger.failing][-_MAX_COMMANDS:]
    return tuple(dict.fromkeys(filter(None, [*files, *failing, *_longest_words(turns)])))


def check_summary(summary: str, probes: Sequence[str]) -> SummaryCheck:
    """Returns which probes the summary contains.

    >>> check_summary("We changed src/data.py; npm tests fail.", ["a.py", "npm test", "data.py"])
    SummaryCheck(score=0.6666666666666667, missing=('a.py',), probes=3)
    """
    if not probes:
        return SummaryCheck(1.0, ())
    words = f" {' '.join(_tokens(summary))} "
    missing = tuple(probe for probe in probes if f" {' '.join(_tokens(probe))} " not in words)
    return SummaryCheck(1 - len(missing) / len(probes), missing, len(probes))


def spoken_words(turns: Sequence[Turn]) -> frozenset[str]:
    """Returns the words of all prompts and replies, in a form that can be compared."""
    texts: list[str] = []
    for turn in turns:
        texts += [part.text for part in turn.prompt if isinstance(part, Text)]
        for item in turn.items:
            if isinstance(item, Reply):
                texts += [part.text for part in item.parts if isinstance(part, Text)]
    return frozenset(token for text in texts for token in _tokens(text))


def is_said(text: str, words: frozenset[str]) -> bool:
    """Whether most words of a text are among these words; an empty text is not.

    >>> is_said("Use tabs", frozenset({"use", "tab", "or", "space"}))
    True
    """
    tokens = _tokens(text)
    return bool(tokens) and sum(token in words for token in tokens) >= _SAID_SHARE * len(tokens)


def _tokens(text: str) -> list[str]:
    """The words of a text in a form that can be compared: paths by their last part, plain words by
    their stem.
    """
    return [stem(re.split(r"[/\\]", token)[-1]) for token in _TOKEN.findall(text.casefold())]


def _command_name(line: str) -> str:
    """What a command line runs: `npm test` for `cd app && npm test`."""
    from sapwood.analysis.ledger.operations.simple_commands import simple_commands
    from sapwood.analysis.ledger.runs.command_names import named_command

    named = [named_command(command) for command in simple_commands(line)]
    acting = [each.name for each in named if each.name and not each.trivial]
    if acting:
        return acting[-1]
    return named[-1].name if named else ""


def _longest_words(turns: Sequence[Turn]) -> list[str]:
    """Returns the longest words of the last request: mostly names and terms."""
    asked = next((turn for turn in reversed(turns) if turn.is_request), None)
    if asked is None:
        return []
    text = " ".join(part.text for part in asked.prompt if isinstance(part, Text))
    words = dict.fromkeys(word.rstrip(".-") for word in _WORD.findall(text))
    return sorted(words, key=len, reverse=True)[:_MAX_WORDS]
