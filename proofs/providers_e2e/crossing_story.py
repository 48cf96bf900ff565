"""A conversation that goes on in each other program, and one that delegates to it."""

import json

from proofs.providers_e2e.conversation import Conversation, turn
from proofs.providers_e2e.sent_history import history_in
from proofs.providers_e2e.temporary_home import PROGRAMS


def run_crossing(talk: Conversation) -> None:
    """Runs both stories, beginning with the program of this conversation."""
    talk.checks.begin(talk.program, "A conversation goes on in each other program and comes back")
    talk.path = [f"TURN{number}" for number in (1, 2, 3)]
    lines = [line for name in talk.path for line in (turn(talk.program, name), f"/mark {name}")]
    talk.start(lines)
    others = [name for name in PROGRAMS if name != talk.program]
    for other in others:
        _go_and_come_back(talk, other)
    talk.say(talk.probe())
    talk.expect_path("the first one stays as it was")
    _delegate(talk, others[0])


def _go_and_come_back(talk: Conversation, other: str) -> None:
    first, second = f"in-{other}", f"back-from-{other}"
    talk.sapwood("continue", talk.name, "--with", other, "--name", first)
    there = talk.other(first, talk.path, other)
    there.path.append("TURN62")
    there.say(turn(other, "TURN62"), "/mark M62", there.probe())
    there.expect_path(f"in {other}")
    _expect_pairs(there, f"in {other}")
    talk.sapwood("continue", first, "--with", talk.program, "--name", second)
    back = talk.other(second, there.path, talk.program)
    back.say(back.probe())
    back.expect_path(f"back from {other}")
    _expect_pairs(back, f"back from {other}")


def _expect_pairs(talk: Conversation, act: str) -> None:
    """Checks that the calls of the other program are calls here, each with its result."""
    parts = history_in(talk.request(talk.path[-1], last=False))
    calls = [part for part in parts if part["type"] in ("tool_use", "function_call")]
    results = [part for part in parts if part["type"] in ("tool_result", "function_call_output")]
    asked = [part.get("id", part.get("call_id")) for part in calls]
    told = [part.get("tool_use_id", part.get("call_id")) for part in results]
    expected = sum(name.startswith("TURN") for name in talk.path)
    talk.checks.expect(
        f"{act}: tool calls are native, each with its result",
        asked == told and len(asked) == expected,
        (asked, told),
    )


def _delegate(talk: Conversation, other: str) -> None:
    talk.checks.begin(talk.program, "A conversation delegates to another program and gets its mail")
    goal = turn(other, "TURN63")
    talk.sapwood("fork", talk.name, "--with", other, "--name", "helper", "--goal", goal)
    talk.sapwood("run", "--agent", "helper")
    helper = talk.other("helper", [*talk.path, "TURN63"], other)
    helper.expect_request(f"the child in {other}", helper.path)
    talk.say("/check-mail", talk.probe())
    sent = json.dumps(history_in(talk.request(talk.path[-1], last=False)))
    talk.checks.expect("its answer is in the parent's next request", "ANSWER63" in sent, sent)
    talk.checks.expect("the model refused nothing", not talk.model.rejections)
