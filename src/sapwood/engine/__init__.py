"""Engines decide when each agent is driven, and in which process.

The log holds the truth and an engine only schedules. Everything an engine stores can be lost at
any time: `wake_all` rebuilds it from the log. There are four engines behind the same three calls.
`process_engine.ProcessEngine` drives agents in the processes that give them work, and needs no
library but that of the log's database. `sapwood.engine.dbos.DbosEngine` is for workers: it shares
agents between any number of processes through the same tables. With
`TemporalEngine`, of the plug-in `sapwood-temporal`, they share them through a Temporal server. All
three
continue the drives of a process that dies; `LocalEngine`, for a log in memory, cannot. DBOS and
Temporal are extras, and their libraries are imported only when they are used.
"""

from sapwood.engine.drives import EngineError, NotServed
from sapwood.engine.limits import DriveLimits
from sapwood.engine.local_engine import LocalEngine
from sapwood.engine.reconciliation import keep_awake, wake_all

__all__ = ["DriveLimits", "EngineError", "LocalEngine", "NotServed", "keep_awake", "wake_all"]
