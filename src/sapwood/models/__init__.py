"""Model access: requests go out to providers, deltas and one answer come back.

Neither this package nor anything that `Models` needs to be made imports a provider's library;
that happens at the first call, or earlier with `Models.warm`.
"""

from sapwood.models.access import Models
from sapwood.models.patience import Patience, Timeouts
from sapwood.models.windows import Money, fits, price_of, window_of

__all__ = ["Models", "Money", "Patience", "Timeouts", "fits", "price_of", "window_of"]
