"""The eval of chapters: where the borders are, and which stretches belong together.

Pk and WindowDiff are the shares of places where the found borders within a window of turns differ
from the labelled ones: Pk asks whether there is any, WindowDiff how many. 0 is right everywhere.
The window is half of the mean length of a labelled stretch. 'Together' (B-cubed F1) compares
which turns are in one chapter; 1 is right everywhere. There are two simple rules for comparison:
the session is one chapter, and a chapter begins at every fourth turn.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from evals.labels import Labels, SessionSet, read_set
from evals.quoted_labels import QUOTED_SETS, QuotedSession, read_quoted
from sapwood.analysis.chapter_report import Chapter
from sapwood.analysis.chapters.chapter_builder import chapters_of
from sapwood.analysis.session import Session, request_text
from sapwood.programs.transcripts.session_reader import read_session
from sapwood.tokens.estimators import FeatureCounter

FOLDER = Path(__file__).parent / "sessions"
_FEWEST_WINDOW = 2


class BorderScore(Struct, frozen=True):
    """The means of some sessions; lower is better for `pk` and `window_diff`."""

    pk: float
    window_diff: float
    together: float


LIMITS = {
    "strangers": BorderScore(0.30, 0.35, 0.60),
    "tuned": BorderScore(0.28, 0.34, 0.70),
    "held out": BorderScore(0.31, 0.36, 0.70),
}
"""The figures that each set must reach. The former topics have Pk 0.40 on the strangers."""


class LabelledChapters(Struct, frozen=True):
    """A session, and the labelled chapter of each turn."""

    name: str
    session: Session
    chapters: list[str]


def main(argv: list[str]) -> int:
    """Prints the scores of each session and set. Returns 1 if a set misses its limits."""
    failed = 0
    for name in (*LIMITS, "quoted held out"):  # the last has no limit: nothing was fitted on it
        limits = LIMITS.get(name)
        labelled = read_chapters(name)
        print(f"\n{name}\n{'':<30}{'Pk':>8}{'WinDiff':>9}{'together':>10}")
        for each in labelled:
            print_row(each.name, score_of([each], sapwood_chapters))
        print_row("one chapter", score_of(labelled, one_chapter))
        print_row("every fourth turn", score_of(labelled, every_fourth_turn))
        total = score_of(labelled, sapwood_chapters)
        print_row("SAPWOOD", total)
        if limits:
            print_row("limit", limits)
        if "--names" in argv:
            print_names(labelled)
        failed += limits is not None and is_short(total, limits)
    return int(failed + print_pasted_names() > 0)


def print_pasted_names() -> int:
    """Prints how many names are words of the user, and how many were pasted; returns the latter."""
    names = pasted = other = 0
    for each in [each for chosen in QUOTED_SETS for each in read_quoted(chosen)]:
        for chapter in chapters_of(each.session, FeatureCounter()).chapters:
            name = _plain(_TAKEN.sub("", chapter.name))
            names += 1
            other += name not in _plain(" ".join(_prompts(each, chapter)))
            pasted += any(name in _plain(text) for text in _pasted(each, chapter))
    print(
        f"\nnames of chapters: {names}, first words of the user {names - other}, "
        f"pasted {pasted} (limit 0)"
    )
    return pasted


_TAKEN = re.compile(r" \(turn \d+\)$")
_MARKS = re.compile(r"[^\w.:/-]+")


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub(" ", text.casefold()).split())


def _prompts(each: QuotedSession, chapter: Chapter) -> list[str]:
    numbers = [n for first, last in chapter.spans for n in range(first, last + 1)]
    return [request_text(turn) for turn in each.session.numbered(*numbers)]


def _pasted(each: QuotedSession, chapter: Chapter) -> list[str]:
    """The pasted lines of the chapter's prompts, one text for each paste."""
    return [
        "\n".join(request_text(turn).split("\n")[span.first_line - 1 : span.last_line])
        for span in each.labels.pasted
        if span.turn + 1 in chapter
        for turn in each.session.numbered(span.turn + 1)[:1]
    ]


def is_short(score: BorderScore, limits: BorderScore) -> bool:
    """Whether a figure misses its limit."""
    return (
        score.pk > limits.pk
        or score.window_diff > limits.window_diff
        or score.together < limits.together
    )


def read_chapters(name: str) -> list[LabelledChapters]:
    """Returns the sessions of a set. For the invented sessions, a topic is a chapter.

    Small talk in them is part of the chapter before it; in those of the strangers it has labels of
    its own.
    """
    if name == "strangers":
        folder = FOLDER / "strangers"
        spans = msgspec.json.decode(
            (folder / "chapters.json").read_bytes(), type=dict[str, list[tuple[str, int, int]]]
        )
        return [
            LabelledChapters(
                each,
                read_session(folder / f"{each}.jsonl"),
                [chapter for chapter, first, last in found for _ in range(first, last + 1)],
            )
            for each, found in sorted(spans.items())
        ]
    if name == "quoted held out":
        return _quoted(FOLDER / "quoted_held_out")
    chosen: SessionSet = "tuned" if name == "tuned" else "held_out"
    return [
        LabelledChapters(each.name, each.session, _without_small_talk(each.labels))
        for each in read_set(chosen)
    ]


class _QuotedChapter(Struct, frozen=True):
    name: str
    spans: list[tuple[int, int]]


class _QuotedChapters(Struct, frozen=True):
    chapters: list[_QuotedChapter] = []


def _quoted(folder: Path) -> list[LabelledChapters]:
    """Returns the sessions whose labels have spans of chapters, counted from 0."""
    found: list[LabelledChapters] = []
    for path in sorted(folder.glob("*.labels.json")):
        labels = msgspec.json.decode(path.read_bytes(), type=_QuotedChapters)
        spans = {span: each.name for each in labels.chapters for span in each.spans}
        chapters = [spans[each] for each in sorted(spans) for _ in range(each[0], each[1] + 1)]
        name = path.name.removesuffix(".labels.json")
        session = read_session(path.with_name(f"{name}.jsonl"))
        if len(chapters) == len(set(session.numbers)):
            found.append(LabelledChapters(name, session, chapters))
    return found


def _without_small_talk(labels: Labels) -> list[str]:
    found: list[str] = []
    for turn in labels.turns:
        is_talk = turn.status == "noise" and found
        found.append(found[-1] if is_talk else turn.topic)
    return found


def sapwood_chapters(each: LabelledChapters) -> list[str]:
    """Returns the chapter that Sapwood finds for each turn."""
    names = chapters_of(each.session, FeatureCounter()).names_by_turn()
    return [names[turn] for turn in sorted(names)]


def one_chapter(each: LabelledChapters) -> list[str]:
    """The rule 'one chapter'."""
    return [""] * len(each.chapters)


def every_fourth_turn(each: LabelledChapters) -> list[str]:
    """The rule 'every fourth turn'."""
    return [str(index // 4) for index in range(len(each.chapters))]


def score_of(
    labelled: Sequence[LabelledChapters], find: Callable[[LabelledChapters], list[str]]
) -> BorderScore:
    """Returns the means of the scores of the sessions."""
    scores = [_score(each.chapters, find(each)) for each in labelled]
    count = len(scores)
    return BorderScore(
        sum(each.pk for each in scores) / count,
        sum(each.window_diff for each in scores) / count,
        sum(each.together for each in scores) / count,
    )


def _score(wanted: Sequence[str], found: Sequence[str]) -> BorderScore:
    ours, theirs = _borders(found), _borders(wanted)
    size = max(_FEWEST_WINDOW, round(len(wanted) / (sum(theirs) + 1) / 2))
    windows = [slice(start + 1, start + size + 1) for start in range(len(wanted) - size)]
    counts = [(sum(ours[each]), sum(theirs[each])) for each in windows]
    return BorderScore(
        sum(bool(one) != bool(other) for one, other in counts) / len(counts),
        sum(one != other for one, other in counts) / len(counts),
        _together(wanted, found),
    )


def _borders(chapters: Sequence[str]) -> list[bool]:
    return [index > 0 and chapter != chapters[index - 1] for index, chapter in enumerate(chapters)]


def _together(wanted: Sequence[str], found: Sequence[str]) -> float:
    """Returns the B-cubed F1 of two groupings of the same turns."""
    places = range(len(wanted))
    precision = recall = 0.0
    for place in places:
        ours = {each for each in places if found[each] == found[place]}
        theirs = {each for each in places if wanted[each] == wanted[place]}
        precision += len(ours & theirs) / len(ours)
        recall += len(ours & theirs) / len(theirs)
    return 2 * precision * recall / (precision + recall) / len(wanted)


def print_row(name: str, score: BorderScore) -> None:
    """Prints one row of the table."""
    print(f"{name:<30}{score.pk:>8.2f}{score.window_diff:>9.2f}{score.together:>10.2f}")


def print_names(labelled: Sequence[LabelledChapters]) -> None:
    """Prints the names of the chapters, for a person to judge."""
    for each in labelled:
        report = chapters_of(each.session, FeatureCounter())
        print(f"  {each.name}")
        for chapter in report.chapters:
            wanted = each.chapters[chapter.spans[0][0] - 1]
            print(f"    {chapter.name:<50} labelled {wanted}")
