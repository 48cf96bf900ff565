"""The Python face: open a database, hold conversations in it, control what a model sees."""

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood, open
from sapwood.api.turn import TurnRecorder

__all__ = ["Agent", "Sapwood", "TurnRecorder", "open"]
