"""Tending: what a conversation is about, how far it drifted, and what a model needs to go on."""

from sapwood.garden.archive import Archive
from sapwood.garden.drift import Drift, Status, TopicShare, TurnPlace
from sapwood.garden.drifting import drift_of
from sapwood.garden.resuming import resumption_prompt

__all__ = [
    "Archive",
    "Drift",
    "Status",
    "TopicShare",
    "TurnPlace",
    "drift_of",
    "resumption_prompt",
]
