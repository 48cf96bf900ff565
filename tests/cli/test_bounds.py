"""`sapwood run` with a model that loops: it ends, and what it started has ended too."""

import pytest

from scripted_model import ModelRequest, Reply, ScriptedModel, ToolResult, call
from tests.cli.calling import Sapwooder

pytest.importorskip("pydantic_ai", reason="the extra 'models' is not installed")


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
