"""One answer of Codex: `codex exec`."""

import msgspec
from msgspec import Struct

from sapwood.core.content import Usage
from sapwood.core.model_calls import Failure
from sapwood.programs.codex.contents import usage_of
from sapwood.programs.codex.rows import CodexTokens
from sapwood.programs.single_answer import SingleAnswer, SingleQuestion

_ARGUMENTS = (
    *("exec", "--json", "--ephemeral", "--skip-git-repo-check", "--color", "never"),
    *("--sandbox", "read-only", "-c", "mcp_servers={}", "-c", "project_doc_max_bytes=0"),
    *("-c", "web_search=disabled", "--disable", "hooks", "--disable", "plugins"),
    *("--disable", "shell_tool", "--disable", "unified_exec", "--disable", "view_image"),
    *("--disable", "apps", "--disable", "multi_agent", "--disable", "goals"),
)


class _Item(Struct, frozen=True):
    type: str = ""
    text: str = ""


class _Error(Struct, frozen=True):
    message: str = ""


class _Row(Struct, frozen=True):
    type: str = ""
    item: _Item = _Item()
    usage: CodexTokens | None = None
    error: _Error = _Error()
    message: str = ""


class _Format:
    def arguments(self, question: SingleQuestion) -> list[str]:
        return [*_ARGUMENTS, *(["--model", question.model] if question.model else []), "-"]

    def given(self, question: SingleQuestion) -> str:
        """The prompt after the system prompt, for which there is no option."""
        return f"{question.system}\n\n{question.prompt}" if question.system else question.prompt

    def answer(self, output: bytes) -> SingleAnswer:
        text, failure, usage = "", "", Usage(0)
        for line in output.splitlines():
            try:
                row = msgspec.json.decode(line, type=_Row)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            if row.type == "item.completed" and row.item.type == "agent_message":
                text = row.item.text
            elif row.type == "turn.completed" and row.usage:
                usage += usage_of(row.usage)
            elif row.type in ("turn.failed", "error"):
                failure = row.error.message or row.message
        if not text:
            raise Failure("other", f"Codex failed: {failure[:300] or 'it gave no answer'}")
        return SingleAnswer(text, usage)


SINGLE_ANSWER = _Format()
