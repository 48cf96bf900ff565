"""The address of a database: which store it names, and the address without its password."""

from pathlib import Path
from urllib.parse import urlsplit

_LONG_NAME = 16
"""A user name of this length is a token, as in `https://TOKEN@host`."""
_SECRET_FIELDS = ("password=", "key=", "token=", "secret=", "sig=")


def is_server(address: str | Path) -> bool:
    """Whether the address names a Sapwood server.

    >>> is_server("https://sapwood.example"), is_server("sapwood.db")
    (True, False)
    """
    return str(address).startswith(("http://", "https://"))


def is_of_plugin(address: str | Path) -> bool:
    """Whether a plug-in has the store of this address: neither a file, nor PostgreSQL, nor memory.

    >>> is_of_plugin("redis://here"), is_of_plugin("sapwood.db"), is_of_plugin("postgresql://db/x")
    (True, False, False)
    """
    text = str(address)
    return "://" in text and not text.startswith(("postgresql://", "postgres://"))


def shown_address(address: str) -> str:
    """The address without its password, for screens and log files.

    >>> shown_address("postgresql://ada:secret@db.example/team")
    'postgresql://ada:…@db.example/team'
    """
    if "://" not in address:
        return address
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    if not colon and len(name) >= _LONG_NAME:
        name, colon = "…", ""
    place = f"{name}:…@{host}" if colon else f"{name}@{host}" if user else parts.netloc
    query = "&".join(
        f"{each.partition('=')[0]}=…"
        if f"{each.partition('=')[0].lower()}=".endswith(_SECRET_FIELDS)
        else each
        for each in parts.query.split("&")
    )
    return parts._replace(netloc=place, query=query).geturl()
