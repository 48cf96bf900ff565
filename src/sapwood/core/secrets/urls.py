"""Passwords in URLs: `postgres://me:PASSWORD@host`."""

import re
from collections.abc import Iterator

from sapwood.core.secrets.span import Span
from sapwood.core.secrets.values import is_placeholder

__all__ = ["KIND", "url_passwords"]

KIND = "url-password"
_USER_AND_PASSWORD = re.compile(
    r"""://[^\s/:@"'<>`]{0,128}:([^\s/@"'<>`]{3,512})@[\w\[]""", re.ASCII
)


def url_passwords(text: str) -> Iterator[Span]:
    """The password of every URL in the text that carries one."""
    place = text.find("://")
    while place >= 0:
        match = _USER_AND_PASSWORD.match(text, place)
        if match and not is_placeholder(match[1]):
            yield Span(*match.span(1), KIND)
        place = text.find("://", place + 3)
