"""`ask_user`: the model asks the person a question with choices, and the answer is the result."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from sapwood.core.model_calls import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.workspace.permissions.permission_gate import (
    AskPermission,
    Deny,
    NobodyAnswers,
    PermissionQuestion,
    Reply,
)
from sapwood.workspace.safe_paths import require_visible
from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.tools.tool_arguments import read_arguments, tool_spec

ASK_USER = "ask_user"
_Choice = Annotated[str, Meta(min_length=1, max_length=100)]
_NOBODY = "Nobody answered in time. Choose what is safest and say so, or end your turn and ask."


class AskUser(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `ask_user`."""

    question: Annotated[str, Meta(min_length=1, max_length=2000)]
    choices: Annotated[tuple[_Choice, ...], Meta(min_length=2, max_length=4)]


_SPECS = (
    tool_spec(
        ASK_USER,
        "Asks the user a question with 2 to 4 choices, and waits. The user may answer otherwise.",
        AskUser,
    ),
)


class QuestionToolbox:
    """The tool `ask_user`, in every permission mode. `ask` is how tools ask for permission too."""

    def __init__(self, ask: AskPermission, secrets: Sequence[str] = ()) -> None:
        self._ask = ask
        self._secrets = tuple(secrets)

    async def specs(self) -> Sequence[ToolSpec]:
        """The one tool."""
        return _SPECS

    def effect(self, use: ToolUse) -> Effect:
        """None: after a crash the call runs again, and finds its question or the answer."""
        return "none"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Returns what the person answered. Raises `AnswerAwaited` if the turn is to be parked."""
        try:
            wanted = read_arguments(ASK_USER, use.call.args, AskUser)
            require_visible(wanted.question, "question", lines=True)
            for choice in wanted.choices:
                require_visible(choice, "choice")
            answer = await self._ask(self._question(use, wanted))
        except ToolError as error:
            return ToolOutcome(str(error), error=True)
        except NobodyAnswers:
            return ToolOutcome(_NOBODY, error=True)
        match answer:
            case Reply(text):
                return ToolOutcome(f"The user answered: {text}")
            case Deny(reason):
                because = f": {reason}" if reason else "."
                return ToolOutcome(f"The user did not answer{because}", error=True)
            case _:
                return ToolOutcome("The user did not answer.", error=True)

    async def close(self) -> None:
        """Does nothing: the log has the question."""

    def _question(self, use: ToolUse, wanted: AskUser) -> PermissionQuestion:
        from sapwood.redaction import mask_secrets  # nobody is asked at start-up

        text = mask_secrets(wanted.question, self._secrets)
        return PermissionQuestion(
            use.agent,
            use.workspace.worktree or use.workspace.folder,
            ASK_USER,
            text,
            "The turn waits for your answer.",
            text,
            call=use.call.id,
            choices=tuple(mask_secrets(each, self._secrets) for each in wanted.choices),
        )
