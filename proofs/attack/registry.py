"""The list of attacks. Each is a function that raises `Broken` when the attack succeeds."""

from collections.abc import Callable
from dataclasses import dataclass

from proofs.attack.victim import Victim


class Broken(AssertionError):
    """An attack succeeded."""


@dataclass(frozen=True)
class Attack:
    """One attack, with the number that documentation and tests use for it."""

    id: str
    sentence: str
    run: Callable[[Victim], None]


ATTACKS: list[Attack] = []


def attack(id: str, sentence: str) -> Callable[[Callable[[Victim], None]], None]:
    """Adds a function to the list of attacks."""

    def add(run: Callable[[Victim], None]) -> None:
        ATTACKS.append(Attack(id, sentence, run))

    return add


def held(condition: bool, otherwise: str) -> None:
    """Raises `Broken` with a sentence when a condition does not hold."""
    if not condition:
        raise Broken(otherwise)
