"""What can be missing before the gardener begins."""

from sapwood.core.errors import SapwoodError

__all__ = ["NoSession"]


class NoSession(SapwoodError):
    """There is no conversation to look at; the message says where was looked."""
