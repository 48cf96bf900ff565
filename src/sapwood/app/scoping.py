"""What a person allows on a command line: meant for the agents of that command.

A process may be handed the work of others, who get nothing of it.
"""

from sapwood.core.ids import AgentId, Space
from sapwood.runtime.log import Log
from sapwood.workspace.permissions.asking import Grants
from sapwood.workspace.permissions.rules import Rules

__all__ = ["granted_to_kin"]


def granted_to_kin(log: Log, space: Space, root: AgentId, rules: Rules) -> Grants:
    """These rules for `root` and its descendants, and none for anybody else."""

    async def granted(agent: AgentId) -> Rules:
        if agent == root or root in await log.ancestors(space, agent):
            return rules
        return ()

    return granted
