"""Errors as problem documents (RFC 9457): what happened and what to do next, in one sentence."""

import logging
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from sapwood.conversation.answers import Answer
from sapwood.core import refusals
from sapwood.core.errors import (
    LogError,
    LogUnavailable,
    RefusedError,
    SapwoodError,
    SpaceMoved,
    SpaceStopped,
)
from sapwood.core.model_calls import Failure
from sapwood.core.token_count import Count
from sapwood.programs.registry import program_title

_log = logging.getLogger("sapwood.server")

PROBLEM_TYPE = "application/problem+json"

_STATUS = {
    "AgentNotFound": 404,
    "UnknownAgent": 404,
    "UnknownMark": 404,
    "TurnRenumbered": 404,
    "UnknownTurn": 404,
    "NoSuchCall": 404,
    "NoPassage": 404,
    "BadArguments": 422,
    "BadValue": 422,
    "BadSetting": 422,
    "ReservedName": 422,
    "BadMarkName": 422,
    "UnknownCommand": 422,
    "UnclearGoal": 422,
    "EmptyText": 422,
    "TooLong": 413,
    "BudgetReached": 402,
    "HumanOnly": 403,
    "FolderNotAllowed": 403,
    "SystemOnly": 403,
}
"""The HTTP status of refusals by name; every other refusal is a conflict with the present state."""

_encode = msgspec.json.Encoder(enc_hook=str).encode


FieldValue = str | float | bool | tuple[str | tuple[str, Count], ...] | None
"""The value of a field of a refusal."""


class OutcomeValue(Struct, frozen=True):
    """What one step of a submission did: its answer, and the sentence for a person."""

    answer: Answer
    message: str


class ProblemDocument(Struct, frozen=True, omit_defaults=True):
    """A problem document (RFC 9457). `detail` says what happened and what to do next.

    `/NAME` in it is a command: a route of the API, and text that can be typed on the page.
    `type` names the kind of problem and never changes. Of a refusal, `refusal` is its name and
    `fields` are its fields; nothing was changed then, except for what `done` lists. `scope` is the
    scope that the token lacks, `failure` the kind of failure of a model. `again` is the command
    that does nevertheless what was refused.
    """

    type: str
    title: str
    status: int
    detail: str
    refusal: str = ""
    fields: Mapping[str, FieldValue] = {}
    scope: str = ""
    failure: str = ""
    again: str = ""
    done: tuple[OutcomeValue, ...] = ()


class OpenAIError(Struct, frozen=True):
    """What OpenAI clients read of a problem."""

    message: str
    type: str
    param: str | None
    code: str


class OpenAIProblem(ProblemDocument, frozen=True, omit_defaults=True):
    """A problem document of the routes that OpenAI clients use."""

    param: str | None = None
    code: str = ""
    response: str = ""
    error: OpenAIError | None = None


MOVED_HEADER = "Sapwood-Moved"
"""Has the name of the cell to which a space was moved, or `now` while it is stopped."""


class Problem(Exception):
    """An answer that is a problem document."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        *,
        kind: str = "",
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail
        self.kind = kind or title.lower().replace(" ", "-")
        self.headers = dict(headers or {})
        if status == 401:
            self.headers.setdefault("WWW-Authenticate", "Bearer")
        self.fields = dict(fields or {})

    def response(self) -> Response:
        """The problem document."""
        kind = f"urn:sapwood:problem:{self.kind}"
        body = OpenAIProblem(kind, self.title, self.status, self.detail, **self.fields)
        return Response(_encode(body), self.status, headers=self.headers, media_type=PROBLEM_TYPE)


def with_openai_error(problem: Problem) -> Problem:
    """The problem with the member `error`, as OpenAI clients read it."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    other = "server_error" if problem.status >= 500 else "invalid_request_error"
    problem.fields["error"] = OpenAIError(
        problem.detail,
        kinds.get(problem.status, other),
        problem.fields.get("param"),
        problem.fields.get("code", problem.kind),
    )
    return problem


_TYPED = re.compile(r"\b([Tt])ype:? (?=(/|git )?)(?!it in the terminal)")
_KEY = re.compile(r"\bpress esc to interrupt it\b")
_SHELL = re.compile(r"[^.:]*(?:[Tt]ype:?|[:,]) '?(?:sapwood|pip|chmod|apt-get) .*", re.DOTALL)
_OPERATOR = "Ask the server's operator to fix this; the server log says how."


def for_reader(sentence: str) -> str:
    """A sentence for the reader of an HTTP answer, who has neither a shell nor keys there.

    A command `/NAME` can be typed on the page, and has a route of the API.

    >>> for_reader("No prompt is in view to ask again. Type one.")
    'No prompt is in view to ask again. Send one.'
    >>> for_reader("There is no plan. Type /permissions plan, or press esc to interrupt it.")
    'There is no plan. Use /permissions plan, or interrupt it.'
    """

    def verb(at: re.Match[str]) -> str:
        found = {"/": "Use ", "git ": "Run "}.get(at[2] or "", "Send ")
        return found if at[1] == "T" else found.lower()

    return _KEY.sub("interrupt it", _TYPED.sub(verb, sentence))


def without_shell(sentence: str) -> str:
    """An error for the reader of an HTTP answer. What to type in a shell goes to the log instead.

    >>> without_shell("There is no key. To create one, type: sapwood keys --new FILE")
    "There is no key. Ask the server's operator to fix this; the server log says how."
    """
    kept = before_shell(sentence)
    if kept == sentence:
        return for_reader(sentence)
    _log.warning("%s", sentence)
    return f"{kept} {_OPERATOR}".lstrip()


def before_shell(sentence: str) -> str:
    """What stands before the part that says what to type in a shell."""
    return _SHELL.sub("", sentence).rstrip()


def _sentence(refusal: refusals.Refusal) -> str:
    """What a refusal says to the reader of an HTTP answer."""
    match refusal:
        case refusals.Imported(agent, source):
            way = f"continues in {program_title(source)}. To continue it here, fork it: /fork"
            return f"Agent '{agent}' was imported and {way}"
        case refusals.FilesInUse(agent):
            way = "Wait for it, or interrupt it."
            return f"Agent '{agent}' is working in these files, so nothing was reverted. {way}"
        case refusals.ErasureHeld(hold):
            way = "Ask the server's operator to release it."
            return f"The legal hold {hold} covers this. Nothing was erased. {way}"
        case refusals.InArchive(agent):
            way = "Ask the server's operator to bring it back."
            return f"The conversation '{agent}' is in object storage. Nothing was changed. {way}"
        case refusals.StubInUse(agent) | refusals.ArchivedIdInUse(agent):
            way = "Ask the server's operator to restore it into another space."
            return f"The id '{agent}' is in use. Nothing was changed. {way}"
        case refusals.SessionMissing(title, _, session):
            way = "Restore it on its machine first."
            return f"{title} no longer has session {session}. Nothing was changed. {way}"
        case refusals.UnknownHold(hold):
            return f"There is no active legal hold '{hold}'. Choose one that is listed."
        case refusals.TooManyTopics(limit):
            return f"There are already {limit} topics in focus, which is the limit. Remove one."
        case refusals.TooManyNotes(limit):
            return f"There are already {limit} active notes, which is the limit. Replace one."
        case refusals.UnknownNote(note):
            return f"There is no active note {note}. Choose one that is listed."
        case refusals.HookBlocked(hook, why):
            return f"The hook {hook} of the server blocked the prompt: {why} Change the prompt."
        case _:
            return for_reader(refusal.sentence)


SETUP = {
    "no_model": "No model is set on this server. Name one in 'model', or choose one at /setup.",
    "no_key": "The server has no API key for this model. Add one at /setup, or use another model.",
    "bad_key": "The provider rejected the API key of this server. Set another one at /setup.",
}
"""What a failure says if the server lacks something that the person at its machine sets up."""


def refusal_problem(refusal: refusals.Refusal) -> Problem:
    """The problem of a refusal: its sentence, and its fields by their names."""
    name = type(refusal).__name__
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()
    return Problem(
        _STATUS.get(name, 409),
        title,
        _sentence(refusal),
        kind=re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower(),
        fields={
            "refusal": name,
            "fields": msgspec.to_builtins(refusal, enc_hook=str),
            **({"again": refusal.again} if refusal.again else {}),
        },
    )


def problem_of(error: Exception) -> Problem:
    """The problem of an error of Sapwood; of any other error only that there was one."""
    match error:
        case Problem():
            return error
        case RefusedError(refusal=refusal):
            return refusal_problem(refusal)
        case SpaceMoved():
            headers = {MOVED_HEADER: error.cell or "elsewhere"}
            return Problem(421, "Space moved", str(error), headers=headers)
        case SpaceStopped():
            headers = {"Retry-After": "1", MOVED_HEADER: "now"}
            return Problem(503, "Space stopped", str(error), headers=headers)
        case LogUnavailable():
            detail = without_shell(str(error))
            return Problem(503, "Database unavailable", detail, headers={"Retry-After": "2"})
        case LogError():
            return Problem(500, "Log error", without_shell(str(error)))
        case Failure():
            detail = str(error)
            if error.kind != "no_model" or "sapwood " in detail:  # what to type in a shell there
                detail = SETUP.get(error.kind) or without_shell(detail)
            return Problem(424, "Model unavailable", detail, fields={"failure": error.kind})
        case SapwoodError():
            return Problem(400, "Refused", without_shell(str(error)))
        case _:
            return Problem(
                500,
                "Server error",
                "Something went wrong on the server; its log has the details. Try again.",
            )
