"""The address of a database: which store it names, and the address without its password.

An address of PostgreSQL may go through a pooler, and then names the server behind it too.
"""

from pathlib import Path
from typing import NamedTuple
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


class PostgresAddress(NamedTuple):
    """Where statements go, and where connections go that need a session of their own.

    They differ if there is a pooler that lends a connection for one transaction at a time.
    """

    statements: str
    sessions: str

    @property
    def is_pooled(self) -> bool:
        """Whether statements go through a pooler."""
        return self.statements != self.sessions


def split_pooler(address: str) -> PostgresAddress:
    """The two addresses. The option `direct` of an address names the server behind a pooler.

    >>> split_pooler("postgresql://ada@pool:6432/team?direct=db:5432&sslmode=require")[0]
    'postgresql://ada@pool:6432/team?sslmode=require'
    >>> split_pooler("postgresql://ada@pool:6432/team?direct=db:5432").sessions
    'postgresql://ada@db:5432/team'
    >>> split_pooler("postgresql://ada@db/team").is_pooled
    False
    """
    parts = urlsplit(address)
    options = [each.partition("=") for each in parts.query.split("&") if each]
    place = next((value for name, _, value in options if name == "direct"), "")
    if not place:
        return PostgresAddress(address, address)
    query = "&".join("".join(each) for each in options if each[0] != "direct")
    login, at, _ = parts.netloc.rpartition("@")
    pooled = parts._replace(query=query)
    return PostgresAddress(pooled.geturl(), pooled._replace(netloc=f"{login}{at}{place}").geturl())


def shown_address(address: str) -> str:
    """The address without its password, for screens and log files.

    >>> shown_address("postgresql://ada:secret@db.example/team")
    'postgresql://ada:…@db.example/team'
    """
    scheme, is_url, _ = address.partition("://")
    if not is_url:
        return address
    try:
        parts = urlsplit(address)
    except ValueError:  # nobody knows where the password ends
        return f"{scheme}://…"
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
