"""Prompts: what a person picks in a program's menu, which has the model call a tool.

One for each action of `context`, and one for each command of the registry that a model may give.
"""

import json

from mcp.types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from sapwood.app.gardening.errand import ACTIONS
from sapwood.core.errors import SapwoodError
from sapwood.core.slash import for_models
from sapwood.mcp_server.context_tool import CONTEXT, context_schema
from sapwood.mcp_server.slash_tool import SLASH, slash_schema

__all__ = ["all_prompts", "prompt_named"]


def all_prompts(agent: str = "") -> list[Prompt]:
    """Every prompt; those of `slash` ask for an agent, unless the server is for one."""
    about = context_schema()["properties"]
    tended = [
        Prompt(
            name=action.name,
            description=action.help,
            arguments=[
                PromptArgument(
                    name=name, description=about[name]["description"], required=name == action.bare
                )
                for name in action.takes
            ],
        )
        for action in ACTIONS
    ]
    fields = slash_schema(agent)["properties"]
    given = [
        Prompt(
            name=command.name,
            description=command.help,
            arguments=[
                PromptArgument(
                    name=name, description=fields[name]["description"], required=name == "agent"
                )
                for name in fields
                if name != "command"
            ],
        )
        for command in for_models()
    ]
    return [*tended, *given]


def prompt_named(name: str, arguments: dict[str, str]) -> GetPromptResult:
    """The words that have a model call the tool and show what it says."""
    told = {key: value for key, value in arguments.items() if value}
    if any(action.name == name for action in ACTIONS):
        tool, call = CONTEXT, {"action": name, **told}
    elif any(command.name == name for command in for_models()):
        tool, call = SLASH, {"command": name, **told}
    else:
        raise SapwoodError(f"There is no prompt '{name}'.")
    text = (
        f"Call the tool `{tool}` of the server `sapwood` with {json.dumps(call)} and show its "
        "answer as it is, in a code block."
    )
    said = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(messages=[said])
