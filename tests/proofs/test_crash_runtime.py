"""A small run of the proof with killed workers, and tests that it finds faults."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from proofs.crash_runtime.check import Findings, check
from proofs.crash_runtime.engines import engine_setup
from proofs.crash_runtime.evidence import Evidence, requests_of, searches_in
from proofs.crash_runtime.model import answer_of
from proofs.crash_runtime.proof import Plan, prove
from proofs.crash_runtime.rounds import Key, Round, key_of
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import (
    HUMAN,
    Event,
    MailRead,
    MailReceived,
    MailSent,
    Recorded,
    ReplyAdded,
    Size,
    ToolFinished,
    TurnCompleted,
    TurnStarted,
)
from sapwood.core.ids import AgentId, CommandId
from scripted_model import LoggedRequest
from scripted_model.json_values import Json

OAK = AgentId("oak")
SENT = MailSent("m", OAK, "Mail oak0.1.2.0.")
RECEIVED = MailReceived("m", "Mail oak0.1.2.0.", OAK)


@pytest.mark.night
@pytest.mark.parametrize(
    ("engine", "database"),
    [
        ("worker", "sqlite"),
        ("worker", "postgres"),
        ("temporal", "postgres"),
        ("local", "sqlite"),
        ("local", "postgres"),
        ("mixed", "sqlite"),
    ],
)
def test_killed_workers_lose_and_repeat_nothing(
    engine: str, database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plan = Plan(agents=4, workers=1, kills=2, longest=1.0, seed=random.getrandbits(32))
    address = str(tmp_path / "log.db")
    if database == "postgres":
        address = request.getfixturevalue("postgres_dsn")
    if database == "postgres" or engine != "worker":
        plan = replace(plan, workers=2)
    with engine_setup(engine) as setup:
        findings = asyncio.run(prove(address, plan, tmp_path, print, setup))
    assert findings.sentences == []
    assert findings.faults == 0
    assert min(findings.turns, findings.tools, findings.answers, findings.mails) >= plan.agents


# That it would notice

ONE = Round("oak0", 1, ("oak0",))
"""A round of a single agent, which sends mail to itself."""


def numbered(events: list[tuple[int, Event]]) -> list[Recorded]:
    return [
        Recorded(OAK, version, event, at, HUMAN, CommandId(f"c{version}"))
        for version, (at, event) in enumerate(events, start=1)
    ]


def round_of_one() -> list[tuple[int, Event]]:
    """The events of a round without faults, with their times."""
    events: list[tuple[int, Event]] = [(1, TurnStarted(None, (Text(ONE.prompt),)))]
    at = 10
    for step, calls in enumerate(ONE.steps("ledger")):
        named = tuple(ToolCall(f"{step}-{n}", c.name, c.args) for n, c in enumerate(calls))
        said = Text(answer_of(Key("oak0", 1, step), 1))
        events.append((at, ReplyAdded((said, *named))))
        for call in named:
            at += 1
            command = json.loads(call.args).get("command")
            if command == "send":
                events += [(at, SENT), (at, RECEIVED)]
            if command == "check-mail":
                events.append((at, MailRead(("m",))))
            shown = RECEIVED.text if command == "check-mail" else "done"
            events.append((at, ToolFinished(call.id, shown)))
        at += 10
    return [*events, (at, TurnCompleted(Size(1, "c")))]


def evidence(events: list[tuple[int, Event]] | None = None) -> Evidence:
    """The records of a round without faults, with these events in its log."""
    found = numbered(round_of_one() if events is None else events)
    asked = [each.at for each in numbered(round_of_one()) if each.kind == "reply.added"]
    return Evidence(
        labels={OAK: "oak0"},
        logs={OAK: found},
        given=[ONE],
        requests={Key("oak0", 1, step): [at - 5] for step, at in enumerate(asked)},
        ledger=Counter({"oak0.1.0.0": 1}),
        searches={"oak0.1.1.0": [18], "oak0.1.1.1": [18]},
        agents=1,
    )


def without(unwanted: Callable[[Event], bool]) -> list[tuple[int, Event]]:
    return [(at, event) for at, event in round_of_one() if not unwanted(event)]


def kinds(findings: Findings) -> set[str]:
    return {sentence.partition(":")[0] for sentence in findings.sentences}


def test_a_round_in_which_all_went_well_is_in_order() -> None:
    findings = check(evidence())
    assert findings.sentences == []
    assert (findings.turns, findings.answers, findings.tools, findings.mails) == (1, 5, 5, 1)


def test_a_turn_that_did_not_end_is_noticed() -> None:
    open_turn = without(lambda event: isinstance(event, TurnCompleted))
    assert kinds(check(evidence(open_turn))) == {"not_ended"}


def test_a_tool_with_effects_that_ran_twice_is_noticed() -> None:
    seen = evidence()
    seen.ledger["oak0.1.0.0"] += 1
    assert kinds(check(seen)) == {"run_again"}


def test_a_tool_that_reports_success_without_running_is_noticed() -> None:
    seen = evidence()
    seen.ledger.clear()
    assert kinds(check(seen)) == {"other"}


def test_a_tool_that_was_cut_off_may_have_run_or_not() -> None:
    cut = [
        (at, replace(event, error=True))
        if isinstance(event, ToolFinished) and event.call == "0-0"
        else (at, event)
        for at, event in round_of_one()
    ]
    seen = evidence(cut)
    assert check(seen).faults == 0
    seen.ledger.clear()
    findings = check(seen)
    assert (findings.faults, findings.cut_off) == (0, 1)


def test_a_tool_without_effects_may_run_again_only_before_its_result() -> None:
    seen = evidence()
    seen.searches["oak0.1.1.0"].append(19)
    assert check(seen).faults == 0
    seen.searches["oak0.1.1.0"].append(60)
    assert kinds(check(seen)) == {"run_again"}


def test_a_model_may_be_asked_again_only_before_its_answer() -> None:
    seen = evidence()
    key = Key("oak0", 1, 2)
    seen.requests[key].append(seen.requests[key][0] + 1)
    findings = check(seen)
    assert (findings.faults, findings.unanswered) == (0, 1)
    seen.requests[key].append(10_000)
    assert kinds(check(seen)) == {"asked_again"}


def test_an_answer_that_is_stored_twice_is_noticed() -> None:
    events = round_of_one()
    place = next(n for n, (_, event) in enumerate(events) if isinstance(event, ToolFinished))
    doubled = [*events[: place + 1], events[place - 1], events[place], *events[place + 1 :]]
    assert "other" in kinds(check(evidence(doubled)))


@pytest.mark.parametrize("lost", [MailSent, MailReceived])
def test_lost_mail_is_noticed(lost: type[Event]) -> None:
    assert "lost" in kinds(check(evidence(without(lambda event: isinstance(event, lost)))))


def test_mail_that_was_read_and_not_shown_is_noticed() -> None:
    blind = [
        (at, replace(event, content="done"))
        if isinstance(event, ToolFinished) and "Mail" in event.content
        else (at, event)
        for at, event in round_of_one()
    ]
    assert kinds(check(evidence(blind))) == {"lost"}


def test_doubled_mail_is_noticed() -> None:
    events = round_of_one()
    place = next(n for n, (_, event) in enumerate(events) if isinstance(event, MailReceived))
    again = (events[place][0], MailReceived("m2", RECEIVED.text, OAK))
    assert "doubled" in kinds(check(evidence([*events[:place], again, *events[place:]])))


@pytest.mark.parametrize(("reports", "fault"), [(0, {"lost"}), (1, set[str]()), (2, {"doubled"})])
def test_the_report_of_a_scout_is_one_letter(reports: int, fault: set[str]) -> None:
    said = answer_of(Key("elm0", 1, 0), 1)
    text = f"Your child has finished. Its final answer:\n\n{said}"
    events: list[tuple[int, Event]] = [
        (1, TurnStarted(None, (Text(Round("elm0", 1).prompt),))),
        (2, ReplyAdded((Text(said),))),
        *[(3, MailSent(f"report:{number}", OAK, text)) for number in range(reports)],
        *[(3, MailReceived(f"report:{number}", text, OAK)) for number in range(reports)],
        (4, TurnCompleted(Size(1, "c"))),
    ]
    assert kinds(check(evidence(events))) & {"lost", "doubled"} == fault


def test_a_doubled_fork_is_noticed() -> None:
    seen = evidence()
    seen.labels[AgentId("another")] = "oak0"
    assert "doubled" in kinds(check(seen))


def test_a_round_that_was_given_and_never_begun_is_noticed() -> None:
    assert kinds(check(replace(evidence(), given=[ONE, replace(ONE, number=2)]))) == {"other"}


def test_a_request_determines_its_step() -> None:
    body: Json = {
        "messages": [
            {"role": "user", "content": Round("oak1", 7).prompt},
            {"role": "assistant", "content": "x"},
            {"role": "user", "content": [{"type": "text", "text": ONE.prompt}]},
            {"role": "assistant", "content": "x"},
            {"role": "tool", "content": "y"},
        ]
    }
    logged = LoggedRequest(1, 2.5, "POST", "/", {}, {}, body)
    assert key_of(body) == (ONE, Key("oak0", 1, 1))
    assert requests_of([logged]) == {Key("oak0", 1, 1): [2_500_000]}
    assert key_of({"messages": [{"role": "user", "content": "Hello"}]}) is None


def test_searches_are_read_from_their_trace(tmp_path: Path) -> None:
    trace = tmp_path / "searches"
    assert searches_in(trace) == {}
    trace.write_text("1700000000123456789 --no-config --regexp oak0.1.1.0 -- a.txt\n")
    assert searches_in(trace) == {"oak0.1.1.0": [1_700_000_000_123_456]}
