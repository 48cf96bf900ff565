"""The checks before a prompt of a person is stored: files are whole, and no hook objects.

A command that changes something before it opens a turn makes these checks first, so that nothing
has changed if its prompt is refused.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sapwood.conversation.call import Services
from sapwood.core.content import PromptPart
from sapwood.core.refusals import Refusal, RevertCutOff
from sapwood.core.state import State

if TYPE_CHECKING:
    from sapwood.turns.revert import Reverter


def reverter_of(services: Services) -> "Reverter | None":
    """What reverts files and context; None where no files are saved."""
    from sapwood.turns.revert import Reverter

    if services.checkpoints is None:
        return None
    return Reverter(services.space.dispatcher, services.checkpoints())


async def finish_revert(services: Services, state: State) -> Refusal | None:
    """Finishes a revert of a process that was killed. Returns a refusal if that fails."""
    if state.reverting is None:
        return None
    reverter = reverter_of(services)
    if reverter is None:
        return RevertCutOff(state.reverting.to.words)
    return await reverter.finish(state.agent)


async def hook_objection(
    services: Services, state: State, prompt: Sequence[PromptPart]
) -> Refusal | None:
    """Runs the person's hooks on a prompt. Returns a refusal if one objects."""
    return None if services.check_prompt is None else await services.check_prompt(state, prompt)
