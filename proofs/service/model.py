"""The scripted model: it repeats the word that it was asked for, often after a tool call."""

from scripted_model import ModelRequest, ReplyLike, call

PIECE = 4
"""Characters of each piece of a reply."""

_LENGTH = len("heard tenant-03/12/0123456789ab")


def delay(seconds: float) -> float:
    """The pause before each piece, so that a usual reply takes so long."""
    return seconds / (_LENGTH / PIECE)


def uses_tool(token: str) -> bool:
    """Whether the model calls the tool before it answers: for one of four prompts."""
    return int(token.rsplit("/", 1)[-1], 16) % 4 == 0


def expected(token: str, space: str) -> str:
    """The answer to a prompt of a tenant."""
    return f"heard {token} in {space}" if uses_tool(token) else f"heard {token}"


def answer(request: ModelRequest) -> ReplyLike:
    """The reply to a request, whatever was asked before."""
    token = request.prompt
    if request.results:
        return f"heard {token} in {request.results[-1].content}"
    return call("space_of_call") if uses_tool(token) else f"heard {token}"
