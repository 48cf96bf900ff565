"""Turns that answer no question: ordinary talk of the same conversations, generated.

Their words are those of the facts (tests, files, prices, dates), so that a search for one common
word finds many turns. The choice depends on the name of the conversation only.
"""

import random
import tomllib
from functools import cache
from pathlib import Path


def filler_turns(language: str, seed: str, count: int) -> list[tuple[str, str]]:
    """Prompts and replies without facts, always the same for the same seed."""
    chance = random.Random(seed)
    table = _templates()[language]
    turns: list[tuple[str, str]] = []
    for _ in range(count):
        words = {
            "thing": chance.choice(table["things"]),
            "day": chance.choice(table["days"]),
            "who": chance.choice(table["people"]),
            "n": str(chance.randint(2, 40)),
        }
        prompt, reply = (
            chance.choice(table[kind]).format(**words) for kind in ("prompts", "replies")
        )
        turns.append((prompt, reply))
    return turns


@cache
def _templates() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_name("filler.toml").read_text())
