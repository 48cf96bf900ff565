"""Engines decide when each agent is driven, and in which process.

The log holds the truth and an engine only schedules. Everything an engine stores can be lost at
any time: `wake_all` rebuilds it from the log. There are two engines. `LocalEngine` lives in one
process. `sapwood.engine.dbos.DbosEngine` shares agents between any number of processes through a
database and takes over the drives of a process that dies. It is an extra, and its libraries are
imported only when it is used.
"""

from sapwood.engine.drives import EngineError, NotServed
from sapwood.engine.limits import DriveLimits
from sapwood.engine.local_engine import LocalEngine
from sapwood.engine.reconciliation import keep_awake, wake_all

__all__ = ["DriveLimits", "EngineError", "LocalEngine", "NotServed", "keep_awake", "wake_all"]
