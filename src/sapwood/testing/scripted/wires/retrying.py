"""What a failing provider says of when to come back."""

import math

__all__ = ["retry_headers"]

_RETRYABLE = frozenset({408, 409, 429, 503, 529})


def retry_headers(status: int, seconds: float) -> dict[str, str]:
    """Headers for a failure with this status.

    >>> retry_headers(429, 2), retry_headers(529, 0.05), retry_headers(500, 1)
    ({'retry-after': '2'}, {'retry-after': '1', 'retry-after-ms': '50'}, {})
    """
    if status not in _RETRYABLE or seconds <= 0:
        return {}
    headers = {"retry-after": str(math.ceil(seconds))}
    if seconds != int(seconds):
        headers["retry-after-ms"] = str(round(seconds * 1000))
    return headers
