"""Names for chapters: a short phrase of the prompt that opens the chapter.

'Okay so um I want to redo the onboarding, right now you land on …' is named 'redo the onboarding'.
Phrases that tell a story ('I tried it on the preview') name nothing; if a prompt has no other,
up to three of its nouns are the name.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from sapwood.analysis.chapters.discourse_markers import is_small_talk
from sapwood.analysis.chapters.noun_names import noun_name, word_counts
from sapwood.analysis.chapters.turn_features import GENERIC_WORDS, TurnFeatures
from sapwood.analysis.language.word_stems import content_words

_MOST_WORDS, _MOST_CHARACTERS = 7, 48
_PROMPTS = 2
_LATER = 0.65
"""The factor of each further phrase: people name first what they want."""
_SECOND_WORD = 0.7
_REQUESTED, _SINGLE = 2.5, 0.7
"""The factor of a phrase that the user asks for, and of a single word."""
_REQUEST = re.compile(
    r"\b(?:i want|i need|i'd like|we need|we want|we should|can you|could you|please|let'?s|next"
    r"|brauche?|ich will|kannst du|bitte)\b",
    re.IGNORECASE,
)
_ONCE = 3.0
"""The weight of a word that occurs once in a prompt and nowhere else."""
_FILLERS = re.compile(
    r"^(?:\W*(?:ok(?:ay)?|so|um+|uh|and|but|now|next|great|good|right|fine|nice|yes|yeah|ja|no|hey"
    r"|hi|hm+|well|oh|wait|stop|sorry|please|pls|bitte|also|then|just|actually|anyway|btw|today"
    r"|by the way|unrelated(?:ly)?|quick (?:one|question|thing)|something else|back to(?: us)?"
    r"|slightly different thing|before we continue|as for|regarding|about|forget (?:that|it)"
    r"|planned work(?: for today)?|new (?:task|topic)|jetzt|dann|und|übrigens|nebenbei|zurück"
    r"|can (?:you|we)|could (?:you|we)|would you|will you|help me(?: to)?|i(?:'d| would) like to"
    r"|i (?:want|need|have)(?: you)? to|we (?:want|need|have|should)(?: to)?|let'?s|let us|go and"
    r"|i (?:want|need)|we need|kannst du|könntest du|ich (?:brauche?|will|möchte)|brauche?|mach"
    r"|wir (?:brauchen|müssen)|like|have a look at|look at|look into|schau(?: dir)?)\b"
    r"[\s,.:;!–-]*)+",
    re.IGNORECASE,
)
_BREAK = re.compile(
    r"[,;:.!?)…–—\n](?=\s|$)|(?:^|\s)\(|\s[-–→]+\s"
    r"|\s(?:so that|that|dass|because|since|which|where|when|while|right now|and then|but|if"
    r"|weil|damit|wenn|statt|instead)\b",
    re.IGNORECASE,
)
_STORY = re.compile(
    r"\b(?:i|i'[a-z]+|you|you'[a-z]+|he|she|it|it's|they|we|we'[a-z]+|me|my|this|that|that's|there"
    r"|who|what|what's|whats|why|how|ich|du|er|sie|wir|mir|was|wie|warum|das)\b",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:\s+(?:the|a|an|of|for|to|in|on|at|by|with|and|or|from|into|against|our|your|der|die|das"
    r"|den|dem|ein|eine|für|mit|und|oder|von|im|in|auf|an|is|are|please|bitte|real quick|now"
    r"|again|too|as))+$",
    re.IGNORECASE,
)
_LEADING = re.compile(r"^(?:(?:the|a|an|our|your|their|her|his|der|die|ein|eine)\s+)+", re.I)
_PLACEHOLDER = re.compile(r"^(?:\[[^\]]{1,40}\]\s*)+")
_MARKED = re.compile(r"[<>{}\\]|://|^\W*$")


def chapter_name(
    turns: Sequence[TurnFeatures], elsewhere: Mapping[str, float], taken: Collection[str]
) -> str:
    """Returns a name for a chapter of these turns that is not taken.

    `elsewhere` are the words of the whole session with their weights; `taken` is in lower case.
    """
    here = word_counts(turns)
    for turn in turns[:_PROMPTS]:
        scores: dict[str, float] = {}
        for place, (phrase, factor) in enumerate(_phrases(turn.asked)):
            score = factor * _LATER**place * _score(phrase, here, elsewhere)
            if score and phrase.casefold() not in taken:
                scores.setdefault(phrase, score)
        if scores:
            return max(scores, key=lambda each: scores[each])
    if named := noun_name(turns, elsewhere, taken):
        return named
    return next(name for n in range(1, len(taken) + 2) if (name := f"chapter {n}") not in taken)


def _score(phrase: str, here: Mapping[str, float], elsewhere: Mapping[str, float]) -> float:
    """Returns how much a phrase says about the chapter; 0 if its words occur nowhere else in it."""
    times = {word: here.get(word, 0.0) for word in _subject(phrase)}
    if max(times.values(), default=0.0) <= _ONCE:
        return 0.0
    weights = sorted(t * t / max(t, elsewhere.get(word, 0.0)) for word, t in times.items())
    return weights[-1] + _SECOND_WORD * sum(weights[-2:-1])


def _phrases(asked: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yields the phrases of a prompt that can be a name, in their order, with a factor."""
    for sentence in asked:
        if is_small_talk(sentence):
            continue
        for clause in _BREAK.split(_PLACEHOLDER.sub("", sentence)):
            if not (phrase := _phrase(clause)):
                continue
            is_named = " " not in phrase and clause.strip() != phrase  # 'Okay, billing'
            if is_named or _REQUEST.search(clause):
                yield phrase, _REQUESTED
            else:
                yield phrase, 1.0 if " " in phrase else _SINGLE


def _subject(phrase: str) -> list[str]:
    return [w for w in content_words(phrase) if w not in GENERIC_WORDS and not w.isdigit()]


def _phrase(clause: str) -> str:
    """Returns the phrase that names what a clause is about; empty if it is none.

    >>> _phrase("Okay so um I want to redo the on boarding"), _phrase("I tried it on the preview")
    ('redo the on boarding', '')
    """
    phrase = _FILLERS.sub("", clause.strip()).strip(" \"'`*_-")
    if _STORY.search(phrase) or _MARKED.search(phrase):
        return ""
    words = _LEADING.sub("", phrase).split()
    while words and (len(words) > _MOST_WORDS or len(" ".join(words)) > _MOST_CHARACTERS):
        words.pop()
    phrase = _TRAILING.sub("", " ".join(words))
    return phrase if _subject(phrase) else ""
