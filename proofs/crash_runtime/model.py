"""The scripted model of the team: answers each round with some delay and numbers its answers."""

import random
import threading
from collections import Counter
from pathlib import Path

from proofs.crash_runtime.rounds import Key, key_of
from scripted_model import ModelRequest, Reply, ScriptedModel

_MAX_SECONDS = 0.12
"""The longest delay before an answer, and the longest pause within one, in seconds."""


def scripted_team(ledger: Path, chance: random.Random) -> ScriptedModel:
    """A model that answers rounds. Each answer to a request has its number."""
    tries: Counter[Key] = Counter()
    lock = threading.Lock()
    server = ScriptedModel()

    def answer(asked: ModelRequest) -> Reply | None:
        found = key_of(asked.body)
        if found is None:
            return None
        round_, key = found
        with lock:
            tries[key] += 1
            number = tries[key]
            sleep, stall = chance.uniform(0, _MAX_SECONDS), chance.uniform(0, _MAX_SECONDS)
        calls = round_.steps(str(ledger))[key.step]
        return Reply.of(answer_of(key, number), *calls, sleep=sleep, stall=stall)

    server.script(answer)
    return server


def answer_of(key: Key, number: int) -> str:
    """The text of the answer with this number to a request."""
    return f"Step {key}, answer {number}."
