"""Changing conversations over HTTP: commands of the table, prompts, interrupts, permissions.

A command with the `id` of an earlier one changes nothing and returns the first answer. With another
conversation, route or content the id is refused.
"""

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, get_type_hints

import msgspec
from msgspec import Meta, Struct, defstruct
from starlette.responses import Response

from sapwood.app.permission_questions import PostedQuestion, send_answer, waiting_questions
from sapwood.conversation.answers import Answer, Changed, Prompted
from sapwood.conversation.call import Person, typed_request
from sapwood.conversation.prompt_files import names_files, with_named_files
from sapwood.conversation.provider_limit import resets_soon
from sapwood.conversation.script import (
    CommandStep,
    Script,
    TextStep,
    has_prompt,
    parse,
    runs_shell,
    scopes_to_send,
    with_files,
)
from sapwood.conversation.service import HANDLERS, Outcome
from sapwood.conversation.session import ConversationSession, works_on_goal
from sapwood.core.command_table import TABLE, SlashCommand
from sapwood.core.commands import QueuePrompt, UnqueuePrompt
from sapwood.core.errors import accepted
from sapwood.core.ids import AgentId, CommandId, EventRef
from sapwood.core.refusals import Refusal
from sapwood.core.state import QueuedPrompt
from sapwood.core.tags import Tags, entries_of
from sapwood.core.turn_params import TurnParams
from sapwood.display.permission_text import answer_choices
from sapwood.display.quantities import now
from sapwood.workspace.permissions.permission_gate import Deny, PermissionAnswer, Reply
from sapwood_server.problems import OutcomeValue, Problem, refusal_problem
from sapwood_server.request_context import (
    Endpoint,
    Handler,
    OnceBody,
    RequestBody,
    RequestContext,
    Routes,
    json_response,
)
from sapwood_server.routes.file_api import GivenPart, named_files, prompt_parts

_ROUTES = Routes()
_AGENT = "/v1/agents/{agent}"

Files = Annotated[tuple[str, ...], Meta(description="The ids of uploaded files.")]
PromptState = Literal["sent", "queued", "held", "none"]
"""What came of a prompt. `held`: it was not carried out, because a turn is open and it has files.
`none`: there was no prompt."""


class StartBody(OnceBody, frozen=True, kw_only=True):
    """A new conversation, by default in the folder of the server, with its model."""

    prompt: Annotated[str, Meta(description="The first prompt, whatever it looks like.")] = ""
    text: Annotated[str, Meta(description="Text and commands, instead of a prompt.")] = ""
    name: str = ""
    folder: str = ""
    model: Annotated[
        str, Meta(description="A model or an agent program; default: the configured one.")
    ] = ""
    has_prompt: Annotated[
        bool, Meta(description="A prompt follows, so a model must be available.")
    ] = False
    owner: Annotated[str, Meta(description="To whom the conversation belongs.")] = ""
    labels: Annotated[tuple[str, ...], Meta(description="Labels, for lists and retention.")] = ()
    metadata: Annotated[Mapping[str, str], Meta(description="Names and values of your own.")] = (
        msgspec.field(default_factory=dict[str, str])
    )


class ConversationMade(Struct, frozen=True):
    """A new conversation, and what its prompt or its text did."""

    agent: AgentId
    answer: Prompted | None = None
    outcomes: tuple[OutcomeValue, ...] = ()
    prompt: PromptState = "none"


@_ROUTES.add("POST", "/v1/agents", "write", "Start a conversation", statuses=(201,))
async def start_agent(call: RequestContext, body: StartBody) -> ConversationMade:
    """Starts a conversation, by default in the folder of the server, with its model.

    `text` is carried out in it as a submission is; `prompt` is a prompt whatever it looks like.
    """
    folder = call.own_folder(body.folder)
    script = await _script(call, body.text, folder=folder)
    _require_scopes(call, script)
    script = await _attached(call, script, folder)
    given = await call.command_id()
    tags = Tags(body.owner, tuple(sorted({*body.labels})), entries_of(body.metadata))
    agent = await call.service.start(
        folder,
        name=body.name,
        model=body.model.strip(),
        has_prompt=bool(body.prompt) or has_prompt(script) or body.has_prompt,
        tags=tags if tags != Tags() else None,
        actor=call.principal.actor,
        command_id=f"{given}:start" if given else None,
    )
    answer = None
    if body.prompt:
        answer = accepted(
            await call.service.prompt(
                agent, body.prompt, actor=call.principal.actor, command_id=given
            )
        )
    if not script:
        state: PromptState = "sent" if answer else "none"
        return ConversationMade(agent, answer, prompt=state)
    done = await _carry_out(call, agent, script)
    return ConversationMade(done.agent, answer, done.outcomes, done.prompt)


class PromptBody(OnceBody, frozen=True, kw_only=True):
    """A prompt: a text with files, or parts. `params` are for this turn alone."""

    text: str = ""
    files: Files = ()
    parts: Annotated[
        tuple[GivenPart, ...] | None,
        Meta(description="The content as parts, in place of `text` and `files`."),
    ] = None
    params: TurnParams | None = None


class PromptSent(Struct, frozen=True):
    """A prompt opened a turn. The reply arrives as events."""

    answer: Prompted
    message: str


@_ROUTES.add("POST", f"{_AGENT}/turns", "write", "Send a prompt", statuses=(202,))
async def send_prompt(call: RequestContext, agent: AgentId, body: PromptBody) -> PromptSent:
    """Opens a turn with a prompt. The answer arrives as events."""
    if body.parts is not None and (body.text or body.files):
        raise Problem(422, "Two prompts", "Send 'text' with 'files', or 'parts', and not both.")
    if body.parts is not None:
        parts = await prompt_parts(call, agent, body.parts)
    else:
        files = await named_files(call, agent, body.files)
        step = TextStep(body.text, files=files)
        parts = step.parts if step.text.strip() or files else ()
    if not parts:
        raise Problem(422, "Empty prompt", "Write something to send.")
    answer = accepted(
        await call.service.prompt(
            agent,
            parts,
            actor=call.principal.actor,
            command_id=await call.command_id(),
            params=body.params,
        )
    )
    return PromptSent(answer, answer.message)


class SubmissionBody(OnceBody, frozen=True, kw_only=True):
    """What a person typed: a prompt, a command, or a script of both."""

    text: str = ""
    files: Files = ()
    waits: Annotated[
        bool,
        Meta(
            description="A prompt is queued while a turn is open or others are queued; "
            "one with files is held."
        ),
    ] = False
    asks: Annotated[
        bool,
        Meta(
            description="A command that screens ask about first is refused: `again` is what to "
            "send when the person has confirmed it."
        ),
    ] = False


class SubmissionDone(Struct, frozen=True):
    """What each step did, the agent that the next one is for, and what came of the prompt."""

    outcomes: tuple[OutcomeValue, ...]
    agent: AgentId
    prompt: PromptState


@_ROUTES.add(
    "POST",
    f"{_AGENT}/submissions",
    "write",
    "Run what a person typed",
    response=SubmissionDone,
    statuses=(200, 202),
    details="202: the prompt waits for the end of the open turn, or behind queued prompts.",
)
async def submit(call: RequestContext, agent: AgentId, body: SubmissionBody) -> Response:
    """Carries out what a person typed: a prompt, a command, or a script of both.

    With `waits`, a prompt is queued while a turn is open or others are queued; if an interrupt held
    these, the first is sent. One with files is then not carried out (`held`), and commands only
    leave the files to a later prompt.
    """
    script = await _script(call, body.text, agent)
    state = (await call.space.connection.dispatcher.open(agent)).state
    script = await _attached(call, script, state.workspace.worktree or state.workspace.folder)
    if body.files:
        filled = with_files(script, await named_files(call, agent, body.files))
        if filled is None and not body.waits:
            raise Problem(422, "No prompt", "'files' needs a prompt.")
        script = filled or script
    _require_scopes(call, script)
    if body.asks and (question := await call.service.question_before(agent, script)):
        detail = f"{question} Send it again to do it."
        raise Problem(409, "Confirm the command", detail, fields={"again": body.text})
    session = await _session(call)
    if body.waits and has_prompt(script) and await session.has_to_wait():
        if not body.files:
            await _queue(call, agent, body.text)
            await _send_held(call, agent, session)
        return json_response(SubmissionDone((), agent, "held" if body.files else "queued"), 202)
    return json_response(await _carry_out(call, agent, script))


async def _attached(call: RequestContext, script: Script, folder: str) -> Script:
    """The script with the files that its prompts name by `@`, for the person at the machine.

    Only what a person typed into the page names files: a program may pass on texts of others.
    """
    if not call.is_typed_here or not names_files(script):
        return script
    mask = call.space.connection.masked
    return await asyncio.to_thread(with_named_files, script, folder, mask)


async def _script(
    call: RequestContext, text: str, agent: AgentId | None = None, folder: str = ""
) -> Script:
    typed = call.principal.by_cookie
    return await call.service.parsed(agent, text, folder=folder, shell=typed)


def _require_scopes(call: RequestContext, script: Script) -> None:
    for step in script:
        call.principal.require(step.scope)


async def _carry_out(call: RequestContext, agent: AgentId, script: Script) -> SubmissionDone:
    person = Person(call.principal.actor, await call.command_id())
    before = await _version(call, agent)
    playing = call.typed_service.play(agent, script, person)
    if any(map(runs_shell, script)):
        played = await call.space.shell_lines.run(agent, playing)
    else:
        played = await playing
    if call.is_typed_here and any(map(works_on_goal, script)):
        await call.space.goals.start(agent)
    await _follow(call, agent, before)
    if played is None:
        return SubmissionDone((), agent, "none")
    refused = next((each.answer for each in played if isinstance(each.answer, Refusal)), None)
    outcomes = _outcomes(played)
    if refused is not None:
        problem = refusal_problem(refused)
        problem.fields["done"] = outcomes
        raise problem
    prompt = "sent" if has_prompt(script) else "none"
    last = played[-1].agent if played else None
    return SubmissionDone(outcomes, last or agent, prompt)


async def _version(call: RequestContext, agent: AgentId) -> int:
    return (await call.space.connection.dispatcher.open(agent)).state.version


async def _follow(call: RequestContext, agent: AgentId, before: int) -> None:
    """Asks again after a limit of the provider, if a person at the page did something."""
    if call.principal.by_cookie and await _version(call, agent) != before:
        call.space.limits.start(agent, before, call.principal.actor)


def _outcomes(played: Iterable[Outcome]) -> tuple[OutcomeValue, ...]:
    return tuple(
        OutcomeValue(each.answer, each.message)
        for each in played
        if not isinstance(each.answer, Refusal)
    )


class QueueList(Struct, frozen=True):
    """The texts that wait for the end of the open turn, in the order in which they are sent."""

    queue: tuple[QueuedPrompt, ...]


@_ROUTES.add("GET", f"{_AGENT}/queue", "read", "List queued messages")
async def list_queue(call: RequestContext) -> QueueList:
    """The texts that wait for the end of the open turn, in the order in which they are sent."""
    session = await _session(call)
    return QueueList(await session.queue())


class QueueBody(OnceBody, frozen=True, kw_only=True):
    """A text that waits for the end of the open turn."""

    text: str = ""


class Queued(Struct, frozen=True):
    """The id of the entry in the queue."""

    entry: str


@_ROUTES.add(
    "POST", f"{_AGENT}/queue", "write", "Queue a message until the open turn ends", statuses=(202,)
)
async def queue_prompt(call: RequestContext, agent: AgentId, body: QueueBody) -> Queued:
    """Keeps a text until the open turn has ended; any screen sends it then.

    A command needs the scope to run it.
    """
    return Queued(await _queue(call, agent, body.text))


async def _queue(call: RequestContext, agent: AgentId, text: str) -> str:
    """Queues a text. The id of the entry stays free for the command that sends it.

    Raises `Problem` if the principal may not run the commands in it.
    """
    call.principal.require(*scopes_to_send(text))
    entry = await call.command_id() or secrets.token_hex(6)
    command = QueuePrompt(agent, entry, text)
    await call.service.dispatch(command, call.principal.actor, command_id=f"{entry}:queue")
    return entry


class Done(Struct, frozen=True):
    """Something was changed; `message` says what."""

    message: str


@_ROUTES.add("POST", f"{_AGENT}/queue/{{entry}}/remove", "write", "Remove a message from the queue")
async def unqueue_prompt(call: RequestContext, agent: AgentId, _: OnceBody, entry: str) -> Done:
    """Takes a text out of the queue, to change it or to leave it out."""
    command = UnqueuePrompt(agent, entry)
    actor, command_id = call.principal.actor, await call.command_id()
    await call.service.dispatch(command, actor, command_id=command_id)
    return Done("Removed from the queue.")


class SendQueuedBody(RequestBody, frozen=True):
    """Why the next text is sent."""

    ended: Annotated[
        bool, Meta(description="Because a turn ended: nothing is sent after an interrupted one.")
    ] = False


class QueuedSent(Struct, frozen=True):
    """What the text of the queue did."""

    outcomes: tuple[OutcomeValue, ...]
    agent: AgentId


@_ROUTES.add("POST", f"{_AGENT}/queue/next", "write", "Send the first queued message")
async def send_queued(call: RequestContext, agent: AgentId, body: SendQueuedBody) -> QueuedSent:
    """Sends the first text of the queue if no turn is open.

    With `ended`, because a turn ended: then nothing is sent after an interrupted one. A script is
    left to a screen, which waits for the turn of each of its prompts. A command needs the scope to
    run it.
    """
    session = await _session(call)
    for first in (await session.queue())[:1]:
        call.principal.require(*scopes_to_send(first.text))
    if await _script_is_first(session):
        raise Problem(
            409,
            "A script is waiting",
            "The next item is a script. Remove it, and send its steps one by one.",
        )
    before = await _version(call, agent)
    sent = [each async for each in (session.turn_ended() if body.ended else session.send_next())]
    await _follow(call, agent, before)
    for each in sent:
        if isinstance(each.answer, Refusal):
            raise refusal_problem(each.answer)
    return QueuedSent(_outcomes(sent), session.agent or agent)


async def _send_held(call: RequestContext, agent: AgentId, session: ConversationSession) -> None:
    """Sends the first text of the queue if no turn is open, because a person sent one behind it.

    A command that the person may not run stays first.
    """
    if await _script_is_first(session) or resets_soon(await session.limit_reset(), now()):
        return
    before = await _version(call, agent)
    async for _ in session.send_next():
        pass
    await _follow(call, agent, before)


async def _script_is_first(session: ConversationSession) -> bool:
    """Whether a script is the first text of the queue. It needs a screen, which waits for each."""
    scripts = [parse(first.text) for first in (await session.queue())[:1]]
    return any(not isinstance(script, Refusal) and len(script) > 1 for script in scripts)


async def _session(call: RequestContext) -> ConversationSession:
    return ConversationSession(
        call.service,
        "",
        await call.agent(),
        may_send=lambda text: call.principal.allows(*scopes_to_send(text)),
    )


class CommandBody(OnceBody, frozen=True, kw_only=True):
    """A slash command: what is typed after its name."""

    args: Annotated[str, Meta(description="Everything after the command name.")] = ""
    goal: Annotated[str, Meta(description="The text before a fork.")] = ""
    picks: Annotated[bool, Meta(description="Ask for a missing argument instead of refusing.")] = (
        False
    )


class CommandDone(Struct, frozen=True):
    """What a command did: its typed answer, the sentence for a person, and the events it recorded.

    `repeated`: it was carried out by an earlier request with the same id, and this is what the log
    has of that.
    """

    answer: Answer
    message: str
    events: tuple[EventRef, ...] = ()
    repeated: bool = False


def _response_of(row: SlashCommand) -> type[Struct]:
    """The type of the response of a command: `CommandDone` with the answers of its handler."""
    answer = get_type_hints(HANDLERS[row.name])["return"] | Changed
    name = "".join(word.capitalize() for word in row.name.split("-"))
    return defstruct(f"{name}Done", [("answer", answer)], bases=(CommandDone,), frozen=True)


def _command(row: SlashCommand, *, alone: bool = False) -> Handler:
    async def run(call: RequestContext) -> Response:
        agent = None if alone else await call.agent()
        body = await call.read(CommandBody)
        step = CommandStep(row, body.args.strip())
        call.principal.require(step.scope)
        given = await call.command_id()
        asked = typed_request(agent, step, body.goal)
        if given and (known := await _known(call, agent, given, asked)):
            return known
        caller = Person(call.principal.actor, given)
        service = call.space.agents.picking if body.picks else call.service
        answer = accepted(await service.answer(agent, step, caller=caller, goal=body.goal))
        return json_response(CommandDone(answer, answer.message, getattr(answer, "events", ())))

    return run


async def _known(
    call: RequestContext, agent: AgentId | None, given: str, request: str
) -> Response | None:
    """The first answer to a command that was carried out before. Raises `Problem`."""
    first = await call.space.connection.dispatcher.first_answer(CommandId(given), request)
    if first is None:
        return None
    if isinstance(first, Refusal):
        raise refusal_problem(first)
    answer = Changed(agent or AgentId(""), first.message, first.events)
    return json_response(CommandDone(answer, first.message, first.events, repeated=True))


class Interrupted(Struct, frozen=True):
    """The open turn was stopped."""

    message: str
    events: tuple[EventRef, ...]


@_ROUTES.add("POST", f"{_AGENT}/interrupt", "write", "Stop the open turn")
async def interrupt(call: RequestContext, agent: AgentId, _: RequestBody) -> Interrupted:
    """Stops the open turn and keeps every word that was shown; first a shell line that runs.

    If the turn waits for the limit of its provider to reset, it is not asked again.
    """
    if call.space.shell_lines.stop(agent):
        return Interrupted("The command was stopped.", ())
    if call.space.limits.stop(agent):
        return Interrupted("It is not asked again.", ())
    done = accepted(
        await call.space.agents.runner.interrupt(agent, f"by {call.principal.name or 'the user'}")
    )
    return Interrupted(done.message, done.events)


class ChoiceValue(Struct, frozen=True):
    """An answer that can be given: its key, its words, and whether the tool then runs."""

    key: str
    words: str
    allows: bool


class QuestionValue(PostedQuestion, frozen=True, kw_only=True):
    """A tool call that waits for approval: its id, its hash, what is shown, and the answers."""

    choices: tuple[ChoiceValue, ...]


class QuestionList(Struct, frozen=True):
    """The tool calls that wait for approval, with the exact text and its hash."""

    questions: tuple[QuestionValue, ...]


@_ROUTES.add("GET", f"{_AGENT}/permissions", "read", "List tool calls waiting for approval")
async def list_permissions(call: RequestContext, agent: AgentId) -> QuestionList:
    """The tool calls that wait for approval, with the exact text and its hash."""
    found = await waiting_questions(call.space.connection, agent)
    questions = tuple(
        QuestionValue(
            each.id,
            each.hash,
            each.question,
            choices=tuple(
                ChoiceValue(choice.key, choice.words, choice.allows)
                for choice in answer_choices(each.question)
            ),
        )
        for each in found
    )
    return QuestionList(questions)


class AnswerBody(RequestBody, frozen=True):
    """The answer to a question. It counts only for what was shown."""

    key: Annotated[str, Meta(description="The key of one of the choices of the question.")] = ""
    hash: Annotated[str, Meta(description="The hash of the question that was shown.")] = ""
    reason: Annotated[str, Meta(description="What the model is told if the call is denied.")] = ""


@_ROUTES.add(
    "POST",
    f"{_AGENT}/permissions/{{question}}",
    "approve",
    "Answer a tool call that is waiting for approval",
)
async def answer_permission(
    call: RequestContext, agent: AgentId, body: AnswerBody, question: str
) -> Done:
    """Answers a question. The answer counts only for what was shown: `hash` must be its hash."""
    waiting = await waiting_questions(call.space.connection, agent)
    posted = next((each for each in waiting if each.id == question), None)
    if posted is None:
        raise Problem(
            409, "No pending question", "This question was already answered, or its turn has ended."
        )
    given = await answer_question(call, posted, body.key, body.hash, body.reason)
    done = "Answered." if isinstance(given, Reply) else "Allowed."
    return Done("Denied." if isinstance(given, Deny) else done)


async def answer_question(
    call: RequestContext, posted: PostedQuestion, key: object, shown: object, reason: str
) -> PermissionAnswer:
    """Answers a question by the key of a choice. Returns the answer.

    `shown` is the hash of what was shown. Raises `Problem`.
    """
    if shown != posted.hash:
        raise Problem(
            409, "Question changed", "The question has changed since it was shown. Read it again."
        )
    choice = next((each for each in answer_choices(posted.question) if each.key == key), None)
    if choice is None:
        keys = ", ".join(each.key for each in answer_choices(posted.question))
        raise Problem(422, "Unknown answer", f"'key' must be one of these: {keys}.")
    answer = choice.given(reason.strip())
    refused = await send_answer(call.space.connection, posted, answer, call.principal.actor)
    if refused is not None:
        raise refusal_problem(refused)
    return answer


def changing_endpoints() -> tuple[Endpoint, ...]:
    """The routes that change something: one for each row of the command table, and a few more."""
    commands = (
        Endpoint(
            "POST",
            f"{_AGENT}/commands/{row.name}",
            row.scope,
            _command(row),
            row.help,
            request=CommandBody,
            response=_response_of(row),
            details=f"`args`: {row.usage or 'none'}.",
        )
        for row in TABLE.rows
    )
    alone = (
        Endpoint(
            "POST",
            f"/v1/commands/{row.name}",
            row.scope,
            _command(row, alone=True),
            f"{row.help}, without a conversation",
            request=CommandBody,
            response=CommandDone,
            internal=True,
        )
        for row in TABLE.rows
        if row.without_agent != "refused"
    )
    return (*_ROUTES.endpoints, *commands, *alone)
