"""Owners, labels, erasure and retention over HTTP, in the space of the token.

Erasure and retention cannot be undone, so they need the scope `admin`.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from sapwood.app.removal import eraser_for, is_free, let_go
from sapwood.core.commands import TagAgent
from sapwood.core.erasure import Erasure
from sapwood.core.ids import AgentId
from sapwood.core.tags import entries_of
from sapwood.display.json_values import AgentValue, agent_value
from sapwood.display.quantities import iso
from sapwood.lifecycle.erasable_log import erasable
from sapwood.lifecycle.retention import RetentionRule, idle_conversations
from sapwood_server.problems import Problem
from sapwood_server.request_context import (
    OnceBody,
    RequestBody,
    RequestContext,
    Routes,
    json_response,
)

ROUTES = Routes()


class TagsBody(OnceBody, frozen=True, kw_only=True):
    """A change of owner, labels and metadata. What is left out stays as it is."""

    owner: str | None = None
    add: Annotated[tuple[str, ...], Meta(description="Labels to add.")] = ()
    remove: Annotated[tuple[str, ...], Meta(description="Labels to remove.")] = ()
    metadata: Annotated[
        Mapping[str, str], Meta(description="Entries to set; an empty value removes one.")
    ] = msgspec.field(default_factory=dict[str, str])


@ROUTES.add(
    "POST",
    "/v1/agents/{agent}/tags",
    "write",
    "Change owner, labels and metadata",
    response=AgentValue,
    statuses=(200, 204),
    details="204: the tags were changed, but the token lacks the scope `read`.",
)
async def change_tags(call: RequestContext, agent: AgentId, body: TagsBody) -> Response:
    """Changes owner, labels and metadata, and answers with what lists then show.

    A token that may not read gets no content.
    """
    command = TagAgent(agent, body.owner, body.add, body.remove, entries_of(body.metadata))
    await call.service.dispatch(command, call.principal.actor, command_id=await call.command_id())
    if "read" not in call.principal.scopes:
        return Response(status_code=204)
    return json_response(agent_value(await call.summary()))


class ErasureDone(Struct, frozen=True):
    """The record of an erasure: counts, and nothing of what was erased.

    `contents` counts long texts that nothing else referred to, and `rewritten` the events of other
    conversations in which mail or quotations were replaced.
    """

    id: str
    at: str
    by: str
    scope: str
    agents: int
    events: int
    contents: int
    rewritten: int


def _record(erasure: Erasure) -> ErasureDone:
    fields: dict[str, Any] = {
        name: getattr(erasure, name) for name in ErasureDone.__struct_fields__
    }
    fields["at"] = iso(erasure.at)
    return ErasureDone(**fields)


@ROUTES.add(
    "DELETE",
    "/v1/agents/{agent}",
    "admin",
    "Permanently erase a conversation and everything forked from it",
)
async def erase_agent(call: RequestContext, agent: AgentId) -> ErasureDone:
    """Erases an agent and all that descend from it. Raises `RefusedError` if it is held."""
    eraser = eraser_for(call.space.connection)
    return _record(await eraser.erase([agent], by=str(call.principal.actor)))


@ROUTES.add(
    "DELETE",
    "/v1/owners/{owner:path}",
    "admin",
    "Permanently erase all conversations of an owner",
)
async def erase_owner(call: RequestContext, owner: str) -> ErasureDone:
    """Erases everything of an owner. Raises `RefusedError` if one conversation is held.

    Owners may have slashes. An empty one would be every owner.
    """
    if not owner:
        raise Problem(404, "Owner missing", "Name the owner: DELETE /v1/owners/OWNER.")
    eraser = eraser_for(call.space.connection)
    return _record(await eraser.erase_owner(owner, by=str(call.principal.actor)))


class RetentionBody(RequestBody, frozen=True):
    """Conversations of a label, of an owner or of all, without an event for so many days."""

    days: Annotated[float, Meta(ge=0)]
    label: str = ""
    owner: str = ""
    erase: Annotated[bool, Meta(description="Erase them; without it they are only listed.")] = False


class IdleValue(Struct, frozen=True):
    """An idle conversation: its root, how many agents it has, and its last event.

    One that is `held` is never erased.
    """

    root: AgentValue
    agents: int
    updated: str
    held: bool


class RetentionDone(Struct, frozen=True):
    """The conversations that a rule is about, the longest idle first, and how many were erased."""

    conversations: tuple[IdleValue, ...]
    erased: int


@ROUTES.add(
    "POST",
    "/v1/retention",
    "admin",
    "List conversations that are idle for longer than a rule allows, or erase them",
)
async def retain(call: RequestContext, body: RetentionBody) -> RetentionDone:
    """Lists the conversations that a rule is about, and erases them if that is asked for."""
    connection = call.space.connection
    rule = RetentionRule(body.days, body.label, body.owner)
    found = await idle_conversations(erasable(connection.log), connection.space, rule)
    free = [each for each in found if is_free(each, "")] if body.erase else []
    erased = await let_go(connection, free, "", by=str(call.principal.actor))
    shown = tuple(
        IdleValue(agent_value(each.root), each.agents, iso(each.updated), each.held)
        for each in found
    )
    return RetentionDone(shown, erased)
