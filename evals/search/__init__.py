"""The eval of search: how often the turn that answers a question is first, or among the first ten.

Every half is a space of its own, in which all its conversations are searched at once. For
comparison there are two tables of SQLite's FTS5 with one row for each turn: one finds turns with
any of the words, ranked by bm25, the other turns with all of them. With the extra `meaning`, there
is a row for the search with it and one for that without, and the share of nonsense queries for
which nothing was found, as it should be. `--tuned` leaves the held-out half out: use it while you
change the ranking, so that the other half stays a test.
"""

import asyncio
import random
import re
import sqlite3
import string
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from msgspec import Struct

from evals.search.questions import HALVES, SearchConversation, read_half
from sapwood import meaning
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import HUMAN, Event, Recorded, ReplyAdded, ToolFinished, TurnStarted
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt
from sapwood.store.sqlite import SqliteLog

_SPACE = Space("eval")
_START, _TURN_MICROSECONDS = 1_767_225_600_000_000, 3_600_000_000

Place = tuple[str, int]
"""A conversation, and the number of a turn in it."""


class Question(Struct, frozen=True):
    """A question and the place of its answer."""

    words: str
    language: str
    answer: Place


class Recall(Struct, frozen=True):
    """The shares of questions whose answer was first, and among the first ten."""

    at_1: float
    at_10: float


WANTED, WANTED_BY_MEANING = Recall(0.55, 0.85), Recall(0.55, 0.92)
LIMITS = {"tuned": Recall(0.70, 0.78), "held_out": Recall(0.55, 0.66)}
LIMITS_BY_MEANING = {"tuned": Recall(0.72, 0.86), "held_out": Recall(0.62, 0.75)}
"""Below these the eval fails. What is wanted among the first ten is not reached: many of the
questions share no word with their answers."""


_SILENT = 0.9
"""The least share of nonsense queries for which search by meaning finds nothing."""
_NONSENSE = 100
_ANYWHERE: Place = "", 0


def main(argv: list[str]) -> int:
    """Prints recall of Sapwood and of plain FTS5, for both halves. Returns 1 below a limit."""
    print(f"{'':<34}{'at 1':>8}{'at 10':>8}")
    is_short = False
    for half in HALVES[:1] if "--tuned" in argv else HALVES:
        conversations = read_half(half)
        asked = questions_of(conversations)
        with patch.object(meaning, "extra_installed", lambda: False):
            ours = asyncio.run(_sapwood_ranks(conversations, asked))
        _print(f"{half} ({len(asked)}), sapwood", recall_of(ours))
        is_short |= _is_below(recall_of(ours), LIMITS[half])
        if meaning.extra_installed():
            found = asyncio.run(_sapwood_ranks(conversations, _nonsense(half)))
            silent = found.count(0) / len(found)
            print(f"{half}, nonsense, nothing found {silent:>10.2f}")
            is_short |= silent < _SILENT
            ours = asyncio.run(_sapwood_ranks(conversations, asked))
            _print(f"{half}, sapwood[meaning]", recall_of(ours))
            is_short |= _is_below(recall_of(ours), LIMITS_BY_MEANING[half])
        for name, joined in (("FTS5, any word", " OR "), ("FTS5, all words", " AND ")):
            _print(f"{half}, {name}", recall_of(_fts5_ranks(conversations, asked, joined)))
        if half == "tuned":
            _print_languages(asked, ours)
        if "--misses" in argv and half == "tuned":
            _print_misses(asked, ours)
    _print("wanted", WANTED)
    if meaning.extra_installed():
        _print("wanted, sapwood[meaning]", WANTED_BY_MEANING)
    else:
        print("The extra 'meaning' is not installed, so search by meaning was not tried.")
    return int(is_short)


def _is_below(found: Recall, limits: Recall) -> bool:
    return found.at_1 < limits.at_1 or found.at_10 < limits.at_10


def questions_of(conversations: Sequence[SearchConversation]) -> list[Question]:
    """All questions with the places of their answers."""
    return [
        Question(words, each.language, (each.name, number))
        for each in conversations
        for number, turn in enumerate(each.turns)
        for words in turn.questions
    ]


def _nonsense(half: str) -> list[Question]:
    """Queries of letters by chance, others for each half."""
    chance = random.Random(half)
    return [
        Question(
            " ".join(
                "".join(chance.choices(string.ascii_lowercase, k=chance.randint(5, 9)))
                for _ in range(chance.randint(1, 4))
            ),
            "",
            _ANYWHERE,
        )
        for _ in range(_NONSENSE)
    ]


def recall_of(ranks: Sequence[int]) -> Recall:
    """The recall of answers at these ranks; 0 is an answer that was not found."""
    total = len(ranks)
    at_1 = sum(rank == 1 for rank in ranks)
    return Recall(at_1 / total, sum(1 <= rank <= 10 for rank in ranks) / total)


def _rank(found: Sequence[Place], answer: Place) -> int:
    places = list(dict.fromkeys(found))
    if answer == _ANYWHERE:
        return int(bool(places))
    return places.index(answer) + 1 if answer in places else 0


async def _sapwood_ranks(
    conversations: Sequence[SearchConversation], asked: Sequence[Question]
) -> list[int]:
    with TemporaryDirectory() as folder:
        log = await SqliteLog.open(Path(folder) / "eval.db")
        turns: dict[tuple[str, int], Place] = {}
        for each in conversations:
            events = _events(each, turns)
            await _store(log, each.name, events)
        ranks: list[int] = []
        for question in asked:
            hits = await log.search(_SPACE, question.words, limit=40)
            found = [turns[hit.ref.agent, hit.ref.version] for hit in hits]
            ranks.append(_rank(found, question.answer))
        await log.close()
    return ranks


def _events(each: SearchConversation, turns: dict[tuple[str, int], Place]) -> list[Event]:
    """The events of a conversation; adds the turn of each event to `turns`."""
    events: list[Event] = []
    for number, turn in enumerate(each.turns):
        added: list[Event] = [TurnStarted(None, (Text(turn.prompt),))]
        if turn.result:
            call = ToolCall("1", "shell", '{"command": "make log"}')
            added += [ReplyAdded((call,)), ToolFinished("1", turn.result)]
        added.append(ReplyAdded((Text(turn.reply),)))
        for event in added:
            events.append(event)
            turns[each.name, len(events)] = (each.name, number)
    return events


async def _store(log: SqliteLog, name: str, events: list[Event]) -> None:
    agent, command = AgentId(name), CommandId(f"eval-{name}")
    recorded = tuple(
        Recorded(agent, version, event, _START + version * _TURN_MICROSECONDS, HUMAN, command)
        for version, event in enumerate(events, start=1)
    )
    facts = AgentSummary(agent, len(events), name=name)
    refs = tuple(each.ref for each in recorded)
    await log.commit(
        _SPACE, Commit((Append(agent, 0, recorded, facts),), Receipt(command, "", refs))
    )


def _fts5_ranks(
    conversations: Sequence[SearchConversation], asked: Sequence[Question], joined: str
) -> list[int]:
    places = [(each.name, number) for each in conversations for number in range(len(each.turns))]
    texts = [
        "\n".join((turn.prompt, turn.result, turn.reply))
        for each in conversations
        for turn in each.turns
    ]
    with closing(sqlite3.connect(":memory:")) as on:
        on.execute("CREATE VIRTUAL TABLE turns USING fts5(text)")
        on.executemany("INSERT INTO turns (rowid, text) VALUES (?, ?)", enumerate(texts))
        return [
            _rank(_fts5(on, each.words, joined, places.__getitem__), each.answer) for each in asked
        ]


def _fts5(
    on: sqlite3.Connection, words: str, joined: str, place: Callable[[int], Place]
) -> list[Place]:
    query = joined.join(f'"{word}"' for word in re.findall(r"\w+", words))
    rows = on.execute(
        "SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT 40", (query,)
    )
    return [place(number) for (number,) in rows]


def _print(name: str, recall: Recall) -> None:
    print(f"{name:<34}{recall.at_1:>8.2f}{recall.at_10:>8.2f}")


def _print_languages(asked: Sequence[Question], ranks: Sequence[int]) -> None:
    for language in sorted(Counter(each.language for each in asked)):
        chosen = [
            rank for each, rank in zip(asked, ranks, strict=True) if each.language == language
        ]
        _print(f"    {language} ({len(chosen)})", recall_of(chosen))


def _print_misses(asked: Sequence[Question], ranks: Sequence[int]) -> None:
    for each, rank in zip(asked, ranks, strict=True):
        if rank != 1:
            print(f"{rank or '-':>4}  {each.answer[0]}/{each.answer[1]}  {each.words}")
