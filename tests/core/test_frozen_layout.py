"""What is stored stays readable: released events for ever, snapshots as long as their schema.

`python -m tests.core.test_frozen_layout` appends examples of new kinds and new fields to the
fixture. Lines that were released are never changed or taken out.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sapwood.core.events import HUMAN, Event, Recorded
from sapwood.core.events.codec import Encoded, decode, encode
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.state import State
from sapwood.turns.open_agent import SCHEMA
from tests.core.events.examples import EXAMPLES, NAMES

EVENTS = Path(__file__).parent / "fixtures" / "events_v1.jsonl"
LINES = EVENTS.read_text(encoding="utf-8").splitlines() if EVENTS.exists() else []

# The layout of `State` under each `SCHEMA`; from 39 on also what evolve makes of the examples. A
# new layout gets a new line, never an edited one once a release has written snapshots with it.
STATES = {
    "1": "f0a6a23695ea0238",
    "2": "3c1c7f3c5d58e421",
    "3": "72b6f942477e50fc",
    "4": "8dc6b18741568633",
    "5": "2b8203e5771ffc40",
    "6": "8874ff80f4b835f6",
    "7": "0c206bd79e361e41",
    "8": "6913a5c758b6bb69",
    "9": "81d3b18b8f378bbb",
    "10": "51b34a4d8a4d0ce1",
    "11": "6021d5f293e912f1",
    "12": "c5cfc908d79181f5",
    "13": "4077c7438429bf21",
    "14": "133ed408b200f9c0",
    "15": "c335c57d2b83c4b8",
    "16": "2455be1d225a756c",
    "17": "87a84ef1769385b1",
    "18": "ed0ddc71dd765006",
    "19": "a60ad274f4a79aba",
    "20": "1206ca6da73d0740",
    "21": "0625e1a1fbb4aea6",
    "22": "5874ba88d5f2c507",
    "23": "b2f933039cb1ae14",
    "24": "afad0d59e5a6a3d4",
    "25": "48640335efda479b",
    "26": "13d9bbcd076e62b8",
    "27": "2e3807a57e61ed3a",
    "28": "cee8653e4f894434",
    "29": "7185389cec15f085",
    "30": "2b0a825eb9ba3cab",
    "31": "72287f02f8bd9931",
    "32": "b57612f10c7a30e4",
    "33": "a7c20bc2546318d9",
    "34": "c1ec12e5aa5fd3fb",
    "35": "ac4268fa8dabe6c2",
    "36": "12e82b19193af4b6",
    "37": "cd2f9ab9282a7a41",
    "38": "a35e228636340f40",
    "39": "966bc9400c81c2d3",
}


def line_of(encoded: Encoded) -> str:
    """An encoded event as a line of the fixture."""
    return json.dumps(
        {"kind": encoded.kind, "data": encoded.data, "contents": dict(encoded.contents)},
        ensure_ascii=True,
    )


def layout_of_state() -> str:
    """A hash of every field, type and default that a snapshot holds, and of how it is made: of the
    states after each of the examples. A process that does not know a field of an event, or lets it
    change the state otherwise, would store another snapshot of the same events.
    """
    schema = without_words(msgspec.json.schema(State))
    layout = hashlib.sha256(msgspec.json.encode(schema, order="sorted"))
    state = State(AgentId("lead"))
    for version, event in enumerate(EXAMPLES, start=1):
        recorded = Recorded(state.agent, version, event, version, HUMAN, CommandId("k"))
        state = evolve(state, recorded)
        layout.update(msgspec.json.encode(state))
    return layout.hexdigest()[:16]


def without_words(schema: Any) -> Any:
    """The schema without docstrings, which may be improved."""
    match schema:
        case dict():
            return {
                key: without_words(value)
                for key, value in schema.items()  # pyright: ignore[reportUnknownVariableType]
                if key != "description" or not isinstance(value, str)
            }
        case list():
            return [without_words(item) for item in schema]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return schema


@pytest.mark.parametrize("line", LINES, ids=map(str, range(1, len(LINES) + 1)))
def test_a_stored_event_decodes_and_encodes_to_the_same_bytes(line: str) -> None:
    stored = json.loads(line)
    event = decode(stored["kind"], stored["data"], stored["contents"])
    assert line_of(encode(event)) == line


@pytest.mark.parametrize("event", EXAMPLES, ids=NAMES)
def test_every_example_is_in_the_fixture(event: Event) -> None:
    assert line_of(encode(event)) in LINES, "run `python -m tests.core.test_frozen_layout`"


def test_a_changed_state_has_a_new_schema() -> None:
    assert STATES.get(SCHEMA) == layout_of_state(), (
        "State has another layout than the snapshots that are stored, or evolve makes another one "
        "of the examples. Raise SCHEMA in turns/open_agent.py, unless it was raised since the last "
        f"release, and write it here with the hash {layout_of_state()!r}."
    )


def test_every_schema_had_one_layout() -> None:
    assert len(set(STATES.values())) == len(STATES)
    assert list(STATES)[-1] == SCHEMA


if __name__ == "__main__":
    known = list(dict.fromkeys([*LINES, *(line_of(encode(event)) for event in EXAMPLES)]))
    EVENTS.write_text("".join(f"{line}\n" for line in known), encoding="utf-8")
    sys.stdout.write(f"{len(known)} events, state {layout_of_state()}\n")
