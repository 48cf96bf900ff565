"""Sessions of every kind of row, in random order, changed at random: each request is the view.

The program itself makes a session of pieces from `row_kinds`. Then Sapwood trims, rewinds, undoes
or forks it, the program goes on, and what its model got is compared with what Sapwood shows. After
an undo the former request must be the beginning of the new one, part for part. A seed gives the
same session each time: `--act generated --seed 7 --sessions 1`.
"""

import asyncio
import json
import random
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast  # requests are JSON

import msgspec

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.home import Home
from proofs.providers_e2e.act_checks import ActChecks
from proofs.providers_e2e.row_kinds import (
    Talk,
    add_piece,
    kinds_of,
    open_session,
    prepare_project,
)
from proofs.providers_e2e.sent_history import history_in
from proofs.providers_e2e.temporary_home import temporary_home
from sapwood.app.connection import connect
from sapwood.core.ids import AgentId
from sapwood.core.view import view
from sapwood.imports.importer import Importer
from sapwood.programs.registry import program as program_named
from sapwood.programs.transcripts.discovery import discover
from scripted_model import ScriptedModel

_WORD = re.compile(r"WORD\d+[a-z]")
_QUOTED = "[Messages from before, kept as they were]"
_ROUNDS = 2
_REMINDER, _QUEUED = "<system-reminder>", "The user sent a new message"
"""A program gives a prompt that was typed during a turn to the model as a reminder."""


def run_generated(program: str, checks: ActChecks, sessions: int, seed: int = 0) -> None:
    """Makes and changes this many sessions of a program."""
    checks.begin(program, f"{sessions} generated sessions: every request is what Sapwood shows")
    with temporary_home() as (home, model):
        prepare_project(home)
        for number in range(seed, seed + sessions):
            story = _Story(program, home, model, random.Random(f"{program} {number}"))
            started = time.monotonic()
            try:
                problems = story.run()
            except ProofError as error:
                problems = [f"{error}"]
            told = f"seed {number}: {story.told} ({time.monotonic() - started:.1f} s)"
            checks.expect(told, not problems, "\n".join(problems))
        checks.expect("the model refused nothing", not model.rejections, model.rejections)


def run_every_kind(program: str, checks: ActChecks) -> None:
    """One session with every kind of row but a compaction, changed like the generated ones."""
    checks.begin(program, "A session with every kind of row: clear, rewind, fork and undo")
    pieces = [name for name in kinds_of(program) if name != "compaction"]
    with temporary_home() as (home, model):
        prepare_project(home)
        story = _Story(program, home, model, random.Random(program), pieces)
        try:
            problems = story.run()
        except ProofError as error:
            problems = [f"{error}"]
        checks.expect(story.told, not problems, "\n".join(problems))
        checks.expect("the model refused nothing", not model.rejections, model.rejections)


class _Story:
    """One session: how it was made, what was done to it, and what did not fit.

    Its pieces are random, unless `pieces` names them.
    """

    def __init__(
        self,
        program: str,
        home: Home,
        model: ScriptedModel,
        chance: random.Random,
        pieces: Sequence[str] = (),
    ) -> None:
        self._pieces = list(pieces)
        self._program = program
        self._home = home
        self._model = model
        self._chance = chance
        self._number = 0
        self._problems: list[str] = []
        self._session = ""
        self.told = ""

    def run(self) -> list[str]:
        """Makes the session, changes it, and returns what did not fit."""
        half = len(self._pieces) // 2
        self._extend(self._pieces[:half] or self._random_pieces())
        self._sapwood("mark", "HALF")
        self._extend(self._pieces[half:] or self._random_pieces(), probe=True)
        former = self._compare("as it was made")
        for _ in range(_ROUNDS):
            former = self._change(former)
        return self._problems

    def _random_pieces(self) -> list[str]:
        chosen = self._chance.choices(kinds_of(self._program), k=self._chance.randint(2, 4))
        before = self.told.rstrip().rpartition(" ")[2] or "compaction"
        for place, name in enumerate(chosen):
            if name == before == "compaction":  # pi refuses one of nothing new; others write one
                chosen[place] = "plain"
            before = chosen[place]
        return chosen

    def _extend(self, names: Sequence[str], *, probe: bool = False) -> None:
        with self._open() as talk:
            for name in names:
                self._number += 1
                self.told += f"{name} "
                add_piece(talk, name, self._number)
            if probe or not self._session:
                self._probe(talk)
            self._session = talk.session

    def _open(self, session: str = "") -> Talk:
        return open_session(self._home, self._program, session or self._session)

    def _probe(self, talk: Talk) -> None:
        self._number += 1
        talk.say(f"WORD{self._number}p [[say: WORD{self._number}a]]")

    def _change(self, former: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Changes the session. Returns the history of its last request."""
        count = self._chance.randint(1, 3)
        act = self._chance.choice([("clear", str(count)), ("rewind", "HALF"), ("fork",)])
        self.told += f"| {' '.join(act)} "
        if act[0] == "fork":
            self._fork()
            return former
        told = self._sapwood(*act)
        self._go_on(f"after {' '.join(act)}")
        if told.startswith("Nothing"):
            return self._requested()
        self.told += "| undo "
        self._sapwood("undo")
        self._go_on("after undo")
        self._expect_former(former, self._requested()[: len(former)], " ".join(act))
        return self._requested()

    def _expect_former(
        self, former: list[dict[str, Any]], again: list[dict[str, Any]], act: str
    ) -> None:
        pairs = zip_longest(former, again)
        for place, (was, now) in enumerate(pairs):
            if was != now:
                self._problems.append(
                    f"undo of {act}: part {place} was {_short(was)}, and is {_short(now)}"
                )
                return

    def _fork(self) -> None:
        told = json.loads(self._sapwood("fork", "--json"))
        view = asyncio.run(self._view_of(told["child"]))
        with self._open(told["session"]) as talk:
            self._probe(talk)
        self._expect("in a fork", [*view, f"WORD{self._number}p", f"WORD{self._number}a"])

    def _go_on(self, when: str) -> None:
        with self._open(self._session) as talk:
            self._probe(talk)
        self._compare(when)

    def _compare(self, when: str) -> list[dict[str, Any]]:
        """Compares the last request, and its answer, with what Sapwood shows."""
        self._expect(when, asyncio.run(self._view_of("")))
        return self._requested()

    def _expect(self, when: str, words: list[str]) -> None:
        view, body = _collapsed(words), self._last_body()
        sent = _collapsed([*_request_words(body), f"WORD{self._number}a"])
        if sent != view:
            self._problems.append(f"{when}:\n  sent  {' '.join(sent)}\n  shown {' '.join(view)}")

    async def _view_of(self, agent: str) -> list[str]:
        """The words of an agent's view; by default after the session was imported as it is now."""
        connection = await connect(str(self._home.data / "sapwood.db"))
        importer = Importer(connection, idle_seconds=-1)
        try:
            if not agent:
                agent = (await importer.bring(self._file(), self._program)).agent
            opened = await connection.dispatcher.open(AgentId(agent))
            messages = view(opened.state, opened.live).messages
            parts = [msgspec.json.encode(part).decode() for each in messages for part in each.parts]
            return [word for part in parts for word in _part_words(part)]
        finally:
            await importer.close()
            await connection.close()

    def _file(self) -> Path:
        home = program_named(self._program).home(self._home.environ)
        found = discover({self._program: home})
        return next(each.path for each in found if each.id == self._session)

    def _last_body(self) -> dict[str, Any]:
        """The last request that asks the newest probe."""
        wanted = f"WORD{self._number}p"
        for each in reversed(self._model.requests):
            body = cast("dict[str, Any]", each.body or {})
            if wanted in _request_words(body)[-1:]:
                return body
        raise ProofError(f"the model got no request that ends with {wanted}")

    def _requested(self) -> list[dict[str, Any]]:
        """The history in the last request, without the probe at its end."""
        return history_in(self._last_body())[:-1]

    def _sapwood(self, name: str, *words: str) -> str:
        return self._home_sapwood(name, *words, "--session", self._session)

    def _home_sapwood(self, *words: str) -> str:
        ran = self._home.sapwood(*words)
        if ran.returncode:
            raise ProofError(f"sapwood {' '.join(words)}: {ran.stdout}{ran.stderr}")
        if "Warning" in ran.stdout:
            self._problems.append(ran.stdout)
        return ran.stdout


def _request_words(body: dict[str, Any]) -> list[str]:
    """The first word of each part of a request, without what the program announces itself."""
    messages: list[dict[str, Any]] = body.get("messages") or body.get("input") or []
    found: list[str] = []
    for message in messages:
        if message.get("type") == "reasoning":
            continue  # it is encrypted
        content: Any = message.get("content")
        listed = cast("list[Any]", content) if isinstance(content, list) else None
        parts = listed or [content or message]
        own = message.get("role") in ("system", "developer")
        texts = [_text(part) for part in parts]
        texts = [text for text in texts if _QUEUED in text or not (own or _is_reminder(text))]
        found += [word for text in texts for word in _part_words(text)]
    return found


def _is_reminder(text: str) -> bool:
    return text.startswith(_REMINDER) or f'"text": "{_REMINDER}' in text


def _part_words(text: str) -> Iterator[str]:
    """The first word of a part; of each quoted message if it quotes some."""
    front, _, quoted = text.partition(_QUOTED)
    for piece in (front, *quoted.split("\\n\\n")):
        yield from _WORD.findall(piece)[:1]


def _collapsed(words: Iterable[str]) -> list[str]:
    """The words without repetitions next to one another.

    Results of parallel calls are in the order in which they came, or in that of their calls.
    """
    found: list[str] = []
    for word in words:
        if found and found[-1].endswith("s") and word == f"{found[-1][:-1]}r":
            found.insert(len(found) - 1, word)
        elif not found or word != found[-1]:
            found.append(word)
    return found


def _text(part: object) -> str:
    return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)


def _short(part: object) -> str:
    return _text(part)[:160]
