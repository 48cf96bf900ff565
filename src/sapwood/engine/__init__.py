"""Engines: who drives which agent when.

The log is the only truth and an engine only schedules: what it remembers can be lost at any time
and is built again by `wake_all`. There are two. `LocalEngine` lives and dies with its process.
`sapwood.engine.dbos.DbosEngine` shares agents between any number of processes through a database
and takes over from those that die; it is an extra and imported only when asked for.
"""

from sapwood.engine.errors import EngineError
from sapwood.engine.limits import Limits
from sapwood.engine.local import LocalEngine
from sapwood.engine.reconciling import keep_awake, wake_all

__all__ = ["EngineError", "Limits", "LocalEngine", "keep_awake", "wake_all"]
