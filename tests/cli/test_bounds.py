"""`sapwood run` with a model that loops: it ends, and what it started has ended too."""

import json

from sapwood.core.settings import Settings
from scripted_model import ModelRequest, Reply, ScriptedModel, ToolResult, call
from tests.cli.calling import Sapwooder


def slash(command: str, args: str = "") -> Reply:
    """A reply that calls the tool `slash`."""
    return Reply.of(call("slash", command=command, args=args))


def test_a_run_waits_for_the_answer_of_a_turn_that_starts_again(
    sapwood: Sapwooder, model: ScriptedModel
) -> None:
    model.replies([slash("mark", "T"), slash("clear", "T The first way fails."), "Found it."])
    ran = sapwood("run", "--agent", "me", "--new", "-p", "Look for it.")
    assert ran.code == 0, ran.err
    assert ran.out.endswith("Found it.\n")
    assert "no open turn" in sapwood("run", "--agent", "me").err


def test_a_request_that_was_answered_is_not_asked_again(
    sapwood: Sapwooder, model: ScriptedModel
) -> None:
    asked: list[str] = []

    @model.script
    def reply(request: ModelRequest) -> str | Reply:
        asked.append(request.prompt)
        if not isinstance(request.messages[-1].parts[-1], ToolResult):
            if request.prompt == "Deploy.":
                return slash("mark", "T")
            if request.prompt == "Tidy up.":
                return slash("clear", "T")
        return "Done."

    assert sapwood("run", "--agent", "me", "--new", "-p", "Deploy.").code == 0
    assert sapwood("run", "--agent", "me", "-p", "Look.").code == 0
    assert sapwood("run", "--agent", "me", "-p", "Tidy up.").code == 0
    assert asked == ["Deploy.", "Deploy.", "Look.", "Tidy up.", "Tidy up."]


def test_a_rewind_loop_ends_by_the_default_budget(sapwood: Sapwooder, model: ScriptedModel) -> None:
    @model.script
    def reply(request: ModelRequest) -> str | Reply:
        marked = isinstance(request.messages[-1].parts[-1], ToolResult)
        return slash("clear", "T Once more.") if marked else slash("mark", "T")

    ran = sapwood("run", "--agent", "me", "--new", "-p", "Look for it.")
    limit = Settings().budget_turns
    assert ran.code == 1
    assert (
        f"{limit} turns in a row ran without a prompt from a person, and the budget is {limit}. To "
        f"continue, send a prompt; to allow more, type /config budget.turns {2 * limit} first."
    ) in ran.err
    assert len(model.requests) == 2 * (limit + 1)
    assert "idle" in sapwood("agents").out
    print(f"rewind loop: {len(model.requests)} model calls. {ran.err.splitlines()[-1]}")


def test_a_fork_bomb_ends_by_the_default_budget(sapwood: Sapwooder, model: ScriptedModel) -> None:
    @model.script
    def reply(request: ModelRequest) -> str | Reply:
        return slash("fork")

    ran = sapwood("run", "--agent", "me", "--new", "-p", "Look for it.")
    limits = Settings()
    assert ran.code == 1
    assert (
        f"this conversation already has {limits.budget_agents} running agents and tried to start "
        f"another, and the budget is {limits.budget_agents}. To continue, end agents with /kill, "
        f"or type /config budget.agents {2 * limits.budget_agents}, then send a prompt."
    ) in ran.err
    lines = sapwood("agents", "--json", "--all", "--limit", "500").out.splitlines()
    listed = [json.loads(line) for line in lines]
    assert len(listed) == limits.budget_agents
    assert not [agent for agent in listed if agent.get("working")]
    print(
        f"fork bomb: {len(listed)} agents, {len(model.requests)} calls. {ran.err.splitlines()[-1]}"
    )


def test_a_person_raises_a_budget_and_goes_on(sapwood: Sapwooder, model: ScriptedModel) -> None:
    model.replies(["One.", "Two."])
    assert sapwood("config", "set", "budget.calls", "1").code == 0
    assert sapwood("run", "--agent", "me", "--new", "-p", "Count.").code == 0
    ran = sapwood("run", "--agent", "me", "-p", "Count on.")
    assert ran.code == 1
    assert "type /config budget.calls 2, then send a prompt." in ran.err
    assert sapwood("do", "me", "/config budget.calls 2").code == 0
    assert sapwood("run", "--agent", "me", "-p", "Count on.").out == "Two.\n"
