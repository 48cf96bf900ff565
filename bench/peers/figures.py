"""The measurements of one store, and their JSON form between the two interpreters."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """One row of the comparison. Times are medians; a turn is two messages."""

    name: str
    version: str
    messages: int
    """The number of messages in the conversation when it was loaded and forked."""
    append_p50_ms: float
    """One turn made durable, over the whole growth of the conversation."""
    append_last_p50_ms: float
    """The same over the last turns, where the conversation is longest."""
    load_ms: float
    """From a closed database to every message in memory."""
    fork_ms: float
    fork_bytes: int
    """How much the settled database grew by one fork."""
    disk_bytes: int
    """The settled database before any fork."""
    durability: str
    """The journal mode and the synchronous level that the peer runs with by default."""
    remark: str
    """How the figures came about, where that is not plain from their names."""

    def to_json(self) -> str:
        """The row as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "PeerFigures":
        """The row read back from a line that `to_json` wrote."""
        return cls(**json.loads(line))
