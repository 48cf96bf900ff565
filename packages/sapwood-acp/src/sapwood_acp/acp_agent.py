"""The agent that an editor talks to: its sessions are conversations of Sapwood.

Asks in the editor whether a tool may run, when no permission rule decides.

What a person sent from an editor: the blocks of a prompt as a script of commands and text.
"""

import asyncio
import base64
import logging
import secrets
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.helpers import SessionUpdate, text_block, tool_content, update_agent_message_text
from acp.interfaces import Client

from sapwood.app.agent_runner import AgentOutput
from sapwood.app.connection import Connection
from sapwood.app.permission_questions import PermissionQuestions
from sapwood.app.prompt_end import PromptProgress
from sapwood.app.running_space import RunningSpace
from sapwood.config.config_file import Config
from sapwood.conversation.answers import Answer, Prompted
from sapwood.conversation.configured_models import first_settings
from sapwood.conversation.script import CommandStep, Script, TextStep, chunks, parse, with_files
from sapwood.conversation.timeline_reader import read_conversation
from sapwood.core.content import File
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.events import Recorded, ReplyAdded
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta, Failure
from sapwood.core.refusals import Refusal
from sapwood.core.settings import PermissionMode, SettingsChange
from sapwood.display.permission_text import (
    AnswerChoice,
    answer_choices,
    approval_lines,
    request_sentence,
)
from sapwood.display.text import visible
from sapwood.workspace.permissions.permission_gate import (
    AllowAlways,
    Deny,
    NobodyAnswers,
    PermissionAnswer,
    PermissionQuestion,
)
from sapwood_acp.session_updates import (
    available_commands,
    delta_updates,
    event_updates,
    history_updates,
)


async def ask_in_editor(
    client: Client, session: str, question: PermissionQuestion
) -> PermissionAnswer:
    """Shows all of what would be done, and returns the answer. A closed question is a denial."""
    choices = {each.key: each for each in answer_choices(question) if each.answer is not None}
    answered = await client.request_permission(
        session_id=session,
        tool_call=_shown(session, question),
        options=[_option(each) for each in choices.values()],
    )
    if not isinstance(answered.outcome, schema.AllowedOutcome):
        return Deny("the question was closed")
    choice = choices.get(answered.outcome.option_id)
    return Deny() if choice is None or choice.answer is None else choice.answer


def _shown(session: str, question: PermissionQuestion) -> schema.ToolCallUpdate:
    name = "" if question.agent == session else str(question.agent)
    lines = [f"in {question.workspace}"] if question.workspace else []
    lines += [question.why] if question.why else []
    lines += [line.text for line in approval_lines(question)]
    return schema.ToolCallUpdate(
        tool_call_id=f"question-{secrets.token_hex(6)}",
        title=visible(request_sentence(question, name)),
        status="pending",
        content=[tool_content(text_block(visible("\n".join(lines))))],
    )


def _option(choice: AnswerChoice) -> schema.PermissionOption:
    kind: schema.PermissionOptionKind = "reject_once"
    if choice.allows:
        kind = "allow_always" if isinstance(choice.answer, AllowAlways) else "allow_once"
    return schema.PermissionOption(option_id=choice.key, name=visible(choice.words), kind=kind)


ContentBlock = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
)


class UnsupportedBlock(Exception):
    """A prompt holds something that Sapwood does not take, such as a file that is no base64."""


def prompt_script(blocks: Sequence[ContentBlock]) -> Script | Refusal:
    """The steps of a prompt. Only what was typed can be a command; what is attached cannot.

    Raises `UnsupportedBlock`.
    """
    typed: list[str] = []
    attached: list[str] = []
    files: list[File] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock(text=text):
                typed.append(text)
            case schema.ResourceContentBlock(uri=uri):
                typed.append(_path(uri))
            case schema.EmbeddedResourceContentBlock(
                resource=schema.TextResourceContents(uri=uri, text=text)
            ):
                attached.append(f"{_path(uri)}:\n```\n{text}\n```")
            case schema.EmbeddedResourceContentBlock(
                resource=schema.BlobResourceContents() as blob
            ):
                files.append(_file(blob.blob, blob.mime_type, blob.uri))
            case schema.ImageContentBlock(data=data, mime_type=kind, uri=uri):
                files.append(_file(data, kind, uri))
            case schema.AudioContentBlock(data=data, mime_type=kind):
                files.append(_file(data, kind))
            case _:
                raise UnsupportedBlock(f"Blocks of type '{block.type}' cannot be sent.")
    script = parse("".join(typed))
    if isinstance(script, Refusal):
        return script
    if attached:
        script = _with_text(script, "\n\n".join(attached))
    if not files:
        return script
    whole = with_files(script, tuple(files))
    if whole is None:
        raise UnsupportedBlock("A command takes no files. Send them with a prompt.")
    return whole


def _with_text(script: Script, text: str) -> Script:
    """The script with text appended to its last prompt, or as its last prompt."""
    if script and isinstance(last := script[-1], TextStep) and not last.goal:
        return (*script[:-1], TextStep(f"{last.text}\n\n{text}"))
    return (*script, TextStep(text))


def _file(data: str, media_type: str | None, uri: str | None = None) -> File:
    name = _path(uri or "").rpartition("/")[2]
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        raise UnsupportedBlock(
            f"{name or 'The file'} cannot be sent: it is not valid base64."
        ) from None
    return File.of(content, name=name, media_type=media_type or "")


def _path(uri: str) -> str:
    return unquote(uri.removeprefix("file://")) if uri.startswith("file://") else uri


_log = logging.getLogger("sapwood.agents")
_PAGE = 50
_REFUSED = -32000
_STAYS = (
    "{command} did nothing: a thread of the editor stays with its conversation. "
    "Open a new thread in the editor, or choose another one there."
)
_STOP_REASONS: dict[str, schema.StopReason] = {"length": "max_tokens", "refused": "refusal"}
_MODES: dict[PermissionMode, str] = {
    "ask": "Ask before a tool changes anything",
    "accept-edits": "Change files in the folder without asking",
    "plan": "Make no changes, and write a plan",
    "read-only": "Make no changes",
    "all": "Allow every tool",
}


class AcpAgent:
    """Answers an editor. One process serves all sessions that the editor opens.

    A session id is the id of an agent, so the same conversation can be open on a screen too.
    """

    def __init__(
        self, connection: Connection, config: Config, keys: Mapping[str, str], model: str = ""
    ) -> None:
        """`model` is the model or program of new sessions; by default the configured one."""
        self._connection = connection
        self._config = config
        self._model = model or config.model
        self._client: Client | None = None
        self._sessions: dict[AgentId, None] = {}
        self._background: set[asyncio.Task[None]] = set()
        asked = PermissionQuestions(connection, self._ask).ask
        self._agents = RunningSpace(connection, config, keys, _log.error, approve=asked)
        self._service = self._agents.service

    def on_connect(self, conn: Client) -> None:
        """Keeps the connection, over which updates and questions are sent."""
        self._client = conn

    async def close(self) -> None:
        """Stops driving agents. Open turns stay open, and the next process continues them."""
        await self._agents.close()

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        """Says what this agent can do."""
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_info=schema.Implementation(name="sapwood", version=version("sapwood")),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(
                    image=True, audio=True, embedded_context=True
                ),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    fork=schema.SessionForkCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, **_: Any) -> schema.NewSessionResponse:
        """Starts a conversation in a folder."""
        settings = first_settings(self._config, self._model)
        try:
            agent = await self._service.start(cwd, settings=settings)
        except RefusedError as refused:
            raise _refused(refused.refusal) from None
        self._open(agent)
        return schema.NewSessionResponse(session_id=agent, modes=_modes(settings.permission_mode))

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> schema.LoadSessionResponse:
        """Opens a conversation and sends everything that the model sees."""
        agent, mode = await self._known(session_id)
        connection = self._connection
        conversation = await read_conversation(connection.log, connection.space, agent)
        await self._send(agent, history_updates(conversation))
        self._open(agent)
        return schema.LoadSessionResponse(modes=_modes(mode))

    async def resume_session(
        self, session_id: str, cwd: str, **_: Any
    ) -> schema.ResumeSessionResponse:
        """Opens a conversation without sending what was said."""
        agent, mode = await self._known(session_id)
        self._open(agent)
        return schema.ResumeSessionResponse(modes=_modes(mode))

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """A page of the conversations of a folder, or of all, newest first."""
        log, space = self._connection.log, self._connection.space
        after = await log.summary(space, AgentId(cursor)) if cursor else None
        if cwd:
            page = await log.conversations(space, cwd, after=after, limit=_PAGE, status="running")
        else:
            page = await log.agents(space, after=after, limit=_PAGE, status="running")
        sessions = [
            schema.SessionInfo(
                session_id=summary.agent,
                cwd=summary.folder or "/",
                title=summary.name or None,
                updated_at=_time(summary.updated),
            )
            for summary in page
            if not summary.source
        ]
        return schema.ListSessionsResponse(
            sessions=sessions, next_cursor=page[-1].agent if len(page) == _PAGE else None
        )

    async def fork_session(self, session_id: str, cwd: str, **_: Any) -> schema.ForkSessionResponse:
        """Makes a child that sees the same context, and opens it."""
        agent, mode = await self._known(session_id)
        try:
            forked = await self._service.fork(agent)
        except RefusedError as refused:
            raise _refused(refused.refusal) from None
        self._open(forked.child)
        return schema.ForkSessionResponse(session_id=forked.child, modes=_modes(mode))

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        """Changes what tools may do without a question."""
        agent, _mode = await self._known(session_id)
        for mode in _MODES:
            if mode == mode_id:
                await self._service.configure(agent, SettingsChange(permission_mode=mode))
                return schema.SetSessionModeResponse()
        raise RequestError.invalid_params({"mode": mode_id, "known": list(_MODES)})

    async def prompt(
        self, session_id: str, prompt: Sequence[ContentBlock], **_: Any
    ) -> schema.PromptResponse:
        """Runs a prompt or commands until the last turn has ended."""
        agent, _mode = await self._known(session_id)
        try:
            script = prompt_script(prompt)
            if isinstance(script, Refusal):
                raise _refused(script)
            stop: schema.StopReason = "end_turn"
            for chunk in chunks(script):
                stop = await self._step(agent, chunk)
                if stop != "end_turn":
                    break
        except UnsupportedBlock as problem:
            raise RequestError.invalid_params({"details": str(problem)}) from None
        except (Failure, SapwoodError) as problem:
            raise RequestError(_REFUSED, str(problem)) from None
        return schema.PromptResponse(stop_reason=stop)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        """Asks no more questions in this session. The conversation stays."""
        self._sessions.pop(AgentId(session_id), None)
        return schema.CloseSessionResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Interrupts the open turn. What had arrived of the reply is kept."""
        if AgentId(session_id) in self._sessions:
            await self._agents.runner.interrupt(AgentId(session_id), "the editor cancelled it")

    async def _step(self, agent: AgentId, chunk: Script) -> schema.StopReason:
        """Runs one step of a script in the session, and sends what comes of it.

        A session keeps its id, so a command that leaves the conversation is refused.
        """
        step = chunk[-1]
        if isinstance(step, CommandStep) and step.command.leaves:
            raise RequestError(_REFUSED, _STAYS.format(command=step.command.typed))
        runner = await self._agents.started()
        after = (await self._connection.dispatcher.open(agent)).state.version
        outcome = await self._service.step(agent, chunk)
        answer: Answer | Refusal = outcome.answer
        if isinstance(answer, Refusal):
            raise _refused(answer)
        if outcome.message:
            await self._send(agent, [update_agent_message_text(f"{outcome.message}\n")])
        if isinstance(answer, Prompted) or isinstance(step, TextStep):
            async with aclosing(runner.watch(agent, after)) as shown:
                return await self._show_turn(agent, shown)
        return "end_turn"

    async def _show_turn(
        self, agent: AgentId, shown: AsyncGenerator[AgentOutput]
    ) -> schema.StopReason:
        progress = PromptProgress(self._connection, agent)
        stop: schema.StopReason = "end_turn"
        async for each in shown:
            match each.what:
                case Delta() as delta:
                    await self._send(agent, delta_updates(delta))
                case Recorded(event=event):
                    await self._send(agent, event_updates(event))
                    if isinstance(event, ReplyAdded):
                        stop = _STOP_REASONS.get(event.ended, "end_turn")
                case _:
                    pass
            end = await progress.end_after(each.what)
            match end.status if end else "":
                case "completed":
                    return stop
                case "interrupted":
                    return "cancelled"
                case "failed" | "killed" | "stuck":
                    assert end is not None
                    raise SapwoodError(end.message)
                case _:
                    pass
        raise AssertionError("following a log never ends")

    async def _ask(self, question: PermissionQuestion) -> PermissionAnswer:
        session = await self._session_of(question.agent)
        if session is None or self._client is None:
            raise NobodyAnswers
        return await ask_in_editor(self._client, session, question)

    async def _session_of(self, agent: AgentId) -> AgentId | None:
        """The open session of an agent: its own, or that of the nearest ancestor."""
        if agent in self._sessions:
            return agent
        log, space = self._connection.log, self._connection.space
        above = await log.ancestors(space, agent)
        return next((each for each in above if each in self._sessions), None)

    async def _known(self, session: str) -> tuple[AgentId, PermissionMode]:
        """The agent with exactly this id, and its permission mode."""
        agent = AgentId(session)
        summary = await self._connection.log.summary(self._connection.space, agent)
        if summary is None:
            raise RequestError.resource_not_found(session)
        state = (await self._connection.dispatcher.open(agent)).state
        return agent, state.settings.permission_mode

    def _open(self, agent: AgentId) -> None:
        """Opens a session.

        Its commands are sent after the answer that tells the editor its id. What the first prompt
        needs is imported while the person writes it.
        """
        self._sessions[agent] = None
        task = asyncio.create_task(self._send(agent, [available_commands()]))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        self._agents.warm_up()

    async def _send(self, agent: AgentId, updates: Iterable[SessionUpdate]) -> None:
        for update in updates:
            if self._client is not None:
                await self._client.session_update(session_id=agent, update=update)


def _modes(current: PermissionMode) -> schema.SessionModeState:
    return schema.SessionModeState(
        current_mode_id=current,
        available_modes=[
            schema.SessionMode(id=mode, name=mode, description=words)
            for mode, words in _MODES.items()
        ],
    )


def _refused(refusal: Refusal) -> RequestError:
    return RequestError(_REFUSED, refusal.sentence)


def _time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat()
