"""Changing conversations over HTTP: commands of the table, prompts, interrupts, permissions.

A command with the `id` of an earlier one changes nothing and returns the first answer. With another
conversation, route or content the id is refused.
"""

import asyncio
import secrets

import msgspec
from starlette.responses import Response

from sapwood.app.permission_questions import PostedQuestion, send_answer, waiting_questions
from sapwood.conversation.answers import Changed
from sapwood.conversation.call import Person, typed_request
from sapwood.conversation.prompt_files import names_files, with_named_files
from sapwood.conversation.script import (
    CommandStep,
    Script,
    TextStep,
    has_prompt,
    parse,
    with_files,
)
from sapwood.conversation.session import ConversationSession
from sapwood.core.command_table import TABLE, SlashCommand
from sapwood.core.commands import QueuePrompt, UnqueuePrompt
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.refusals import Refusal
from sapwood.core.turn_params import TurnParams
from sapwood.display.permission_text import answer_choices
from sapwood.workspace.permissions.permission_gate import Deny
from sapwood_server.problems import Problem, refusal_problem
from sapwood_server.request_context import (
    Endpoint,
    Handler,
    RequestContext,
    json_response,
    text_field,
)
from sapwood_server.routes.file_api import named_files, prompt_parts

_FILES = "list of ids of uploaded files"


async def start_agent(call: RequestContext) -> Response:
    """Starts a conversation, by default in the folder of the server, with its model.

    `text` is carried out in it as a submission is; `prompt` is a prompt whatever it looks like.
    """
    body = await call.body()
    text = text_field(body, "prompt")
    folder = call.own_folder(text_field(body, "folder"))
    script = await _script(call, text_field(body, "text"), folder=folder)
    _require_scopes(call, script)
    name = text_field(body, "name")
    script = await _attached(call, script, folder)
    given = await call.command_id()
    agent = await call.service.start(
        folder,
        name=name,
        model=text_field(body, "model").strip(),
        has_prompt=bool(text) or has_prompt(script) or body.get("has_prompt") is True,
        actor=call.principal.actor,
        command_id=f"{given}:start" if given else None,
    )
    answer = None
    if text:
        answer = await call.service.prompt(
            agent, text, actor=call.principal.actor, command_id=given
        )
        if isinstance(answer, Refusal):
            raise refusal_problem(answer)
    done = await _carry_out(call, agent, script) if script else {"agent": agent}
    return json_response({**done, "answer": answer}, 201)


async def send_prompt(call: RequestContext) -> Response:
    """Opens a turn with a prompt. The answer arrives as events."""
    agent = await call.agent()
    body = await call.body()
    if "parts" in body:
        parts = await prompt_parts(call, agent, body["parts"])
    else:
        files = await named_files(call, agent, body.get("files", []))
        step = TextStep(text_field(body, "text"), files=files)
        parts = step.parts if step.text.strip() or files else ()
    if not parts:
        raise Problem(422, "Empty prompt", "Write something to send.")
    answer = await call.service.prompt(
        agent,
        parts,
        actor=call.principal.actor,
        command_id=await call.command_id(),
        params=_params(body),
    )
    if isinstance(answer, Refusal):
        raise refusal_problem(answer)
    return json_response({"answer": answer, "message": answer.message}, 202)


async def submit(call: RequestContext) -> Response:
    """Carries out what a person typed: a prompt, a command, or a script of both.

    The answer says what came of the prompt: `sent`, `queued`, or `none` if there are commands only.
    With `waits`, a prompt is queued while a turn is open. One with files is then not carried out
    (`held`), and commands only leave the files to a later prompt.
    """
    agent = await call.agent()
    body = await call.body()
    waits = body.get("waits") is True
    script = await _script(call, text_field(body, "text"), agent)
    state = (await call.space.connection.dispatcher.open(agent)).state
    script = await _attached(call, script, state.workspace.worktree or state.workspace.folder)
    if body.get("files"):
        filled = with_files(script, await named_files(call, agent, body["files"]))
        if filled is None and not waits:
            raise Problem(422, "No prompt", "'files' needs a prompt.")
        script = filled or script
    _require_scopes(call, script)
    if waits and has_prompt(script) and await (await _session(call)).is_working():
        if not body.get("files"):
            await _queue(call, agent, text_field(body, "text"))
        prompt = "held" if body.get("files") else "queued"
        return json_response({"outcomes": [], "agent": agent, "prompt": prompt}, 202)
    return json_response(await _carry_out(call, agent, script))


async def _attached(call: RequestContext, script: Script, folder: str) -> Script:
    """The script with the files that its prompts name by `@`, for the person at the machine.

    Only what a person typed into the page names files: a program may pass on texts of others.
    """
    typed = call.principal.by_cookie and call.is_own_machine
    if not typed or not names_files(script):
        return script
    mask = call.space.connection.masked
    return await asyncio.to_thread(with_named_files, script, folder, mask)


async def _script(
    call: RequestContext, text: str, agent: AgentId | None = None, folder: str = ""
) -> Script:
    try:
        return await call.service.parsed(agent, text, folder=folder)
    except RefusedError as refused:
        raise refusal_problem(refused.refusal) from None


def _require_scopes(call: RequestContext, script: Script) -> None:
    for step in script:
        call.principal.require(step.scope if isinstance(step, CommandStep) else "write")


async def _carry_out(call: RequestContext, agent: AgentId, script: Script) -> dict[str, object]:
    person = Person(call.principal.actor, await call.command_id())
    played = await call.service.play(agent, script, person)
    refused = next((each.answer for each in played if isinstance(each.answer, Refusal)), None)
    outcomes = [
        {"answer": each.answer, "message": each.message}
        for each in played
        if not isinstance(each.answer, Refusal)
    ]
    if refused is not None:
        problem = refusal_problem(refused)
        problem.fields["done"] = outcomes
        raise problem
    prompt = "sent" if has_prompt(script) else "none"
    return {"outcomes": outcomes, "agent": played[-1].agent if played else agent, "prompt": prompt}


async def list_queue(call: RequestContext) -> Response:
    """The texts that wait for the end of the open turn, in the order in which they are sent."""
    session = await _session(call)
    return json_response({"queue": await session.queue()})


async def queue_prompt(call: RequestContext) -> Response:
    """Keeps a text until the open turn has ended; any screen sends it then."""
    agent = await call.agent()
    entry = await _queue(call, agent, text_field(await call.body(), "text"))
    return json_response({"entry": entry}, 202)


async def _queue(call: RequestContext, agent: AgentId, text: str) -> str:
    """Queues a text. The id of the entry stays free for the command that sends it."""
    entry = await call.command_id() or secrets.token_hex(6)
    command = QueuePrompt(agent, entry, text)
    await call.service.dispatch(command, call.principal.actor, command_id=f"{entry}:queue")
    return entry


async def unqueue_prompt(call: RequestContext) -> Response:
    """Takes a text out of the queue, to change it or to leave it out."""
    agent = await call.agent()
    await call.body()
    command = UnqueuePrompt(agent, call.request.path_params["entry"])
    actor, command_id = call.principal.actor, await call.command_id()
    await call.service.dispatch(command, actor, command_id=command_id)
    return json_response({"message": "Removed from the queue."})


async def send_queued(call: RequestContext) -> Response:
    """Sends the first text of the queue if no turn is open.

    With `ended`, because a turn ended: then nothing is sent after an interrupted one. A script is
    left to a screen, which waits for the turn of each of its prompts.
    """
    session = await _session(call)
    ended = (await call.body()).get("ended") is True
    for first in (await session.queue())[:1]:
        script = parse(first.text)
        if not isinstance(script, Refusal) and len(script) > 1:
            raise Problem(
                409,
                "A script is waiting",
                "The next item is a script, which only a terminal UI can send.",
            )
    sent = [each async for each in (session.turn_ended() if ended else session.send_next())]
    for each in sent:
        if isinstance(each.answer, Refusal):
            raise refusal_problem(each.answer)
    outcomes = [{"answer": each.answer, "message": each.message} for each in sent]
    return json_response({"outcomes": outcomes, "agent": session.agent})


async def _session(call: RequestContext) -> ConversationSession:
    return ConversationSession(call.service, "", await call.agent())


def _params(body: dict[str, object]) -> TurnParams | None:
    try:
        return msgspec.convert(body.get("params"), TurnParams | None)
    except msgspec.MsgspecError as error:
        raise Problem(422, "Invalid parameters", f"'params' cannot be read: {error}.") from None


def _command(row: SlashCommand, *, alone: bool = False) -> Handler:
    async def run(call: RequestContext) -> Response:
        agent = None if alone else await call.agent()
        body = await call.body()
        step, goal = CommandStep(row, text_field(body, "args").strip()), text_field(body, "goal")
        call.principal.require(step.scope)
        given = await call.command_id()
        if given and (known := await _known(call, agent, given, typed_request(agent, step, goal))):
            return known
        caller = Person(call.principal.actor, given)
        service = call.space.agents.picking if body.get("picks") is True else call.service
        answer = await service.answer(agent, step, caller=caller, goal=goal)
        if isinstance(answer, Refusal):
            raise refusal_problem(answer)
        return json_response({"answer": answer, "message": answer.message})

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
    return json_response(
        {"answer": answer, "message": first.message, "events": first.events, "repeated": True}
    )


async def interrupt(call: RequestContext) -> Response:
    """Stops the open turn and keeps every word that was shown."""
    agent = await call.agent()
    await call.body()
    done = await call.space.agents.runner.interrupt(
        agent, f"by {call.principal.name or 'the user'}"
    )
    if isinstance(done, Refusal):
        raise refusal_problem(done)
    return json_response({"message": done.message, "events": done.events})


async def list_permissions(call: RequestContext) -> Response:
    """The tool calls that wait for approval, with the exact text and its hash."""
    found = await waiting_questions(call.space.connection, await call.agent())
    return json_response({"questions": found})


async def answer_permission(call: RequestContext) -> Response:
    """Answers a question. The answer counts only for what was shown: `hash` must be its hash."""
    agent = await call.agent()
    body = await call.body()
    asked = call.request.path_params["question"]
    waiting = await waiting_questions(call.space.connection, agent)
    posted = next((each for each in waiting if each.id == asked), None)
    if posted is None:
        raise Problem(
            409, "No pending question", "This question was already answered, or its turn has ended."
        )
    allows = await answer_question(
        call, posted, text_field(body, "key"), text_field(body, "hash"), text_field(body, "reason")
    )
    return json_response({"message": "Allowed." if allows else "Denied."})


async def answer_question(
    call: RequestContext, posted: PostedQuestion, key: object, shown: object, reason: str
) -> bool:
    """Answers a question by the key of a choice. Returns whether it allows the call.

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
    answer = choice.answer or Deny(reason)
    refused = await send_answer(call.space.connection, posted, answer, call.principal.actor)
    if refused is not None:
        raise refusal_problem(refused)
    return choice.allows


def changing_endpoints() -> tuple[Endpoint, ...]:
    """The routes that change something: one for each row of the command table, and a few more."""
    agent = "/v1/agents/{agent}"
    once = {"id": "an idempotency id: repeated requests with the same id act once"}
    commands = tuple(
        Endpoint(
            "POST",
            f"{agent}/commands/{row.name}",
            row.scope,
            _command(row),
            row.help,
            body={
                "args": row.usage or "none",
                "goal": "the text before a fork",
                "picks": "true: ask for a missing argument instead of refusing",
                **once,
            },
        )
        for row in TABLE.rows
    )
    alone = tuple(
        Endpoint(
            "POST",
            f"/v1/commands/{row.name}",
            row.scope,
            _command(row, alone=True),
            f"{row.help}, without a conversation",
            body={"args": row.usage or "none", **once},
        )
        for row in TABLE.rows
        if row.without_agent != "refused"
    )
    return (
        Endpoint(
            "POST",
            "/v1/agents",
            "write",
            start_agent,
            "Start a conversation",
            body={
                "prompt": "the first prompt",
                "text": "text and commands, instead of a prompt",
                "name": "",
                "folder": "",
                "model": "a model or an agent program; default: the configured one",
                "has_prompt": "true: a prompt follows, so a model must be available",
                **once,
            },
        ),
        Endpoint(
            "POST",
            f"{agent}/turns",
            "write",
            send_prompt,
            "Send a prompt",
            body={
                "text": "the prompt",
                "files": _FILES,
                "parts": "text, notes and uploads, instead of both",
                "params": "object with parameters for this turn",
                **once,
            },
        ),
        Endpoint(
            "POST",
            f"{agent}/submissions",
            "write",
            submit,
            "Run what a person typed",
            body={
                "text": "text and commands",
                "files": _FILES,
                "waits": "true: queue a prompt until the open turn ends",
                **once,
            },
        ),
        Endpoint("GET", f"{agent}/queue", "read", list_queue, "List queued messages"),
        Endpoint(
            "POST",
            f"{agent}/queue",
            "write",
            queue_prompt,
            "Queue a message until the open turn ends",
            body={"text": "the prompt", **once},
        ),
        Endpoint(
            "POST",
            f"{agent}/queue/next",
            "write",
            send_queued,
            "Send the first queued message",
            body={"ended": "true: if sent because a turn ended"},
        ),
        Endpoint(
            "POST",
            f"{agent}/queue/{{entry}}/remove",
            "write",
            unqueue_prompt,
            "Remove a message from the queue",
        ),
        Endpoint("POST", f"{agent}/interrupt", "write", interrupt, "Stop the open turn"),
        Endpoint(
            "GET",
            f"{agent}/permissions",
            "read",
            list_permissions,
            "List tool calls waiting for approval",
        ),
        Endpoint(
            "POST",
            f"{agent}/permissions/{{question}}",
            "approve",
            answer_permission,
            "Answer a tool call that is waiting for approval",
            body={"key": "the key of an answer", "hash": "hash of what was shown", "reason": ""},
        ),
        *commands,
        *alone,
    )
