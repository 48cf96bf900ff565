"""The canonical hash of a request: the same bytes for the same request, and for no other."""

import hashlib
import json
import os
import subprocess
import sys

from hypothesis import given

from proofs.histories import Operation, histories, next_steps
from sapwood.core.commands import AddPin, Clear, Undo
from sapwood.core.ids import AgentId
from sapwood.core.view.request import digest
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does, opens
from tests.core.view.requests import CALL, RESULT, model, request, user

SAMPLE = request(user("Why? 数据 🌳"), model("Let me look.", CALL), user(RESULT))


def test_the_hash_is_that_of_the_canonical_json() -> None:
    canonical = {
        "model": "scripted",
        "system": [],
        "messages": [
            {"role": "user", "parts": [{"type": "text", "text": "Why? 数据 🌳"}]},
            {
                "role": "assistant",
                "parts": [
                    {"type": "text", "text": "Let me look."},
                    {"type": "call", "id": "1", "name": "read", "args": "{}"},
                ],
            },
            {
                "role": "user",
                "parts": [{"type": "result", "call": "1", "name": "read", "content": "found"}],
            },
        ],
    }
    text = json.dumps(canonical, ensure_ascii=False, separators=(",", ":"))
    assert digest(SAMPLE) == hashlib.sha256(text.encode()).hexdigest()


def test_the_hash_never_changes() -> None:
    known = "e5090bf91e0c533ebdd6b39b1ffe7b42289a41b639626d8bdf8b86f1fd13e02a"
    assert digest(SAMPLE) == known, "calls that are stored could not be checked any more"


def test_another_process_finds_the_same_hash() -> None:
    program = (
        "from tests.core.view.test_manifest import SAMPLE, digest; print(digest(SAMPLE), end='')"
    )
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == digest(SAMPLE)


def test_any_difference_shows() -> None:
    others = (
        request(user("Why? 数据 🌳 "), model("Let me look.", CALL), user(RESULT)),
        request(user("Why?", "数据 🌳"), model("Let me look.", CALL), user(RESULT)),
        request(user("Why? 数据 🌳"), model("Let me look.", CALL), user(RESULT), model("x")),
    )
    assert len({digest(SAMPLE), *map(digest, others)}) == 4


def test_what_is_brought_back_has_the_hash_it_had() -> None:
    world, agent = conversation(3)
    before = digest(world.request(agent))
    does(world, Clear(agent))
    assert digest(world.request(agent)) != before
    does(world, Undo(agent))
    assert digest(world.request(agent)) == before


def test_a_past_request_is_rebuilt_from_the_log_alone() -> None:
    world, agent = conversation(2)
    opens(world, agent, "ask 3")
    version, before = len(world.logs[agent]), world.request(agent)
    does(world, AddPin(agent, "rule", "x"))
    assert world.request_at(agent, version) == before


@given(histories())
def test_every_moment_of_every_history_can_be_rebuilt(operations: list[Operation]) -> None:
    world = CoreHarness()
    world.start()
    seen: list[tuple[AgentId, int, str]] = []
    for operation in operations:
        for step in next_steps(world, operation):
            world.do(step.command, step.actor, step.call)
            agent = step.command.agent
            if agent in world.logs:
                seen.append((agent, len(world.logs[agent]), digest(world.request(agent))))
    for agent, version, hash_ in seen[:: 1 + len(seen) // 20]:
        assert digest(world.request_at(agent, version)) == hash_
