"""The ids of imported sessions and of the commands that import them.

They are computed from the transcript alone, so that importing it twice imports it once.
"""

import hashlib

from sapwood.core.ids import AgentId, CommandId

# As in the ids of own agents: no vowels and look-alikes.
_LETTERS = "23456789bcdfghjkmnpqrstvwxz"
_LENGTH = 12


def imported_agent_id(source: str, session: str) -> AgentId:
    """The id of the agent that a session of a program becomes.

    >>> imported_agent_id("codex", "01a1dc49-cb32-7ff3-be8a-10d31f7fe650")
    'xwg5z5njtcpq'
    """
    number = int.from_bytes(_digest(source, session), "big")
    letters: list[str] = []
    for _ in range(_LENGTH):
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return AgentId("".join(letters))


def imported_command_id(source: str, session: str, what: str, row: str) -> CommandId:
    """The id of the command that imports a row; `what` names its kind."""
    return CommandId(f"import-{_digest(source, session, what, row).hex()[:32]}")


def _digest(*names: str) -> bytes:
    joined = "\0".join(name.replace("\0", "\0\0") for name in names)
    return hashlib.sha256(joined.encode("utf-8", "replace")).digest()
