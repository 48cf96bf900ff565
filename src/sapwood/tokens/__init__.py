"""Token counters: characters, features and exact vocabularies, and which of them serves a model.

Importing this loads no vocabulary: the first exact count does.
"""

from sapwood.tokens.chars4 import Chars4Counter
from sapwood.tokens.exact import ExactCounter, ExtraMissing
from sapwood.tokens.features import FeatureCounter
from sapwood.tokens.models import counter_for

__all__ = ["Chars4Counter", "ExactCounter", "ExtraMissing", "FeatureCounter", "counter_for"]
