"""A turn that failed by a limit is asked again, if a person typed its prompt on the page."""

import asyncio

import pytest

from sapwood.config.config_file import Config
from sapwood.core.commands import FailTurn, StartTurn
from sapwood.core.content import Text
from sapwood.core.events import Actor, Lease, Recorded
from sapwood.turns.clock_and_ids import command_meta, now
from tests.server.serving import Served, record

ADA = Actor("human", "ada")


@pytest.mark.parametrize("stops", [False, True])
async def test_it_is_asked_again_when_the_limit_resets_unless_a_person_stops_it(
    served: Served, stops: bool
) -> None:
    agent = await record(served.connection, ("One?", "First."))
    space, dispatcher = served.spaces.get("local"), served.connection.dispatcher
    space.agents.configure(Config(), {"anthropic": "sk-ant-of-a-test"})
    version = (await dispatcher.open(agent)).state.version
    held = Lease("elsewhere", now() + 60_000_000)
    await dispatcher.dispatch(StartTurn(agent, (Text("Two?"),), lease=held), command_meta(ADA))
    space.limits.start(agent, version, ADA)
    resets = now() + (60_000_000 if stops else 300_000)
    limited = FailTurn(agent, "Limited.", failure="overloaded", retry_at=resets)
    await dispatcher.dispatch(limited, command_meta(holder="elsewhere"))
    async with asyncio.timeout(20), served.client() as client:
        if stops:
            page = await client.get(f"/page/{agent}/side")
            assert f'data-limit="{resets // 1_000}"' in page.text
            stopped = await client.post(f"/v1/agents/{agent}/interrupt", json={})
            assert stopped.json()["message"] == "It is not asked again."
            again = await client.post(f"/v1/agents/{agent}/interrupt", json={})
            assert again.json()["refusal"] == "NoTurnOpen"
        else:
            async for each in served.connection.log.watch(served.connection.space, agent, version):
                if isinstance(each, Recorded) and each.command.startswith("retry-"):
                    assert each.actor == ADA
                    break
        assert space.limits.covers(agent) is not stops
        assert "data-limit" not in (await client.get(f"/page/{agent}/side")).text
