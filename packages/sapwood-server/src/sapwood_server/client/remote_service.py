"""The conversation service of a server: its handlers run there, where files, keys and tools are.

Everything that only reads works on the log of the server, as in every other face.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.conversation.answers import Answer, Changed, Prompted
from sapwood.conversation.call import Caller, ModelCall, Person, Services
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.content import File, PromptPart, Text
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.events import HUMAN, Actor, Pin
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Settings
from sapwood.core.tags import Tags
from sapwood.core.turn_params import TurnParams
from sapwood.turns.clock_and_ids import new_nonce
from sapwood_server.client.http_session import HttpSession, path_of


class _Answered(Struct, frozen=True):
    answer: Answer


class _Started(Struct, frozen=True):
    agent: AgentId


class _Uploaded(Struct, frozen=True):
    id: str


class _Upload(Struct, frozen=True):
    file: _Uploaded


class RemoteService(ConversationService):
    """Sends prompts and commands to a server and returns its typed answers."""

    def __init__(self, services: Services, session: HttpSession) -> None:
        super().__init__(services)
        self._session = session

    async def answer(
        self,
        agent: AgentId | None,
        run: CommandStep,
        *,
        caller: Caller | None = None,
        goal: str = "",
    ) -> Answer | Refusal:
        """Carries out one command on the server. `agent` is None before there is a conversation."""
        if isinstance(caller, ModelCall):
            raise SapwoodError("A server's agents run on the server. Nothing was changed.")
        words = ("v1", "agents", agent) if agent else ("v1",)
        body = {
            "args": run.args,
            "goal": goal,
            "picks": self.services.picks,
            "id": _once(caller.command_id if isinstance(caller, Person) else None),
        }
        try:
            path = path_of(*words, "commands", run.command.name)
            return (await self._session.post(path, body, _Answered)).answer
        except RefusedError as refused:
            return refused.refusal

    async def prompt(
        self,
        agent: AgentId,
        prompt: str | tuple[PromptPart, ...],
        *,
        actor: Actor = HUMAN,
        command_id: str | None = None,
        params: TurnParams | None = None,
        reads_instructions: bool = True,
        request: str = "",
    ) -> Prompted | Refusal:
        """Opens a turn with a prompt. Files are uploaded first, and the server reads instructions.

        Raises `Failure`.
        """
        if not reads_instructions:
            raise SapwoodError(
                "The server reads the instructions in its own workspace. Nothing was sent."
            )
        parts: Sequence[PromptPart] = (Text(prompt),) if isinstance(prompt, str) else prompt
        try:
            sent = [await self._part(agent, part) for part in parts]
            body = {"parts": sent, "params": params, "id": _once(command_id)}
            answered = await self._session.post(
                path_of("v1", "agents", agent, "turns"), body, _Answered
            )
        except RefusedError as refused:
            return refused.refusal
        assert isinstance(answered.answer, Prompted)
        return answered.answer

    async def start(
        self,
        folder: str = "",
        *,
        name: str = "",
        settings: Settings | None = None,
        pins: tuple[Pin, ...] = (),
        agent: AgentId | None = None,
        has_prompt: bool = True,
        script: bool = False,
        tags: Tags | None = None,
        actor: Actor = HUMAN,
        command_id: str | None = None,
        request: str = "",
    ) -> AgentId:
        """Starts a conversation on the server; without settings, with the server's.

        A folder is one of the server, so that of the caller is not sent: the server's own is used.
        """
        if settings is None:
            body = {"name": name, "has_prompt": has_prompt, "id": _once(command_id)}
            return (await self._session.post("/v1/agents", body, _Started)).agent
        return await super().start(
            folder,
            name=name,
            settings=settings,
            pins=pins,
            agent=agent,
            has_prompt=has_prompt,
            script=script,
            tags=tags,
            actor=actor,
            command_id=command_id,
            request=request,
        )

    async def checkpoint(
        self, agent: AgentId, *, actor: Actor = HUMAN, command_id: str | None = None
    ) -> Changed:
        """Raises `SapwoodError`: the files are on the machine of the server."""
        raise SapwoodError(
            "This conversation's files are on the server, which saves them in each turn. Nothing "
            "was changed."
        )

    async def _part(self, agent: AgentId, part: PromptPart) -> object:
        if not isinstance(part, File):
            return part
        path = path_of("v1", "agents", agent, "files")
        stored = await self._session.upload(path, part.content, _Upload, name=part.name)
        return {"type": "upload", "id": stored.file.id, "name": part.name}


def _once(command_id: str | None) -> str:
    """An id, so that a request that is repeated acts once."""
    return command_id or new_nonce() + new_nonce()
