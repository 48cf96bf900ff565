"""Turns the problem documents of a server into the errors that the library raises."""

from functools import cache
from typing import get_args

import msgspec
from msgspec import Raw, Struct

from sapwood.core import refusals
from sapwood.core.errors import LogAway, LogError, RefusedError, SapwoodError
from sapwood.core.model_calls import Failure, FailureKind
from sapwood.core.refusals import Refusal


class RemoteRefusal(Refusal, frozen=True):
    """A refusal of a kind that only the server knows: its name and its sentence."""

    name: str
    words: str

    @property
    def sentence(self) -> str:
        """The sentence of the server."""
        return self.words


class ProblemDocument(Struct, frozen=True):
    """A problem document (RFC 9457) with the fields that the server adds."""

    type: str = ""
    title: str = ""
    status: int = 0
    detail: str = ""
    refusal: str = ""
    fields: Raw = Raw(b"{}")
    failure: str = ""


def error_of(status: int, body: bytes, address: str) -> Exception:
    """The error that an answer of the server stands for."""
    try:
        problem = msgspec.json.decode(body, type=ProblemDocument)
    except msgspec.MsgspecError:
        problem = ProblemDocument(detail=f"The server at {address} answered with status {status}.")
    if problem.refusal:
        return RefusedError(_refusal(problem))
    if problem.failure in get_args(FailureKind):
        return Failure(_kind(problem.failure), problem.detail)
    match status:
        case 401:
            return LogError(
                f"The server at {address} does not recognize this token. Set a valid one in "
                "SAPWOOD_TOKEN, or type: sapwood login"
            )
        case 502 | 503 | 504:
            return LogAway(problem.detail)
        case 403 | 421 | 429:
            return LogError(problem.detail)
        case _ if status >= 500:
            return LogError(problem.detail)
        case _:
            return SapwoodError(problem.detail)


def _refusal(problem: ProblemDocument) -> Refusal:
    """The refusal as its own class, if this version has it."""
    kind = _kinds().get(problem.refusal)
    if kind is not None:
        try:
            return msgspec.json.decode(problem.fields, type=kind)
        except msgspec.MsgspecError:
            pass
    return RemoteRefusal(problem.refusal, problem.detail)


@cache
def _kinds() -> dict[str, type[Refusal]]:
    found = (getattr(refusals, name) for name in refusals.__all__)
    return {
        each.__name__: each
        for each in found
        if isinstance(each, type) and issubclass(each, Refusal) and each is not Refusal
    }


def _kind(name: str) -> FailureKind:
    return msgspec.convert(name, FailureKind)
