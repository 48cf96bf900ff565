"""Refusals: why a command changed nothing, and what to do instead. One class for each reason."""

from sapwood.core.refusals.agents import *
from sapwood.core.refusals.commands import *
from sapwood.core.refusals.contexts import *
from sapwood.core.refusals.files import *
from sapwood.core.refusals.refusal import Refusal as Refusal
from sapwood.core.refusals.refusal import nearest as nearest
from sapwood.core.refusals.turns import *
