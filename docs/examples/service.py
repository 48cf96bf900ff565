"""A chat service: workers answer the prompts of all tenants, and words arrive as SSE.

    uvicorn service:app                                  # the web server; it runs no turns
    sapwood worker --app service:runtime --spaces '*'    # three times, on any machine
It needs `sapwood[all]`, and PostgreSQL: DATABASE_URL (web server) and SAPWOOD_DATABASE (workers).
"""

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import sapwood


@sapwood.tool(reads=True)
def order_status(order: str, context: sapwood.ToolContext) -> str:
    """Says where an order is."""
    return f"Order {order} of {context.space} is on its way."


limits = sapwood.DriveLimits(per_worker=100, per_space=20, per_user=3)
params = sapwood.TurnParams(max_tokens=2_000, calls=20)
runtime = sapwood.runtime(tools=[order_status], params=params, limits=limits)


@asynccontextmanager
async def database(app: Starlette) -> AsyncGenerator[None]:
    async with sapwood.open(os.environ["DATABASE_URL"]) as app.state.db:
        yield


async def ask(request: Request) -> Response:
    tenant, user = request.headers["x-tenant"], request.headers["x-user"]  # after your own login
    db, said = request.app.state.db.space(tenant), await request.json()
    name, model = f"{user}.{request.path_params['chat']}", os.environ["SERVICE_MODEL"]
    chat = await db.start(id=name, resume=True, owner=user, model=model)
    key = request.headers.get("idempotency-key")  # of this user: another one may send the same
    turn = chat.ask(said["text"], command_id=f"{name}:{key}" if key else None)
    try:
        await turn.send()
        return StreamingResponse(words_of(turn), media_type="text/event-stream")
    except sapwood.RefusedError as refused:
        return JSONResponse({"error": str(refused)}, 409)


async def words_of(turn: sapwood.TurnStream[str]) -> AsyncGenerator[str]:
    async for item in turn:
        if isinstance(item, sapwood.Delta) and item.kind == "text":
            yield f"data: {json.dumps(item.text)}\n\n"
    yield f"event: end\ndata: {json.dumps(turn.result.text)}\n\n"


app = Starlette(routes=[Route("/chats/{chat}", ask, methods=["POST"])], lifespan=database)
