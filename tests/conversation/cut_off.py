"""A process that is killed in the middle of a command."""

from typing import Any

import pytest

from sapwood.conversation.call import Call
from sapwood.conversation.service import ConversationService


class Killed(BaseException):
    """The process has ended."""


async def die(*_: Any, **__: Any) -> Any:
    """Ends the process."""
    raise Killed


def dies_before_its_prompt(patch: pytest.MonkeyPatch) -> None:
    """The process ends before a prompt is stored."""
    patch.setattr(ConversationService, "prompt", die)


def dies_before_the_step(patch: pytest.MonkeyPatch, step: str) -> None:
    """The process ends before this step of a command."""
    give = Call.give_step

    async def given(call: Call, command: Any, name: str) -> Any:
        return await (die() if name == step else give(call, command, name))

    patch.setattr(Call, "give_step", given)
