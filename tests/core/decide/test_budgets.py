"""What models can spend and start without a person is limited, for all agents of a root."""

import msgspec
import pytest

from sapwood.core.account import account_of
from sapwood.core.commands import (
    AddReply,
    CallModel,
    CompleteTurn,
    Configure,
    FinishTool,
    Fork,
    Kill,
    Rewind,
    SetMark,
    StartAgent,
    StartTurn,
)
from sapwood.core.content import Text, ToolCall, Usage
from sapwood.core.events import SYSTEM, TurnFailed
from sapwood.core.ids import AgentId, Origin
from sapwood.core.refusals import BadSetting, BudgetReached
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.view.request import digest
from sapwood.testing import CoreHarness
from tests.core.speaking import MODEL, by_model, conversation, does, last_event, opens, refusal


def forks(world: CoreHarness, agent: AgentId, child: str) -> AgentId:
    """The model of the agent makes a child."""
    by_model(world, Fork(agent, AgentId(child)))
    return AgentId(child)


def a_call(world: CoreHarness, agent: AgentId) -> CallModel:
    return CallModel(agent, "scripted", digest(world.request(agent)))


def calls(world: CoreHarness, agent: AgentId, cost: int = 0) -> None:
    """The agent calls its model, which answers."""
    does(world, a_call(world, agent))
    does(world, AddReply(agent, (Text("Well."),), usage=Usage(1, cost=cost)))


def test_model_calls_are_counted_for_all_agents_of_a_root() -> None:
    world, root = conversation(settings=Settings(model="scripted", budget_calls=3))
    opens(world, root)
    child = forks(world, root, "child")
    calls(world, root)
    calls(world, child)
    calls(world, child)
    reached = refusal(world, a_call(world, root), SYSTEM)
    assert reached == BudgetReached("calls", 3, 3)
    assert "made 3 model calls, and the budget is 3." in reached.sentence
    assert "type /config budget.calls 6, then send a prompt." in reached.sentence
    does(world, Configure(root, SettingsChange(budget_calls=6)))
    does(world, a_call(world, child))


def test_another_root_has_its_own_account() -> None:
    world, one = conversation(settings=Settings(model="scripted", budget_calls=1))
    opens(world, one)
    calls(world, one)
    other = world.start(settings=Settings(model="scripted", budget_calls=1))
    opens(world, other)
    does(world, a_call(world, other))


def test_money_is_counted_too() -> None:
    world, root = conversation(settings=Settings(model="scripted", budget_cost=1.5))
    opens(world, root)
    calls(world, root, cost=1_499_999)
    calls(world, root, cost=300_000)
    reached = refusal(world, a_call(world, root), SYSTEM)
    assert "spent $1.80, and the budget is $1.50." in reached.sentence


def test_no_model_makes_children_below_the_depth() -> None:
    world, agent = conversation(settings=Settings(budget_depth=2))
    opens(world, agent)
    for name in ("one", "two"):
        agent = forks(world, agent, name)
    assert refusal(world, Fork(agent, AgentId("three")), MODEL) == BudgetReached("depth", 2, 2)
    does(world, Fork(agent, AgentId("three")))  # a person may


def test_the_number_of_running_agents_is_limited() -> None:
    world, root = conversation(settings=Settings(budget_agents=3))
    opens(world, root)
    forks(world, root, "one")
    forks(world, root, "two")
    full = refusal(world, Fork(root, AgentId("three")), MODEL)
    assert full == BudgetReached("agents", 3, 3)
    assert "/config budget.agents 6" in full.sentence
    does(world, Kill(AgentId("one")))
    forks(world, root, "three")


def starts_again(world: CoreHarness, agent: AgentId) -> None:
    """The model sets a mark and goes back to it."""
    number = str(world.states[agent].version)
    does(world, AddReply(agent, (ToolCall(number, "slash"),)))
    by_model(world, SetMark(agent, "T"), number)
    by_model(world, Rewind(agent, "T"), number)
    does(world, FinishTool(agent, number, "ok"))
    world.do(CompleteTurn(agent), SYSTEM)


def test_a_model_that_goes_back_again_and_again_is_stopped() -> None:
    world, agent = conversation(settings=Settings(budget_turns=3))
    opens(world, agent, "Look.")
    for _ in range(3):
        starts_again(world, agent)
        assert world.states[agent].open is not None
    starts_again(world, agent)
    ended = last_event(world, agent)
    assert isinstance(ended, TurnFailed)
    assert ended.failure == "budget"
    assert ended.error == (
        "Stopped: 3 turns in a row ran without a prompt from a person, and the budget is 3. To "
        "continue, send a prompt; to allow more, type /config budget.turns 6 first."
    )
    does(world, StartTurn(agent, (Text("Go on."),)))
    starts_again(world, agent)
    assert world.states[agent].open is not None


def test_children_go_on_with_the_count_of_their_parent() -> None:
    world, agent = conversation(settings=Settings(budget_turns=2, budget_depth=0))
    opens(world, agent, "Look.")
    child = forks(world, agent, "child")
    grandchild = forks(world, child, "grandchild")
    assert world.states[grandchild].turns_without_human == 2
    assert refusal(world, Fork(grandchild, AgentId("more")), MODEL) == BudgetReached("turns", 2, 2)
    does(world, Fork(agent, AgentId("by-a-person"), goal="Look."))
    assert world.states[AgentId("by-a-person")].turns_without_human == 0


@pytest.mark.parametrize("name", [n for n in Settings.__struct_fields__ if n[:7] == "budget_"])
def test_nought_means_no_limit_and_less_is_refused(name: str) -> None:
    world, agent = conversation()
    does(world, Configure(agent, msgspec.convert({name: 0}, SettingsChange)))
    less = refusal(world, Configure(agent, msgspec.convert({name: -1}, SettingsChange)))
    assert less == BadSetting(name.replace("_", ".", 1), "0 (no limit) or a positive number")
    opens(world, agent)
    child = forks(world, agent, "child")
    starts_again(world, child)
    does(world, a_call(world, child))


def test_the_account_of_an_imported_conversation_begins_below_it() -> None:
    world = CoreHarness()
    imported, child = AgentId("imported"), AgentId("child")
    does(world, StartAgent(imported, origin=Origin("codex", "01a1", "rollout.jsonl")))
    does(world, Fork(imported, child, goal="Go on."))
    account = account_of(world.states.values(), child)
    assert (account.root, account.depth, account.agents) == (child, 0, 1)
