"""Engines decide when each agent is driven, and in which process.

The log holds the truth and an engine only schedules. Everything an engine stores can be lost at
any time: `wake_all` rebuilds it from the log. There are three engines behind the same three calls.
`LocalEngine` lives in one process. `sapwood.engine.dbos.DbosEngine` shares agents between any
number of processes through the log's database, and `sapwood.engine.temporal.TemporalEngine` through
a Temporal server; both continue the drives of a process that dies. They are extras, and their
libraries are imported only when they are used.
"""

from sapwood.engine.drives import EngineError, NotServed
from sapwood.engine.limits import DriveLimits
from sapwood.engine.local_engine import LocalEngine
from sapwood.engine.reconciliation import keep_awake, wake_all

__all__ = ["DriveLimits", "EngineError", "LocalEngine", "NotServed", "keep_awake", "wake_all"]
