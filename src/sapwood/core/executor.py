"""The executor of an agent: a model, or a program that runs its turns with a loop of its own.

The setting `model` names it. `claude-code` and `codex` are programs; what follows a colon is the
model that the program should use. Every other name is a model.
"""

from collections.abc import Mapping

from msgspec import Struct


class AgentProgram(Struct, frozen=True):
    """A program that can run turns: its title, how to install it, and how to log in."""

    title: str
    install: str
    log_in: str


PROGRAMS: Mapping[str, AgentProgram] = {
    "claude-code": AgentProgram(
        "Claude Code",
        "npm install -g @anthropic-ai/claude-code, or pip install claude-agent-sdk",
        "claude, then /login",
    ),
    "codex": AgentProgram(
        "Codex", "npm install -g @openai/codex, or pip install openai-codex", "codex login"
    ),
}
"""By the name that users type."""


class ProgramExecutor(Struct, frozen=True):
    """A program, and the model that it should use; empty for the program's own choice."""

    program: str
    model: str = ""

    @property
    def title(self) -> str:
        """The name of the program for people."""
        return PROGRAMS[self.program].title


def program_executor(name: str) -> ProgramExecutor | None:
    """The program that a model name means; None if it means a model.

    >>> program_executor("codex:gpt-5-codex")
    ProgramExecutor(program='codex', model='gpt-5-codex')
    >>> program_executor("claude-opus-5-5") is None
    True
    """
    program, _, model = name.strip().partition(":")
    return ProgramExecutor(program, model.strip()) if program in PROGRAMS else None
