"""The program of the service: a scripted model, and two defects that prompts meet."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence

import sapwood
from sapwood.core.model_calls import Answer, Delta, ToolSpec
from sapwood.core.view import Request
from sapwood.models import Models

MODEL = "den:qwen3"
POISON = "page 13"
DEFECT = "page 13 cannot be parsed"
DEADLY = "all pages at once"
"""A prompt with this needs more memory than there is, so its process ends."""


class _Models:
    """Calls the scripted model, unless the last prompt meets a defect."""

    def __init__(self) -> None:
        self._models = Models({}, urls={"den": os.environ.get("SAPWOOD_INCIDENTS_MODEL", "")})

    def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncIterator[Delta | Answer]:
        """Sends a request."""
        if DEADLY in request.messages[-1].text:
            os._exit(137)  # as the system does when memory runs out
        if POISON in request.messages[-1].text:
            raise ValueError(DEFECT)
        return self._models.stream(request, tools, params=params)

    def window_of(self, model: str) -> int | None:
        """The context window of the model."""
        return self._models.window_of(model)


runtime = sapwood.runtime(
    models=_Models(), limits=sapwood.DriveLimits(per_worker=20, per_space=4, share=4)
)
