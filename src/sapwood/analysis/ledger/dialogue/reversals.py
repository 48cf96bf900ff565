"""Which earlier decision a new one takes back: only one about the same question.

A false reversal hides a decision that holds. So words alone are not enough: both answer the same
question, or the new one names the old value as what it is not, or it says 'after all' of the same
object. Otherwise both stand, and the newer one comes first where they are listed.
"""

import re
from collections.abc import Sequence

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.dialogue.german_choices import GERMAN_WORDS
from sapwood.analysis.ledger.entries import Decision

__all__ = ["reversed_decision"]

_MARKS = Phrases("""
    actually|instead
    change|changed my mind
    on second thought|thoughts
    after all
    scratch that
    forget about? the|that|it|what
    go|going back to
    no longer
    not ... anymore
    not ... then
    let's not
    drop|replace|undo|revert
    switch to
    doch lieber|nicht
    doch _? _? behalten|nehmen|lassen
    nun doch
""")
_STRONG = Phrases("""
    change|changed my mind
    second thought|thoughts
    scratch that
    switch to
    actually ,? use|keep|let's
""")
_CORRECTION = Phrases("""
    actually|wait|hm|hmm ,? no
    actually , no
    no|ne|nein|nee ,? wait|doch
    doch lieber|nicht
    doch _? _? behalten|nehmen|lassen
""")
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|not|no longer|statt|nicht|no)\s+((?:[\w.+#%-]+\s*){1,3})", re.I
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SAME_QUESTION = 0.7
_MIN_SHARED = 2
_NEXT_TURNS = 1
_FEW_TURNS = 3
_SHORT_PROMPT = 20


def reversed_decision(earlier: Sequence[Decision], new: Decision, prompt: str) -> int | None:
    """Returns the place of the decision that a new one takes back; None if it takes back none."""
    contrasted = _contrasted(f"{new.text} {prompt if len(prompt) < 200 else ''}")
    for place in range(len(earlier) - 1, -1, -1):
        old = earlier[place]
        if old.turn >= new.turn or old.reversed_by is not None:
            continue
        if _takes_back(old, new, prompt, contrasted):
            return place
    return None


def _takes_back(old: Decision, new: Decision, prompt: str, contrasted: set[str]) -> bool:
    words = set(content_words(old.text)) - _LIGHT
    said = set(content_words(new.text))
    if not said or words == said:
        return False
    if old.about and new.about and _is_same_question(old.about, new.about):
        return True
    if contrasted and _values(old.text) and _values(old.text) <= contrasted | said:
        return bool(_values(old.text) & contrasted)
    if _CORRECTION.match(tokens(prompt)) and new.turn - old.turn <= _NEXT_TURNS:
        return True
    strong = _STRONG.search(tokens(prompt))
    if not words or (len(words) == 1 and not strong and new.turn - old.turn > _FEW_TURNS):
        return False
    marked = _MARKS.search(tokens(new.text))
    if not (marked or _MARKS.match(tokens(prompt))):
        return False
    around = set(content_words(prompt))
    if marked and prompt.count(" ") < _SHORT_PROMPT:
        least = 1 if strong else min(_MIN_SHARED, len(words))
        if len(words & around) >= max(least, 0.5 * len(words)):
            return True
    return len(words & around) >= min(_MIN_SHARED, len(words)) and words <= around | said | _LIGHT


_LIGHT = GERMAN_WORDS | frozenset(
    content_words("bigger smaller cheaper faster simpler test give lieber behalten erstmal")
)


def _is_same_question(one: str, other: str) -> bool:
    first, second = set(content_words(one)), set(content_words(other))
    shared = len(first & second)
    return shared >= _MIN_SHARED and shared >= _SAME_QUESTION * max(len(first), len(second))


def _contrasted(text: str) -> set[str]:
    """Returns the words and numbers that a text names as what it does not want."""
    found: set[str] = set()
    for match in _CONTRAST.finditer(text):
        found |= set(content_words(match[1])) | set(_NUMBER.findall(match[1]))
    return found


def _values(text: str) -> set[str]:
    """Returns the value of a short decision: its words, or its number."""
    numbers = _NUMBER.findall(text)
    if numbers and text.count(" ") < _MIN_SHARED:
        return set(numbers)
    words = set(content_words(text))
    return words if len(words) <= _MIN_SHARED else set()
