"""Model access: sends requests to providers and returns deltas and one answer.

Importing this package or creating `Models` imports no HTTP client. The first call does.
"""

from sapwood.models.access import Models
from sapwood.models.model_facts import Money, fits, price_of, window_of
from sapwood.models.retry import RetryPolicy, Timeouts

__all__ = ["Models", "Money", "RetryPolicy", "Timeouts", "fits", "price_of", "window_of"]
