"""One request with who sent it and the space that it is about; and the table of routes."""

import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict, TypeVar, Unpack, cast, get_type_hints

import msgspec
from msgspec import Meta, Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from sapwood.config.server_tokens import TokenScope
from sapwood.conversation.service import ConversationService
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import AgentSummary
from sapwood.core.refusals import UnknownAgent
from sapwood.core.settings import Workspace
from sapwood.workspace.space_folder import SpaceFolder
from sapwood_server.access.principal import Principal
from sapwood_server.access.request_checks import MAX_BYTES, read_json
from sapwood_server.answered_requests import RequestContent
from sapwood_server.problems import Problem, refusal_problem
from sapwood_server.served_space import ServedSpace

_MAX_ID = 200

_encode = msgspec.json.Encoder(enc_hook=str).encode


class RequestBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a request. This one has no fields."""


class OnceBody(RequestBody, frozen=True, kw_only=True):
    """The body of a request that acts once, however often it is sent with the same id."""

    id: Annotated[
        str,
        Meta(
            max_length=_MAX_ID,
            description="An idempotency id, instead of the header Idempotency-Key: repeated "
            "requests with the same id act once and get the first answer.",
        ),
    ] = ""


class QueryParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a query. This one has none."""


Read = TypeVar("Read", bound=Struct)


class RequestContext:
    """A request that has passed all checks."""

    def __init__(
        self, request: Request, principal: Principal, space: ServedSpace, max_bytes: int = MAX_BYTES
    ) -> None:
        self.request = request
        self.principal = principal
        self.space = space
        self._max_bytes = max_bytes
        self._body: dict[str, object] | None = None
        self._command_id: str | None = None

    @property
    def service(self) -> ConversationService:
        """The conversation service of the principal's space."""
        return self.space.agents.service

    async def body(self) -> dict[str, object]:
        """The body, an object in JSON. Raises `Problem`."""
        if self._body is None:
            self._body = await read_json(self.request, max_bytes=self._max_bytes)
        return self._body

    async def read(self, kind: type[Read]) -> Read:
        """The body as a value of this type. Raises `Problem` for another type or unknown field."""
        body = await self.body()
        try:
            found = msgspec.convert(body, kind)
        except msgspec.MsgspecError as error:
            raise Problem(422, "Invalid body", f"The body cannot be read: {error}.") from None
        if unknown := _unknown_field(body, found):
            why = f"The body cannot be read: there is no field '{unknown}'."
            raise Problem(422, "Invalid body", why)
        return found

    def parameters(self, kind: type[Read]) -> Read:
        """The query as a value of this type. Raises `Problem`. Empty values are left out."""
        given = {name: value for name, value in self.request.query_params.items() if value}
        try:
            return msgspec.convert(given, kind, strict=False)
        except msgspec.MsgspecError as error:
            raise Problem(400, "Invalid query", f"The query cannot be read: {error}.") from None

    async def command_id(self) -> str | None:
        """The id of what the request asks for: the given one, made the principal's own."""
        body = await self.body()
        given = body.get("id") or self.request.headers.get("idempotency-key", "")
        if not isinstance(given, str):
            raise Problem(422, "Invalid type", "'id' must be a string.")
        if not given:
            return None
        if len(given) > _MAX_ID:
            raise Problem(422, "Id too long", f"An id can be up to {_MAX_ID} characters long.")
        if self._command_id is None:
            self._command_id = await self._own_id(given)
        return self._command_id

    async def _own_id(self, given: str) -> str:
        """The id among those of the principal. Earlier versions had one for each conversation."""
        name, agent = self.principal.name, self.request.path_params.get("agent", "")
        earlier = _hashed(f"{name}\n{agent}\n{given}")
        connection = self.space.connection
        if agent and await connection.log.receipt(connection.space, CommandId(earlier)):
            return earlier
        return _hashed(f"{name}\n\n{given}")

    async def content(self) -> RequestContent:
        """What the request asks for, whatever its id. Raises `Problem`.

        A command that says what it was made from may have new ids in a retry: of a child, of mail.
        """
        body = await self.body()
        left_out = ("id", "command") if body.get("request") else ("id",)
        asked = {name: value for name, value in body.items() if name not in left_out}
        try:
            encoded = msgspec.json.encode(asked, order="sorted")
        except RecursionError:
            raise Problem(400, "Not JSON", "The body is nested too deeply.") from None
        route = f"{self.request.method} {self.request.url.path}"
        return RequestContent(route, hashlib.sha256(encoded).hexdigest())

    async def summary(self) -> AgentSummary:
        """The agent that the path names, by its exact id. Raises `Problem` if there is none."""
        agent = self.request.path_params["agent"]
        connection = self.space.connection
        found = await connection.log.summary(connection.space, AgentId(agent))
        if found is None:
            raise refusal_problem(UnknownAgent(agent))
        return found

    async def agent(self) -> AgentId:
        """The id of the agent that the path names. Raises `Problem` if there is none."""
        return (await self.summary()).agent

    def own_folder(self, given: str) -> str:
        """The folder of a new conversation: the given one, which begins at that of the space.

        Raises `Problem` if the conversation may not be there.
        """
        own = self.space.agents.folder
        folder = os.path.join(own, os.path.expanduser(given)) if given else own
        self.require_paths(Workspace(folder))
        return folder

    def require_paths(self, command: Struct) -> None:
        """Raises `Problem` unless the principal may use every path of the machine in a command.

        Whoever works in a folder reads its files. A space with a folder of its own refuses all
        others by itself. In the space of the person at the machine, what is outside of the current
        folder is for those who administer the machine.
        """
        if self.space.connection.folder is not None:
            return
        own = SpaceFolder(os.path.realpath(self.space.agents.folder))
        if own.paths_outside(command):
            self.principal.require("admin")

    @property
    def is_own_machine(self) -> bool:
        """Whether the principal administers the machine that the space works on."""
        return "admin" in self.principal.scopes and self.space.connection.folder is None

    @property
    def is_typed_here(self) -> bool:
        """Whether the person at the machine typed this into the page.

        Only then do shell commands, checks of goals and `@FILE` have that person's rights: a
        program with a token may pass on texts of others.
        """
        return self.principal.by_cookie and self.is_own_machine

    @property
    def typed_service(self) -> ConversationService:
        """The service for what was sent: with a person's own rights if they typed it here."""
        agents = self.space.agents
        if self.is_typed_here:
            return agents.at_machine
        return agents.picking if self.principal.by_cookie else self.service

    def require_own_machine(self) -> None:
        """Raises `Problem` unless the principal administers the machine that the space works on."""
        self.principal.require("admin")
        if self.space.connection.folder is not None:
            raise Problem(
                403,
                "Not available here",
                (
                    "Sessions on the server's machine are available only to the person there, not "
                    "in this space."
                ),
            )

    def query(self, name: str, default: str = "") -> str:
        """A parameter of the query."""
        return self.request.query_params.get(name, default)

    def number(self, name: str, default: int, *, minimum: int = 0, maximum: int = 10**12) -> int:
        """A whole number of the query, brought into its bounds. Raises `Problem`."""
        typed = self.query(name)
        if not typed:
            return default
        if not typed.isascii() or not typed.isdigit() or len(typed) > 15:
            raise Problem(400, "Not a number", f"'{name}' must be a whole number.")
        return max(minimum, min(int(typed), maximum))


Handler = Callable[[RequestContext], Awaitable[Response]]
Method = Literal["GET", "POST", "DELETE"]


class Endpoint(Struct, frozen=True):
    """One row of the table of routes. No endpoint can be made without saying its scope.

    `request` and `query` are the types of what is sent, `response` that of the answer: handlers
    read and answer with them, and the description of the API is made from them. `details` adds to
    it. An `internal` route serves the page or Sapwood's own client. `messages` are the types of
    the messages of a stream, by their event; '' is any other event.
    `takes` and `answers` are content types. `errors`: problem documents, or such with the member
    `error` that OpenAI clients read.
    """

    method: Method
    path: str
    scope: TokenScope
    handler: Handler
    summary: str
    request: type[Struct] | None = None
    query: type[QueryParameters] | None = None
    response: object = None
    statuses: tuple[int, ...] = (200,)
    details: str = ""
    internal: bool = False
    messages: Mapping[str, tuple[type, ...]] = {}
    answers: str = "application/json"
    takes: str = "application/json"
    errors: Literal["problem", "openai"] = "problem"
    max_bytes: int = MAX_BYTES
    """Bytes that the body may have at most."""

    @property
    def template(self) -> str:
        """The path as descriptions write it: without the sign that a parameter may have slashes."""
        return self.path.replace(":path}", "}")

    @property
    def is_described(self) -> bool:
        """Whether the route is part of the API that is promised.

        Routes of the page, of Sapwood's own client and of the protocols of others are not.
        """
        own = self.path.startswith("/v1/") and self.errors == "problem"
        return own and not self.internal

    @property
    def is_once(self) -> bool:
        """Whether a request with an id is answered like the first one with it."""
        return self.request is not None and "id" in self.request.__struct_fields__


class EndpointOptions(TypedDict, total=False):
    """The fields of `Endpoint` that have a default."""

    request: type[Struct] | None
    query: type[QueryParameters] | None
    response: object
    statuses: tuple[int, ...]
    details: str
    internal: bool
    messages: Mapping[str, tuple[type, ...]]
    answers: str
    takes: str
    errors: Literal["problem", "openai"]
    max_bytes: int


Answering = TypeVar("Answering", bound=Callable[..., Awaitable[object]])


class Routes:
    """The endpoints of a file, each declared above its handler. `common` holds for all of them.

    The signature of a handler says what is sent and answered. After the call, its parameters are
    read in their order: by their type the agent of the path or its summary, the query or the body;
    a string is the part of the path with its name. An answer is sent as JSON, with the first
    status.
    """

    def __init__(self, **common: Unpack[EndpointOptions]) -> None:
        self.endpoints: list[Endpoint] = []
        self._common = common

    def add(
        self,
        method: Method,
        path: str,
        scope: TokenScope,
        summary: str,
        **options: Unpack[EndpointOptions],
    ) -> Callable[[Answering], Answering]:
        """Returns a decorator that adds an endpoint with this handler."""

        def decorate(handler: Answering) -> Answering:
            kinds = get_type_hints(handler)
            fields = _signature(kinds) | self._common | options
            status = fields.get("statuses", (200,))[0]

            async def answer(call: RequestContext) -> Response:
                given = {
                    name: await _argument(call, name, kind)
                    for name, kind in kinds.items()
                    if kind is not RequestContext and name != "return"
                }
                value = await handler(call, **given)
                return value if isinstance(value, Response) else json_response(value, status)

            self.endpoints.append(Endpoint(method, path, scope, answer, summary, **fields))
            return handler

        return decorate


def _signature(kinds: Mapping[str, Any]) -> EndpointOptions:
    """The types of what is sent and answered, from the types of a handler."""
    found = EndpointOptions()
    for name, kind in kinds.items():
        if name == "return":
            found["response"] = None if kind is Response else kind
        elif isinstance(kind, type) and issubclass(kind, QueryParameters):
            found["query"] = kind
        elif isinstance(kind, type) and issubclass(kind, RequestBody):
            found["request"] = kind
    return found


async def _argument(call: RequestContext, name: str, kind: Any) -> object:
    if kind is str:
        return call.request.path_params[name]
    if kind is AgentId:
        return await call.agent()
    if kind is AgentSummary:
        return await call.summary()
    if issubclass(kind, QueryParameters):
        return call.parameters(kind)
    return await call.read(kind)


def _hashed(whose: str) -> str:
    return "http-" + hashlib.sha256(whose.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def json_response(value: object, status: int = 200) -> Response:
    """A value as JSON."""
    return Response(
        _encode(value), status, headers={"Cache-Control": "no-store"}, media_type="application/json"
    )


def text_field(body: dict[str, object], name: str) -> str:
    """A field of a body that is a string, empty if it is missing. Raises `Problem`."""
    value = body.get(name, "")
    if not isinstance(value, str):
        raise Problem(422, "Invalid type", f"'{name}' must be a string.")
    return value


def _unknown_field(given: object, found: object, place: str = "") -> str:
    """The first field of a body that the value read from it does not have; empty if none is.

    Values that are stored too, such as the parameters of a turn, do not refuse such fields
    themselves: a later version may have written them.
    """
    if isinstance(given, dict) and isinstance(found, Struct):
        fields = {each.encode_name: each.name for each in structs.fields(found)}
        tag = found.__struct_config__.tag_field
        for name, value in cast("dict[str, object]", given).items():
            if name == tag:
                continue
            if name not in fields:
                return f"{place}{name}"
            inner = _unknown_field(value, getattr(found, fields[name]), f"{place}{name}.")
            if inner:
                return inner
    elif isinstance(given, list) and isinstance(found, tuple | list):
        items = zip(cast("list[object]", given), cast("Sequence[object]", found), strict=False)
        for number, (value, read) in enumerate(items):
            if inner := _unknown_field(value, read, f"{place[:-1]}[{number}]."):
                return inner
    return ""
