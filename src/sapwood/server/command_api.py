"""Changing conversations over HTTP: commands of the table, prompts, interrupts, permissions.

A command with the `id` of an earlier one changes nothing and returns the first answer.
"""

import hashlib

from msgspec import structs
from starlette.responses import Response

from sapwood.app.permission_questions import PostedQuestion, posted_question, send_answer
from sapwood.conversation.call import Person
from sapwood.conversation.script import CommandStep, Script, TextStep, chunks, parse
from sapwood.core.command_table import TABLE, SlashCommand
from sapwood.core.content import File
from sapwood.core.events import QuestionAsked
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.refusals import Refusal
from sapwood.display.permission_text import answer_choices
from sapwood.server.exchange import Endpoint, Exchange, Handler, json_response
from sapwood.server.file_api import named_files
from sapwood.server.problems import Problem, refusal_problem
from sapwood.workspace.permissions.permission_gate import Deny

__all__ = ["changing_endpoints", "waiting_questions"]

_LONGEST_ID = 200
_FILES = "ids of uploaded files, a list"


async def start_agent(call: Exchange) -> Response:
    """Starts a conversation, by default in the folder of the server, with its model."""
    body = await call.body()
    text = _text(body, "prompt")
    name = _text(body, "name")
    folder = _text(body, "folder") or call.space.agents.folder
    agent = await call.service.start(
        folder, name=name, has_prompt=bool(text), actor=call.principal.actor
    )
    answer = None
    if text:
        answer = await call.service.prompt(
            agent, text, actor=call.principal.actor, command_id=_scoped_id(call, body)
        )
        if isinstance(answer, Refusal):
            raise refusal_problem(answer)
    return json_response({"agent": agent, "answer": answer}, 201)


async def send_prompt(call: Exchange) -> Response:
    """Opens a turn with a prompt. The answer arrives as events."""
    agent = await call.agent()
    body = await call.body()
    files = await named_files(call, agent, body.get("files", []))
    step = TextStep(_text(body, "text"), files=files)
    if not step.parts:
        raise Problem(422, "Empty prompt", "Write something to send.")
    answer = await call.service.prompt(
        agent, step.parts, actor=call.principal.actor, command_id=_scoped_id(call, body)
    )
    if isinstance(answer, Refusal):
        raise refusal_problem(answer)
    return json_response({"answer": answer, "message": answer.message}, 202)


async def submit(call: Exchange) -> Response:
    """Carries out what a person typed: a prompt, a command, or a script of both."""
    agent = await call.agent()
    body = await call.body()
    script = parse(_text(body, "text"))
    if isinstance(script, Refusal):
        raise refusal_problem(script)
    if body.get("files"):
        script = _with_files(script, await named_files(call, agent, body["files"]))
    for step in script:
        call.principal.require(step.command.scope if isinstance(step, CommandStep) else "write")
    given = _scoped_id(call, body)
    outcomes: list[dict[str, object]] = []
    current: AgentId | None = agent
    for number, chunk in enumerate(chunks(script)):
        caller = Person(call.principal.actor, f"{given}:{number}" if given else None)
        outcome = await call.service.step(current, chunk, person=caller)
        if isinstance(outcome.answer, Refusal):
            problem = refusal_problem(outcome.answer)
            problem.fields["done"] = outcomes
            raise problem
        current = outcome.agent
        outcomes.append({"answer": outcome.answer, "message": outcome.message})
    return json_response({"outcomes": outcomes, "agent": current})


def _with_files(script: Script, files: tuple[File, ...]) -> Script:
    """The script with files in its first prompt. Raises `Problem` if it has none."""
    if not script:
        return (TextStep("", files=files),)
    for number, step in enumerate(script):
        if isinstance(step, TextStep) and not step.goal:
            return (*script[:number], structs.replace(step, files=files), *script[number + 1 :])
    raise Problem(422, "No prompt", "Files need a prompt that has them. A command takes none.")


def _command(row: SlashCommand) -> Handler:
    async def run(call: Exchange) -> Response:
        agent = await call.agent()
        body = await call.body()
        args = _text(body, "args")
        given = _scoped_id(call, body)
        if given and (known := await _known(call, given)):
            return known
        caller = Person(call.principal.actor, given)
        answer = await call.service.answer(agent, CommandStep(row, args.strip()), caller=caller)
        if isinstance(answer, Refusal):
            raise refusal_problem(answer)
        return json_response({"answer": answer, "message": answer.message})

    return run


async def _known(call: Exchange, given: str) -> Response | None:
    """The first answer to a command that was carried out before."""
    connection = call.space.connection
    receipt = await connection.log.receipt(connection.space, CommandId(given))
    if receipt is None:
        return None
    return json_response({"message": receipt.message, "events": receipt.events, "repeated": True})


async def interrupt(call: Exchange) -> Response:
    """Stops the open turn and keeps every word that was shown."""
    agent = await call.agent()
    await call.body()
    done = await call.space.agents.interrupt(agent, f"by {call.principal.name or 'the user'}")
    if isinstance(done, Refusal):
        raise refusal_problem(done)
    return json_response({"message": done.message, "events": done.events})


async def waiting_questions(call: Exchange, agent: AgentId) -> list[PostedQuestion]:
    """The tool calls of an agent that wait for approval, oldest first."""
    connection = call.space.connection
    state = (await connection.dispatcher.open(agent)).state
    found: list[PostedQuestion] = []
    for each in state.open.questions if state.open else ():
        [recorded] = await connection.log.read(connection.space, agent, each.asked, each.asked)
        if isinstance(recorded.event, QuestionAsked):
            posted = posted_question(recorded.event)
            found += [posted] if posted else []
    return found


async def list_permissions(call: Exchange) -> Response:
    """The tool calls that wait for approval, with the exact text and its hash."""
    found = await waiting_questions(call, await call.agent())
    return json_response({"questions": found})


async def answer_permission(call: Exchange) -> Response:
    """Answers a question. The answer counts only for what was shown: `hash` must be its hash."""
    agent = await call.agent()
    body = await call.body()
    asked = call.request.path_params["question"]
    posted = next((q for q in await waiting_questions(call, agent) if q.id == asked), None)
    if posted is None:
        raise Problem(409, "No question", "This question was answered already, or its turn ended.")
    if _text(body, "hash") != posted.hash:
        raise Problem(
            409, "Other question", "The question is not the one that was shown. Read it again."
        )
    key = _text(body, "key")
    choice = next((each for each in answer_choices(posted.question) if each.key == key), None)
    if choice is None:
        keys = ", ".join(each.key for each in answer_choices(posted.question))
        raise Problem(422, "Unknown answer", f"'key' must be one of these: {keys}.")
    answer = choice.answer or Deny(_text(body, "reason"))
    refused = await send_answer(call.space.connection, posted, answer, call.principal.actor)
    if refused is not None:
        raise refusal_problem(refused)
    return json_response({"message": "Allowed." if choice.allows else "Denied."})


def _text(body: dict[str, object], name: str) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise Problem(422, "Not a text", f"'{name}' must be a text.")
    return value


def _scoped_id(call: Exchange, body: dict[str, object]) -> str | None:
    """The command id of a request: the given one, made the principal's own."""
    given = _text(body, "id") or call.request.headers.get("idempotency-key", "")
    if not given:
        return None
    if len(given) > _LONGEST_ID:
        raise Problem(422, "Id too long", f"An id may have {_LONGEST_ID} characters at most.")
    whose = f"{call.principal.name}\n{call.request.path_params.get('agent', '')}\n{given}"
    return "http-" + hashlib.sha256(whose.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def changing_endpoints() -> tuple[Endpoint, ...]:
    """The routes that change something: one for each row of the command table, and a few more."""
    agent = "/v1/agents/{agent}"
    once = {"id": "repeated with the same id, it acts once"}
    commands = tuple(
        Endpoint(
            "POST",
            f"{agent}/commands/{row.name}",
            row.scope,
            _command(row),
            row.help,
            body={"args": row.usage or "none", **once},
        )
        for row in TABLE.rows
    )
    return (
        Endpoint(
            "POST",
            "/v1/agents",
            "write",
            start_agent,
            "Start a conversation",
            body={"prompt": "the first prompt", "name": "", "folder": "", **once},
        ),
        Endpoint(
            "POST",
            f"{agent}/turns",
            "write",
            send_prompt,
            "Send a prompt",
            body={"text": "the prompt", "files": _FILES, **once},
        ),
        Endpoint(
            "POST",
            f"{agent}/submissions",
            "write",
            submit,
            "Carry out what a person typed",
            body={"text": "text and commands", "files": _FILES, **once},
        ),
        Endpoint("POST", f"{agent}/interrupt", "write", interrupt, "Stop the open turn"),
        Endpoint(
            "GET",
            f"{agent}/permissions",
            "read",
            list_permissions,
            "List tool calls that wait for approval",
        ),
        Endpoint(
            "POST",
            f"{agent}/permissions/{{question}}",
            "approve",
            answer_permission,
            "Answer a tool call that waits for approval",
            body={"key": "the key of an answer", "hash": "of what was shown", "reason": ""},
        ),
        *commands,
    )
