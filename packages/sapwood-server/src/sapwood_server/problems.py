"""Errors as problem documents (RFC 9457): what happened and what to do next, in one sentence."""

import re
from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from sapwood.core.errors import LogError, LogUnavailable, RefusedError, SapwoodError
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import Refusal

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
        fields: Mapping[str, object] | None = None,
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
        body = {
            "type": f"urn:sapwood:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            **self.fields,
        }
        return Response(_encode(body), self.status, headers=self.headers, media_type=PROBLEM_TYPE)


def with_openai_error(problem: Problem) -> Problem:
    """The problem with the member `error`, as OpenAI clients read it."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    other = "server_error" if problem.status >= 500 else "invalid_request_error"
    problem.fields["error"] = {
        "message": problem.detail,
        "type": kinds.get(problem.status, other),
        "param": problem.fields.get("param"),
        "code": problem.fields.get("code", problem.kind),
    }
    return problem


def refusal_problem(refusal: Refusal) -> Problem:
    """The problem of a refusal: its sentence, and its fields by their names."""
    name = type(refusal).__name__
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()
    return Problem(
        _STATUS.get(name, 409),
        title,
        refusal.sentence,
        kind=re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower(),
        fields={"refusal": name, "fields": msgspec.to_builtins(refusal, enc_hook=str)},
    )


def problem_of(error: Exception) -> Problem:
    """The problem of an error of Sapwood; of any other error only that there was one."""
    match error:
        case Problem():
            return error
        case RefusedError(refusal=refusal):
            return refusal_problem(refusal)
        case LogUnavailable():
            return Problem(503, "Database unavailable", str(error), headers={"Retry-After": "2"})
        case LogError():
            return Problem(500, "Log error", str(error))
        case Failure():
            return Problem(424, "Model unavailable", str(error), fields={"failure": error.kind})
        case SapwoodError():
            return Problem(400, "Refused", str(error))
        case _:
            return Problem(
                500,
                "Server error",
                "Something went wrong on the server; its log has the details. Try again.",
            )
