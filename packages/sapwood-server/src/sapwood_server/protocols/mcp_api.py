"""`/mcp`: conversations as tools for MCP clients, with the identity of the request.

Every message is answered by itself, in JSON: there are no sessions, so any server of the database
can answer any message. `/mcp/{agent}` serves one conversation and nothing else.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct
from starlette.responses import Response

from sapwood.conversation.call import Person
from sapwood.conversation.model_tool import SLASH, slash_spec
from sapwood.conversation.script import CommandStep
from sapwood.core.command_table import TABLE
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome
from sapwood.core.refusals import Refusal
from sapwood.core.turn import Turn
from sapwood.mcp_server.catalog import PromptEntry, ToolEntry, slash_description
from sapwood.mcp_server.mcp_messages import McpResponder, ProtocolError, parse_message
from sapwood_server.problems import Problem
from sapwood_server.request_context import Endpoint, RequestContext

_INSTRUCTIONS = (
    "Sapwood keeps the conversations of agents. Use `conversations` and `search` to find one, "
    "`read` to see what its model sees, and `slash` to change what it sees."
)
_MAX_LENGTH = 20_000

_Agent = Annotated[str, Meta(description="The id of a conversation")]
_Some = Annotated[int, Meta(ge=1, le=100, description="How many at most")]


class _List(Struct, forbid_unknown_fields=True):
    limit: _Some = 20


class _Search(Struct, forbid_unknown_fields=True):
    query: Annotated[str, Meta(min_length=1, max_length=1_000, description="Words")]
    limit: _Some = 20


class _Read(Struct, forbid_unknown_fields=True):
    agent: _Agent
    turns: Annotated[_Some, Meta(description="How many of the last turns")] = 5


class _Slash(Struct, forbid_unknown_fields=True):
    agent: _Agent
    command: str
    args: str = ""


class ConversationCatalog:
    """The tools for one request: its principal, its space and perhaps its one conversation."""

    instructions = _INSTRUCTIONS

    def __init__(self, call: RequestContext, only: AgentId | None) -> None:
        self._call = call
        self._only = only

    def tools(self) -> list[ToolEntry]:
        """Returns all tools."""
        found = [
            self._entry("read", "Read what the model of a conversation sees", _Read),
            ToolEntry(SLASH, "Commands of an agent", slash_description(), self._slash(), True),
        ]
        if self._only is None:
            found += [
                self._entry("conversations", "List conversations, newest first", _List),
                self._entry("search", "Search all messages", _Search),
            ]
        return found

    def prompts(self) -> list[PromptEntry]:
        """Returns no prompts."""
        return []

    def prompt(self, name: str, arguments: dict[str, str]) -> str | None:
        """Returns None: there are no prompts."""
        return None

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Calls a tool and returns its answer. An error becomes an answer for the model."""
        if self._only is not None:
            if "agent" in arguments or name not in ("read", SLASH):
                return ToolOutcome("This address serves one conversation only.", error=True)
            arguments = {**arguments, "agent": self._only}
        try:
            match name:
                case "conversations":
                    return ToolOutcome(await self._conversations(_as(arguments, _List)))
                case "search":
                    return ToolOutcome(await self._found(_as(arguments, _Search)))
                case "read":
                    return ToolOutcome(await self._shown(_as(arguments, _Read)))
                case "slash":
                    return await self._run(_as(arguments, _Slash))
                case _:
                    known = ", ".join(tool.name for tool in self.tools())
                    text = f"There is no tool '{name[:60]}'. The tools are {known}."
                    return ToolOutcome(text, error=True)
        except msgspec.ValidationError as error:
            return ToolOutcome(f"The arguments do not fit the tool: {error}.", error=True)
        except (SapwoodError, Problem) as error:
            return ToolOutcome(str(error), error=True)

    def _entry(self, name: str, title: str, kind: type[Struct]) -> ToolEntry:
        return ToolEntry(name, title, f"{title}.", self._schema(kind), False)

    def _schema(self, kind: type[Struct]) -> dict[str, Any]:
        found = msgspec.json.schema(kind)["$defs"][kind.__name__]
        if self._only is not None:
            found["properties"].pop("agent", None)
            found["required"] = [each for each in found["required"] if each != "agent"]
        names = ("type", "properties", "required", "additionalProperties")
        return {name: found[name] for name in names if name in found}

    def _slash(self) -> dict[str, Any]:
        schema = self._schema(_Slash)
        schema["properties"].update(msgspec.json.decode(slash_spec().schema)["properties"])
        return schema

    async def _conversations(self, asked: _List) -> str:
        tree = await self._call.service.list_agents(limit=asked.limit, order="updated")
        lines = [
            f"{each.agent}  {each.name or '-'}  {each.tokens:,} tokens  {each.model}"
            for each in tree.agents
        ]
        return "\n".join(lines) or "There are no conversations."

    async def _found(self, asked: _Search) -> str:
        found = await self._call.service.search(asked.query, limit=asked.limit)
        return found.message or "Nothing was found."

    async def _shown(self, asked: _Read) -> str:
        agent = await self._known(asked.agent)
        live = (await self._call.space.connection.dispatcher.open(agent)).live
        texts = [_turn_text(turn) for turn in list(live.all_turns)[-asked.turns :]]
        shown = "\n\n".join(texts) or "There are no messages yet."
        return shown if len(shown) <= _MAX_LENGTH else f"[…]\n{shown[-_MAX_LENGTH:]}"

    async def _run(self, asked: _Slash) -> ToolOutcome:
        """Runs a command that models may use, as the principal of the request."""
        name = asked.command.removeprefix("/")
        row = next((row for row in TABLE.for_models if row.name == name), None)
        if row is None:
            known = ", ".join(row.name for row in TABLE.for_models)
            return ToolOutcome(f"'{name[:60]}' cannot be used here. Use: {known}.", error=True)
        principal = self._call.principal
        principal.require(row.scope)
        step = CommandStep(row, asked.args.strip())
        answer = await self._call.service.answer(
            await self._known(asked.agent), step, caller=Person(principal.actor)
        )
        if isinstance(answer, Refusal):
            return ToolOutcome(answer.for_model, error=True)
        return ToolOutcome(answer.message or "Done.")

    async def _known(self, agent: str) -> AgentId:
        connection = self._call.space.connection
        if await connection.log.summary(connection.space, AgentId(agent)) is None:
            raise SapwoodError(f"There is no conversation '{agent[:60]}'. Call `conversations`.")
        return AgentId(agent)


def _as(arguments: dict[str, Any], kind: type[Any]) -> Any:
    return msgspec.convert(arguments, kind)


def _turn_text(turn: Turn) -> str:
    asked = "\n".join(part.text for part in turn.prompt)
    return "\n".join((f"[{turn.agent}:{turn.first}] {asked}", *turn.texts()[len(turn.prompt) :]))


async def answer_message(call: RequestContext) -> Response:
    """Answers one message of an MCP client."""
    body = await call.body()
    only = await call.agent() if "agent" in call.request.path_params else None
    headers = {"Cache-Control": "no-store"}
    try:
        message = parse_message(msgspec.json.encode(body))
    except ProtocolError as error:
        raise Problem(400, "Not a valid message", str(error)) from None
    if message.id is UNSET:
        return Response(status_code=202, headers=headers)
    answer = await McpResponder(ConversationCatalog(call, only)).answer(message)
    return Response(answer, headers=headers, media_type="application/json")


def mcp_endpoints() -> tuple[Endpoint, ...]:
    """The routes of MCP."""
    about = "Handle an MCP client's message; commands need their own scopes too"
    return (
        Endpoint("POST", "/mcp", "read", answer_message, about),
        Endpoint("POST", "/mcp/{agent}", "read", answer_message, f"{about}, in one conversation"),
    )
