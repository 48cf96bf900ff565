"""One answer of Claude Code: `claude -p`."""

import msgspec
from msgspec import Struct, structs

from sapwood.core.content import Usage
from sapwood.core.model_calls import Failure
from sapwood.programs.claude_code.rows import ClaudeMessage, ClaudeTokens, usage_of
from sapwood.programs.single_answer import SingleAnswer, SingleQuestion

_ARGUMENTS = (
    *("-p", "--output-format", "json", "--safe-mode", "--no-session-persistence"),
    *("--strict-mcp-config", "--tools", "", "--settings", '{"disableAllHooks": true}'),
)


class _Result(Struct, frozen=True):
    result: str = ""
    is_error: bool = False
    total_cost_usd: float = 0.0
    usage: ClaudeTokens | None = None


class _Format:
    def arguments(self, question: SingleQuestion) -> list[str]:
        arguments = list(_ARGUMENTS)
        arguments += ["--model", question.model] if question.model else []
        arguments += ["--system-prompt", question.system] if question.system else []
        arguments += ["--max-budget-usd", f"{question.dollars:g}"] if question.dollars else []
        return arguments

    def given(self, question: SingleQuestion) -> str:
        return question.prompt

    def answer(self, output: bytes) -> SingleAnswer:
        try:
            found = msgspec.json.decode(output, type=_Result)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Failure("other", f"Claude Code's answer could not be read: {error}.") from error
        if found.is_error:
            raise Failure("other", f"Claude Code failed: {found.result[:300]}")
        usage = usage_of(ClaudeMessage(usage=found.usage)) or Usage(0)
        cost = round(found.total_cost_usd * 1_000_000)
        return SingleAnswer(found.result, structs.replace(usage, cost=cost))


SINGLE_ANSWER = _Format()
