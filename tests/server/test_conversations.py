"""Conversations over HTTP: what the library shows and changes, with the same sentences."""

import asyncio

import msgspec
import pytest

from sapwood.api import Sapwood
from sapwood.core.content import Text
from sapwood.core.events import TurnStarted
from sapwood.core.ids import AgentId
from sapwood_server.event_feed import AgentFeeds
from tests.conversation.cut_off import Killed, dies_before_its_prompt
from tests.server.serving import STORES, Served, record

pytestmark = pytest.mark.parametrize("store", STORES)

TURNS = tuple((f"Question {n}?", f"Answer {n}.") for n in range(1, 6))


@pytest.fixture
async def agent(served: Served) -> AgentId:
    """A conversation of five turns."""
    return await record(served.connection, *TURNS)


async def test_agents_are_listed_and_shown(served: Served, agent: AgentId) -> None:
    async with served.client("read") as client:
        listed = (await client.get("/v1/agents")).json()["agents"]
        one = (await client.get(f"/v1/agents/{agent}")).json()
    assert [each["agent"] for each in listed] == [agent]
    assert one["name"] == "demo"
    assert one["family"][0]["agent"] == agent


async def test_an_unknown_agent_is_a_problem_with_a_sentence(served: Served) -> None:
    async with served.client() as client:
        answer = await client.get("/v1/agents/nobody/rows")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert "There is no agent 'nobody'" in answer.json()["detail"]


async def test_a_command_changes_the_context_and_undo_brings_it_back(
    served: Served, agent: AgentId
) -> None:
    async with served.client() as client:
        path = f"/v1/agents/{agent}"
        cleared = await client.post(f"{path}/commands/clear", json={"args": "2"})
        after = (await client.get(f"{path}/rows")).json()
        undone = await client.post(f"{path}/commands/undo", json={})
        back = (await client.get(f"{path}/rows")).json()
    assert "3 turns removed from view" in cleared.json()["message"]
    [fold] = [each for each in after["rows"] if each["row"]["type"] == "fold"]
    assert (fold["row"]["messages"], fold["row"]["cause"]) == (6, "/clear 2")
    assert undone.is_success
    assert not [each for each in back["rows"] if each["row"]["type"] == "fold"]


async def test_the_rows_of_a_fold_are_read_by_its_key(served: Served, agent: AgentId) -> None:
    async with served.client() as client:
        path = f"/v1/agents/{agent}"
        await client.post(f"{path}/commands/clear", json={"args": "1"})
        rows = (await client.get(f"{path}/rows")).json()["rows"]
        inside = (await client.get(f"{path}/rows", params={"fold": rows[0]["key"]})).json()
    assert [each["content"]["text"] for each in inside["rows"][:2]] == ["Question 1?", "Answer 1."]
    assert not any(each["in_context"] for each in inside["rows"])
    assert inside["total"] == 8


async def test_rows_are_read_in_pages(served: Served, agent: AgentId) -> None:
    async with served.client() as client:
        path = f"/v1/agents/{agent}/rows"
        last = (await client.get(path, params={"limit": 3})).json()
        first = (await client.get(path, params={"first": 0, "limit": 3})).json()
    assert (last["first"], last["total"], len(last["rows"])) == (7, 10, 3)
    assert first["rows"][0]["content"]["text"] == "Question 1?"


async def test_a_refusal_is_a_problem_with_the_refusal_s_sentence(
    served: Served, agent: AgentId
) -> None:
    async with served.client() as client:
        path = f"/v1/agents/{agent}/commands"
        await client.post(f"{path}/mark", json={"args": "START"})
        answer = await client.post(f"{path}/rewind", json={"args": "STRAT"})
    problem = answer.json()
    assert answer.status_code == 404
    assert problem["refusal"] == "UnknownMark"
    assert "Did you mean START?" in problem["detail"]


async def test_a_command_that_is_sent_twice_acts_once(served: Served, agent: AgentId) -> None:
    async with served.client() as client:
        path = f"/v1/agents/{agent}"
        body = {"args": "2", "id": "one"}
        first = (await client.post(f"{path}/commands/clear", json=body)).json()
        again = (await client.post(f"{path}/commands/clear", json=body)).json()
        other = (await client.post(f"{path}/commands/fork", json={"id": "two"})).json()
        same = (await client.post(f"{path}/commands/fork", json={"id": "two"})).json()
        agents = (await client.get("/v1/agents")).json()["agents"]
    assert again == first
    assert same["message"] == other["message"]
    assert len(agents) == 2


@pytest.fixture
def callable_models(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model can be called."""
    models = served.spaces.get("local").agents.service.services.models
    assert models is not None
    monkeypatch.setattr(models, "require", str)


@pytest.mark.usefixtures("callable_models")
async def test_a_retry_that_was_cut_off_is_finished_when_it_is_sent_again(
    served: Served, agent: AgentId
) -> None:
    path, body = f"/v1/agents/{agent}/commands/retry", {"id": "one"}
    async with served.client() as client:
        with pytest.MonkeyPatch.context() as patch:
            dies_before_its_prompt(patch)
            with pytest.raises(Killed):
                await client.post(path, json=body)
        served.spaces.answered.forget("local")
        again = (await client.post(path, json=body)).json()
    live = (await served.connection.dispatcher.open(agent)).live
    assert live.open is not None
    assert (again["repeated"], again["answer"]["turn"]) == (False, live.open.first)
    assert [turn.prompt for turn in live.all_turns] == [(Text(text),) for text, _ in TURNS]


@pytest.mark.usefixtures("callable_models")
@pytest.mark.parametrize(("command", "args"), [("retry", ""), ("init", ""), ("review", "--here")])
async def test_a_command_that_sends_a_prompt_opens_one_turn(
    served: Served, agent: AgentId, command: str, args: str
) -> None:
    path, body = f"/v1/agents/{agent}/commands/{command}", {"id": "one", "args": args}
    async with served.client() as client:
        first = (await client.post(path, json=body)).json()
        served.spaces.answered.forget("local")
        again = (await client.post(path, json=body)).json()
    assert again["repeated"]
    assert again["events"][-1] == [agent, first["answer"]["turn"]]
    assert (await served.connection.dispatcher.open(agent)).state.turns == 6


async def test_the_same_id_of_another_principal_is_another_command(
    served: Served, agent: AgentId
) -> None:
    async with served.client(name="ada") as ada, served.client(name="bob") as bob:
        path = f"/v1/agents/{agent}/commands/mark"
        await ada.post(path, json={"args": "A", "id": "one"})
        answer = await bob.post(path, json={"args": "B", "id": "one"})
    assert not answer.json()["repeated"]


async def test_the_principal_is_the_actor_of_the_event(served: Served, agent: AgentId) -> None:
    async with served.client(name="ada") as client:
        await client.post(f"/v1/agents/{agent}/commands/mark", json={"args": "A"})
        events = (await client.get(f"/v1/agents/{agent}/log", params={"after": 6})).json()["events"]
    assert [(each["kind"], each["actor"]) for each in events] == [("mark.set", "human:ada")]


async def test_another_permission_mode_needs_the_scope_for_approvals(
    served: Served, agent: AgentId
) -> None:
    async with served.client("write") as client:
        by_command = await client.post(
            f"/v1/agents/{agent}/commands/config", json={"args": "permission_mode all"}
        )
        by_text = await client.post(
            f"/v1/agents/{agent}/submissions", json={"text": "/config permission.mode all"}
        )
        other = await client.post(f"/v1/agents/{agent}/commands/config", json={"args": "cap 90k"})
    assert (by_command.status_code, by_text.status_code) == (403, 403)
    assert other.is_success


async def test_a_submission_needs_the_scope_of_each_of_its_steps(
    served: Served, agent: AgentId
) -> None:
    async with served.client("write") as client:
        answer = await client.post(
            f"/v1/agents/{agent}/submissions",
            json={"text": "/mark A\n/permissions allow shell(ls)"},
        )
        after = await client.post(f"/v1/agents/{agent}/submissions", json={"text": "/mark A"})
    assert answer.status_code == 403
    assert answer.json()["scope"] == "approve"
    assert after.is_success


async def test_a_prompt_without_a_callable_model_says_what_to_do(
    served: Served, agent: AgentId
) -> None:
    async with served.client() as client:
        answer = await client.post(f"/v1/agents/{agent}/turns", json={"text": "Hello."})
    assert answer.status_code == 424
    assert "key" in answer.json()["detail"].lower()


async def test_everything_said_can_be_searched(served: Served, agent: AgentId) -> None:
    async with served.client("read") as client:
        hits = (await client.get("/v1/search", params={"q": "Question 3"})).json()["hits"]
    assert hits
    assert "Question 3" in hits[0]["snippet"]


async def test_two_contexts_are_compared(served: Served, agent: AgentId) -> None:
    async with served.client() as client:
        path = f"/v1/agents/{agent}"
        await client.post(f"{path}/commands/mark", json={"args": "A"})
        await client.post(f"{path}/commands/clear", json={"args": "2"})
        found = (await client.get(f"{path}/diff", params={"a": "A"})).json()
    assert len(found["diff"]["only_left"]) == 3
    assert found["diff"]["shared"] == 2


async def test_each_cut_has_its_size_and_its_price(served: Served, agent: AgentId) -> None:
    async with served.client() as client:
        plan = (await client.get(f"/v1/agents/{agent}/cuts")).json()
    assert [cut["line"] for cut in plan["cuts"]] == [f"/clear {n}" for n in (5, 4, 3, 2, 1)]
    totals = [cut["total"]["tokens"] for cut in plan["cuts"]]
    assert totals == sorted(totals, reverse=True)
    assert plan["cuts"][-1]["later"] < plan["now"]


async def test_the_queue_of_the_page_is_that_of_the_log(served: Served, agent: AgentId) -> None:
    at = f"/v1/agents/{agent}/queue"
    async with served.client() as client:
        for words in ("One.", "Two."):
            assert (await client.post(at, json={"text": words})).status_code == 202
        listed = (await client.get(at)).json()["queue"]
        assert [each["text"] for each in listed] == ["One.", "Two."]
        assert (await client.post(f"{at}/{listed[0]['entry']}/remove", json={})).is_success
        gone = await client.post(f"{at}/{listed[0]['entry']}/remove", json={})
    assert gone.status_code == 409
    assert "no longer in the queue" in gone.json()["detail"]
    queue = (await (await Sapwood(served.connection).find(agent)).state()).queue
    assert [each.text for each in queue] == ["Two."]


@pytest.mark.parametrize("typed", ["/etc/hosts is wrong", "```\n/clear\n```", "//clear is odd"])
async def test_text_that_looks_like_a_command_waits_as_a_prompt_does(
    served: Served, agent: AgentId, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    let_models_be_called(served, monkeypatch)
    at = f"/v1/agents/{agent}/submissions"
    async with served.client() as client:
        first = await client.post(at, json={"text": typed, "waits": True})
        later = await client.post(at, json={"text": typed, "waits": True, "id": "later"})
        command = await client.post(at, json={"text": "/mark A", "waits": True})
    answers = [each.json()["prompt"] for each in (first, later, command)]
    assert answers == ["sent", "queued", "none"]
    state = await (await Sapwood(served.connection).find(agent)).state()
    assert [each.text for each in state.queue] == [typed]
    assert [mark.name for mark in state.marks] == ["A"]
    async with served.client() as client:
        await client.post(f"/v1/agents/{agent}/interrupt", json={})
        sent = await client.post(f"/v1/agents/{agent}/queue/next", json={})
    assert [each["answer"]["type"] for each in sent.json()["outcomes"]] == ["Prompted"], sent.text
    assert not (await (await Sapwood(served.connection).find(agent)).state()).queue


async def test_a_prompt_after_an_interrupt_sends_what_it_waits_behind(
    served: Served, agent: AgentId, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_models_be_called(served, monkeypatch)
    at = f"/v1/agents/{agent}"
    async with served.client() as client:
        for text in ("One.", "Two."):
            await client.post(f"{at}/submissions", json={"text": text, "waits": True})
        await client.post(f"{at}/interrupt", json={})
        third = await client.post(f"{at}/submissions", json={"text": "Three.", "waits": True})
    assert third.json()["prompt"] == "queued"
    assert (await sent_in(served, agent))[-2:] == ["One.", "Two."]
    queue = (await (await Sapwood(served.connection).find(agent)).state()).queue
    assert [each.text for each in queue] == ["Three."]


@pytest.mark.parametrize(
    ("typed", "prompts", "marks"),
    [("/etc/hosts is wrong", ["/etc/hosts is wrong"], []), ("/mark A", [], ["A"])],
)
async def test_a_conversation_starts_with_what_was_typed(
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    prompts: list[str],
    marks: list[str],
) -> None:
    let_models_be_called(served, monkeypatch)
    async with served.client() as client:
        started = await client.post("/v1/agents", json={"text": typed})
        unknown = await client.post("/v1/agents", json={"text": "/mrak A"})
        listed = (await client.get("/v1/agents")).json()["agents"]
    assert (started.status_code, unknown.is_success) == (201, False)
    assert [each["agent"] for each in listed] == [started.json()["agent"]]
    agent = await Sapwood(served.connection).find(started.json()["agent"])
    assert [mark.name for mark in (await agent.state()).marks] == marks
    assert await sent_in(served, started.json()["agent"]) == prompts


async def sent_in(served: Served, agent: AgentId) -> list[str]:
    """The texts that opened turns."""
    log = await served.connection.log.read(served.connection.space, agent)
    turns = [each.event.prompt for each in log if isinstance(each.event, TurnStarted)]
    return [part.text for turn in turns for part in turn]


def let_models_be_called(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    models = served.spaces.get("local").agents.service.services.models
    assert models is not None

    def callable_(_: str) -> None:
        return

    monkeypatch.setattr(models, "require", callable_)


async def test_nothing_of_another_space_is_found_by_any_route(
    served: Served, agent: AgentId
) -> None:
    hidden = await record(served.connection, ("The heron is blue.", "Yes."), space="other")
    async with served.client() as client:
        for rest in (
            "",
            "/rows",
            "/context",
            "/cuts",
            "/log",
            "/calls",
            "/calls/1",
            "/events",
            "/queue",
        ):
            answer = await client.get(f"/v1/agents/{hidden}{rest}")
            assert answer.status_code == 404, rest
        for rest in (
            *("turns", "submissions", "interrupt", "commands/mark", "permissions/1"),
            *("queue", "queue/next", "queue/1/remove"),
        ):
            answer = await client.post(f"/v1/agents/{hidden}/{rest}", json={})
            assert answer.status_code == 404, rest
        for rest in ("rows", "side", "context", "calls", "question"):
            assert (await client.get(f"/page/{hidden}/{rest}")).status_code == 404, rest
        assert (await client.get(f"/c/{hidden}")).status_code == 404
        found = await client.get("/v1/search", params={"q": "heron"})
        listed = await client.get("/page/list")
    assert found.json()["hits"] == []
    assert hidden not in listed.text
    async with served.client(space="other") as client:
        assert (await client.get(f"/v1/agents/{hidden}")).is_success


# Events.


async def collect(feeds: AgentFeeds, agent: AgentId, after: int, until: int) -> list[int]:
    """The versions that a follower receives."""
    found: list[int] = []
    stream = feeds.follow(agent, after)
    async for piece in stream:
        found += [int(line[4:]) for line in piece.split(b"\n") if line.startswith(b"id: ")]
        if found and found[-1] >= until:
            break
    await stream.aclose()
    return found


async def test_a_follower_gets_every_event_after_its_last_one_once(
    served: Served, agent: AgentId
) -> None:
    space = served.spaces.get("local")
    async with asyncio.timeout(20):
        assert await collect(space.feeds, agent, 0, 6) == [1, 2, 3, 4, 5, 6]
        assert await collect(space.feeds, agent, 4, 6) == [5, 6]


async def test_followers_that_come_and_go_miss_nothing(served: Served, agent: AgentId) -> None:
    space = served.spaces.get("local")

    async def comes_back() -> list[int]:
        found: list[int] = []
        while not found or found[-1] < 106:
            after = found[-1] if found else 0
            found += await collect(space.feeds, agent, after, min(106, after + 9))
        return found

    async def marks() -> None:
        async with served.client() as client:
            for number in range(100):
                await client.post(f"/v1/agents/{agent}/commands/mark", json={"args": f"M{number}"})

    async with asyncio.timeout(60):
        *found, _ = await asyncio.gather(*(comes_back() for _ in range(5)), marks())
    assert all(each == list(range(1, 107)) for each in found)


async def test_a_follower_that_comes_after_an_erasure_does_not_get_erased_mail(
    served: Served, agent: AgentId
) -> None:
    """The events that the feed keeps in memory are dropped when words of them were erased."""
    space = served.spaces.get("local")
    db = Sapwood(space.connection)
    sender = await db.start("sender")
    feeds = space.feeds
    async with asyncio.timeout(60):
        stays = feeds.follow(agent, 5)
        assert await anext(stays)
        assert await anext(stays)
        await sender.run_command(f"/send {agent} The heron nests in the reeds.")
        assert b"heron" in await anext(stays)
        await sender.erase()
        while b"words.erased" not in await anext(stays):
            pass
        late = feeds.follow(agent, 6)
        seen = b""
        while b"words.erased" not in seen:
            seen += await anext(late)
        await late.aclose()
        await stays.aclose()
    assert b"heron" not in seen
    assert b"[erased]" in seen


async def test_an_event_is_one_message_with_its_version_and_kind(
    served: Served, agent: AgentId
) -> None:
    stream = served.spaces.get("local").feeds.follow(agent, 5)
    pieces = [await anext(stream), await anext(stream)]
    await stream.aclose()
    assert pieces[0] == b"retry: 1000\n\n"
    number, kind, data = pieces[1].decode().strip().split("\n")
    assert (number, kind) == ("id: 6", "event: turn.recorded")
    value = msgspec.json.decode(data.removeprefix("data: "))
    assert value["data"]["prompt"][0]["text"] == "Question 5?"
