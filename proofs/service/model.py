"""The scripted model: it repeats the word that it was asked for, often after a tool call."""

from scripted_model import ModelRequest, Reply, ReplyLike, call

_THINKS_FOR = 0.2


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
        return Reply.of(f"heard {token} in {request.results[-1].content}", sleep=_THINKS_FOR)
    if uses_tool(token):
        return Reply.of(call("space_of_call"), sleep=_THINKS_FOR)
    return Reply.of(f"heard {token}", sleep=_THINKS_FOR)
