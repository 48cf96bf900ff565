"""Changes a scratch session of a real program, and compares what the program then sends.

Turns and a rewind while the program runs, then a trim and the undo of it at rest, then a resume.
Each request must have exactly the expected prompts and answers. The last change brings turns back
that the trim had removed, and removes the one that it had kept, so that one resume tests both: a
start of the program is what a probe costs. The session keeps its id, and its files are only
appended to.
"""

import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from sapwood.core.content import Text
from sapwood.core.ids import AgentId
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.turn import Turn
from sapwood.core.view.request import Message
from sapwood.programs.agent_provider import (
    AgentProvider,
    History,
    HistoryTurn,
    ProviderAnswer,
    ProviderOptions,
    ProviderQuestion,
    TurnEnd,
)
from sapwood.programs.probe.model_server import ModelServer

_MAX_FILES = 100


class NotProved(Exception):
    """The program did something else than expected. The message is a clause that says what."""


class SessionTest:
    """One scratch session. `home` contains all files of the program."""

    def __init__(self, provider: AgentProvider, model: ModelServer, home: Path, work: Path) -> None:
        self._provider = provider
        self._model = model
        self._home = home
        self._options = ProviderOptions(str(work))
        self._nonce = secrets.token_hex(6)
        self._rows: dict[int, NativeRows] = {}
        self._session: ProgramSession | None = None
        self.step = "at the start"
        """Where the test is, for the message about a program that does not answer."""

    async def run(self) -> None:
        """Raises `NotProved`, and what the provider raises."""
        await self._turns("in a new session", [1, 2], new=2)
        await self._change("a rewind", [1], at_rest=False)
        await self._turns("after a rewind", [1, 3, 4], new=2)
        await self._change("a trim", [3], at_rest=True)
        await self._change("an undo", [1, 4], at_rest=True)
        await self._turns("after a trim and an undo", [1, 4, 5], new=1)

    async def _turns(self, when: str, turns: Sequence[int], *, new: int) -> None:
        """Runs the last `new` turns, and compares the request of each."""
        self.step = when
        self._session = await self._provider.start(self._options, self._session)
        for end in range(len(turns) - new, len(turns)):
            await self._turn(when, turns[end], turns[: end + 1])

    async def _turn(self, when: str, number: int, expected: Sequence[int]) -> None:
        session = self._require_session()
        before = len(self._model.requests)
        self._model.answer = self._word("ANSWER", number)
        end: TurnEnd | None = None
        prompt = (Text(self._word("PROMPT", number)),)
        async for event in self._provider.send(session, prompt, f"probe:{number}"):
            if isinstance(event, ProviderQuestion):  # the model calls no tool
                await self._provider.answer(session, event.question, ProviderAnswer(False))
            end = event if isinstance(event, TurnEnd) else end
        self._compare(when, number, expected, before)
        if end is None or end.status != "completed" or end.rows is None:
            reason = end.reason if end and end.reason else "its rows were not found"
            raise NotProved(f"{when}, a turn did not end as expected ({reason})")
        if end.difference:
            raise NotProved(f"{when}, a check of the transcript failed ({end.difference})")
        self._rows[number] = end.rows

    def _compare(self, when: str, number: int, expected: Sequence[int], before: int) -> None:
        own = self._word("PROMPT", number)
        sent = [words for body in self._model.requests[before:] if own in (words := self._in(body))]
        if not sent:
            raise NotProved(f"{when}, the program sent no request with the new prompt")
        wanted = [self._word(kind, each) for each in expected for kind in ("PROMPT", "ANSWER")][:-1]
        for words in sent:
            if words != wanted:
                raise NotProved(
                    f"{when}, the request had {self._named(words)} where {self._named(wanted)} "
                    "were expected"
                )

    async def _change(self, what: str, turns: Sequence[int], *, at_rest: bool) -> None:
        session = self._require_session()
        self.step = f"during {what}"
        if at_rest:
            await self._provider.close(session)
        before = self._transcripts()
        synced = await self._provider.sync_session(session, self._history(turns), self._options)
        if synced.session.id != session.id or synced.by == "new_session":
            raise NotProved(f"{what} led to a new session")
        if synced.by == "nothing" or synced.difference:
            raise NotProved(f"{what} had no effect ({synced.difference or 'nothing changed'})")
        after = self._transcripts()
        if any(not after.get(path, b"").startswith(content) for path, content in before.items()):
            raise NotProved(f"{what} rewrote a file instead of appending to it")
        self._session = synced.session

    def _history(self, turns: Sequence[int]) -> History:
        found: list[HistoryTurn] = []
        for number in turns:
            prompt = Text(self._word("PROMPT", number))
            answer = Text(self._word("ANSWER", number))
            messages = (Message("user", (prompt,)), Message("assistant", (answer,)))
            turn = Turn(AgentId("probe"), number, None, (prompt,))
            found.append(HistoryTurn(turn, self._rows[number], messages))
        return History(tuple(found))

    def _require_session(self) -> ProgramSession:
        if self._session is None:
            raise NotProved("the program has no session")
        return self._session

    def _transcripts(self) -> dict[str, bytes]:
        """The files with rows. The program may remove others meanwhile, which does not matter."""
        found: dict[str, bytes] = {}
        for folder, _, names in os.walk(self._home):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(".jsonl") and os.path.isfile(path) and len(found) < _MAX_FILES:
                    with suppress(FileNotFoundError), open(path, "rb") as file:
                        found[path] = file.read()
        return found

    def _word(self, kind: str, number: int) -> str:
        return f"{kind}-{number}-{self._nonce}"

    def _in(self, body: dict[str, object]) -> list[str]:
        """The prompts and answers in a request, in order."""
        history = msgspec.json.encode(body.get("messages", body.get("input"))).decode()
        return re.findall(rf"(?:PROMPT|ANSWER)-\d+-{self._nonce}", history)

    def _named(self, words: Sequence[str]) -> str:
        names = [word.rpartition("-")[0].lower().replace("-", " ") for word in words]
        return ", ".join(names[:20]) or "nothing"
