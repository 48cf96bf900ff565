"""The program of the service: a model, one tool, limits, and the defects that prompts meet."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence

import sapwood
from sapwood.core.model_calls import Answer, Delta, ToolSpec
from sapwood.core.view import Request
from sapwood.models import Models

MODEL = "den:qwen3"
DEFECT = "poison"
"""A prompt that begins with this meets a defect: its turn cannot be run."""

LIMITS = sapwood.DriveLimits(per_worker=40, per_space=2, share=2)

DEADLY = "deadly poison"
"""A prompt that begins with this ends the process that runs it."""


@sapwood.tool(reads=True)
def space_of_call(context: sapwood.ToolContext) -> str:
    """Says which tenant the call is for."""
    return context.space


class _Models:
    """Calls the scripted model, unless the last prompt is poisoned."""

    def __init__(self) -> None:
        address = os.environ.get("SAPWOOD_SERVICE_MODEL", "http://127.0.0.1:9/v1")
        self._models = Models({}, urls={"den": address})

    def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncIterator[Delta | Answer]:
        """Sends a request."""
        prompt = request.messages[-1].text
        if prompt.startswith(DEADLY):
            os._exit(137)  # as the system does when memory runs out
        if prompt.startswith(DEFECT):
            raise ValueError(DEFECT)
        return self._models.stream(request, tools, params=params)

    def window_of(self, model: str) -> int | None:
        """The context window of the model."""
        return self._models.window_of(model)


runtime = sapwood.runtime(
    tools=[space_of_call],
    models=_Models(),
    limits=LIMITS,
)
