"""Engines decide when each agent is driven, and in which process.

The log holds the truth and an engine only schedules. Everything an engine stores can be lost at
any time: `wake_all` rebuilds it from the log. There are three engines behind the same three calls.
`process_engine.ProcessEngine` drives agents in the processes that give them work and in workers,
and needs no library but that of the log's database. With `TemporalEngine`, of the plug-in
`sapwood-temporal`, processes share agents through a Temporal server. Both continue the drives of a
process that dies; `LocalEngine`, for a log in memory, cannot.
"""

from sapwood.engine.drives import EngineError, NotServed
from sapwood.engine.limits import DriveLimits
from sapwood.engine.local_engine import LocalEngine
from sapwood.engine.reconciliation import keep_awake, wake_all

__all__ = ["DriveLimits", "EngineError", "LocalEngine", "NotServed", "keep_awake", "wake_all"]
