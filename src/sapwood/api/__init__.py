"""The Python API: opens a database, records conversations, controls what a model sees."""

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood, open
from sapwood.api.turn_recorder import TurnRecorder

__all__ = ["Agent", "Sapwood", "TurnRecorder", "open"]
