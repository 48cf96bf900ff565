"""The parameters of a turn: what is sent with each of its model calls besides the request."""

from typing import Literal

import msgspec
from msgspec import Struct, structs

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model thinks before it answers."""

_CHOICES = ("auto", "none", "required")


class CallerTool(Struct, frozen=True, omit_defaults=True, gc=False):
    """A tool that whoever gave the prompt runs. `schema` is the JSON Schema of its arguments."""

    name: str
    description: str = ""
    schema: str = '{"type": "object"}'


class TurnParams(Struct, frozen=True, omit_defaults=True):
    """Parameters of the model calls of a turn. None leaves a parameter as it is elsewhere.

    The runtime has parameters for all turns, an agent has its own, and a prompt may have more: the
    last that is given counts.

    `temperature` is from 0 to 2. `effort` is how much the model thinks. `max_tokens` limits each
    reply. `tool_choice` is `auto`, `none`, `required` or the name of a tool; the last two hold for
    the first call of a turn. `output_schema` is the JSON Schema of the answer, as JSON. `tools` are
    the names of the tools that are offered, by default all. `calls` is the most model calls of a
    turn. `caller_tools` are offered beside them; whoever gave the prompt runs them: the turn waits
    until `FinishTool` has recorded each result. With `parallel_tool_calls` false, a reply has one
    tool call at most, where the API of the model knows that; Gemini's does not.

    >>> TurnParams(temperature=0.2, calls=5).over(TurnParams(effort="low", calls=50))
    TurnParams(temperature=0.2, effort='low', max_tokens=None, tool_choice=None, \
output_schema=None, tools=None, calls=5, caller_tools=None, parallel_tool_calls=None)
    """

    temperature: float | None = None
    effort: Effort | None = None
    max_tokens: int | None = None
    tool_choice: str | None = None
    output_schema: str | None = None
    tools: tuple[str, ...] | None = None
    calls: int | None = None
    caller_tools: tuple[CallerTool, ...] | None = None
    parallel_tool_calls: bool | None = None

    @property
    def caller_names(self) -> frozenset[str]:
        """The names of the tools that whoever gave the prompt runs."""
        return frozenset(tool.name for tool in self.caller_tools or ())

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()

    def over(self, base: "TurnParams") -> "TurnParams":
        """These parameters, and those of `base` where these have none."""
        given = {name: value for name, value in structs.asdict(self).items() if value is not None}
        return structs.replace(base, **given) if given else base

    def problem(self) -> tuple[str, str] | None:
        """The first parameter that is not valid, and the rule for it; None if all are."""
        rules = (
            ("temperature", self.temperature is None or 0 <= self.temperature <= 2, "from 0 to 2"),
            ("max_tokens", self.max_tokens is None or self.max_tokens > 0, "1 or more"),
            ("calls", self.calls is None or self.calls > 0, "1 or more"),
            ("tool_choice", self.tool_choice != "", "auto, none, required or a tool name"),
            (
                "output_schema",
                _is_object(self.output_schema),
                "a JSON Schema that describes an object",
            ),
            (
                "caller_tools",
                self._has_tools(),
                "tools with different names, each with a JSON Schema",
            ),
        )
        return next(((name, rule) for name, holds, rule in rules if not holds), None)

    def sent(self, *, is_first: bool) -> dict[str, object]:
        """The parameters that are sent to a model. `is_first`: with the first call of the turn.

        A model that must call a tool would never answer, so later calls leave the choice to it.
        """
        choice: str | list[str] | None = self.tool_choice
        if choice is not None and choice not in _CHOICES:
            choice = [choice]
        if not is_first and choice not in ("auto", "none"):
            choice = None
        thinking = False if self.effort == "none" else self.effort
        sent: dict[str, object] = {
            "temperature": self.temperature,
            "thinking": thinking,
            "max_tokens": self.max_tokens,
            "tool_choice": choice,
            "output_schema": self.output_schema,
            "parallel_tool_calls": self.parallel_tool_calls,
        }
        return {name: value for name, value in sent.items() if value is not None}

    def _has_tools(self) -> bool:
        tools = self.caller_tools or ()
        return len(self.caller_names) == len(tools) and all(
            tool.name and _is_object(tool.schema) for tool in tools
        )


def _is_object(text: str | None) -> bool:
    """Whether the text is an object in JSON, or is not given."""
    if text is None:
        return True
    try:
        msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True
