"""The program of the service: its model, one tool, and its limits."""

import os

import sapwood

MODEL = "den:qwen3"


@sapwood.tool(reads=True)
def space_of_call(context: sapwood.ToolContext) -> str:
    """Says which tenant the call is for."""
    return context.space


runtime = sapwood.runtime(
    tools=[space_of_call],
    models={},
    urls={"den": os.environ.get("SAPWOOD_SERVICE_MODEL", "http://127.0.0.1:9/v1")},
    limits=sapwood.DriveLimits(per_worker=40, per_space=2, share=2),
)
