"""The ledger baseline: counting keywords, printed beside Sapwood's figures."""

import re
from collections.abc import Iterator

from sapwood.analysis.ledger.entries import (
    CommandRun,
    Decision,
    Failing,
    FileTouched,
    Ledger,
    Speaker,
    TouchedFiles,
)
from sapwood.analysis.session import Session
from sapwood.core.content import Text
from sapwood.core.turn import Reply, Result, Turn

_PATH = re.compile(r"[\w./-]*\w\.(?:[a-z]{1,5})\b")
_COMMAND = re.compile(r'"(?:command|cmd)": ?"((?:[^"\\]|\\.)*)"')
_FAILED = re.compile(r"error|fail", re.I)
_DECIDED = re.compile(r"\b(?:use|decide|decided|instead|let's|go with)\b", re.I)
_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n+")


def keyword_ledger(session: Session) -> Ledger:
    """Returns a ledger that is found by keywords only."""
    changed: dict[str, None] = {}
    runs: list[CommandRun] = []
    decisions: list[Decision] = []
    for number, turn in enumerate(session.turns, 1):
        results = {item.call: item for item in turn.items if isinstance(item, Result)}
        for call in turn.calls.values():
            changed.update(dict.fromkeys(_PATH.findall(call.args)))
            result = results.get(call.id)
            failed = result is not None and bool(_FAILED.search(result.content))
            runs += [
                CommandRun(command, "failed" if failed else "ok", None, number)
                for command in _COMMAND.findall(call.args)
            ]
        for speaker, sentence in _sentences(turn):
            if _DECIDED.search(sentence):
                decisions.append(Decision(sentence, number, speaker))
    folder = session.folder + "/"
    return Ledger(
        TouchedFiles(changed=tuple(FileTouched(path.removeprefix(folder)) for path in changed)),
        tuple(runs),
        failing=tuple(Failing(r.command, r.turn) for r in runs if r.outcome == "failed"),
        decisions=tuple(decisions),
        last_request=session.last_request,
    )


def _sentences(turn: Turn) -> Iterator[tuple[Speaker, str]]:
    for part in turn.prompt:
        for sentence in _SENTENCE.split(part.text):
            yield "user", sentence.strip()
    for item in turn.items:
        if isinstance(item, Reply):
            for part in item.parts:
                if isinstance(part, Text):
                    for sentence in _SENTENCE.split(part.text):
                        yield "model", sentence.strip()
