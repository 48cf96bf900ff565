"""What a program that runs agents for others notes of each: its owner, labels and metadata.

Lists and rules of retention use them. A model never sees them.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

OWNER_LENGTH = 200
"""The most characters of an owner."""

LABEL_LENGTH = 100
"""The most characters of a label, and of a name of the metadata."""

LABELS_LIMIT = 32
"""The most labels of an agent."""

METADATA_LIMIT = 32
"""The most entries of the metadata of an agent."""

VALUE_LENGTH = 1_000
"""The most characters of a value of the metadata."""

_RESERVED = "sapwood."

_SEPARATOR = "\x1f"
"""Stands between the owner and the label of a key; neither can contain it."""


class Entry(Struct, frozen=True, array_like=True, gc=False):
    """One entry of the metadata of an agent."""

    name: str
    value: str

    @property
    def is_reserved(self) -> bool:
        """Whether only Sapwood itself writes this entry."""
        return is_reserved(self.name)


class Tags(Struct, frozen=True, omit_defaults=True, gc=False):
    """The owner, the labels and the metadata of an agent. Labels and entries are sorted."""

    owner: str = ""
    labels: tuple[str, ...] = ()
    metadata: tuple[Entry, ...] = ()


def is_reserved(name: str) -> bool:
    """Whether only Sapwood itself writes the label, or the entry of the metadata, with this name.

    >>> is_reserved("sapwood.archive"), is_reserved("sapwood")
    (True, False)
    """
    return name.startswith(_RESERVED)


def entries_of(metadata: Mapping[str, str]) -> tuple[Entry, ...]:
    """The metadata as sorted entries.

    >>> entries_of({"b": "2", "a": "1"})
    (Entry(name='a', value='1'), Entry(name='b', value='2'))
    """
    return tuple(Entry(name, metadata[name]) for name in sorted(metadata))


def keys_of(tags: Tags) -> tuple[str, ...]:
    """The keys under which lists find an agent: by owner, by label, and by both.

    >>> keys_of(Tags("ada", ("vip",)))
    ('lvip', 'oada', 'bada\\x1fvip')
    """
    keys = [key_of("", label) for label in tags.labels]
    if tags.owner:
        keys += [key_of(tags.owner, ""), *(key_of(tags.owner, label) for label in tags.labels)]
    return tuple(keys)


def key_of(owner: str, label: str) -> str:
    """The key of all agents with this owner, this label, or both."""
    if owner and label:
        return f"b{owner}{_SEPARATOR}{label}"
    return f"o{owner}" if owner else f"l{label}"


def changed_tags(
    tags: Tags,
    owner: str | None,
    add: Iterable[str],
    remove: Iterable[str],
    metadata: Iterable[Entry],
) -> Tags:
    """The tags after a change. An entry with an empty value removes the entry of its name."""
    entries = {entry.name: entry.value for entry in (*tags.metadata, *metadata)}
    return Tags(
        tags.owner if owner is None else owner,
        tuple(sorted({*tags.labels, *add} - set(remove))),
        entries_of({name: value for name, value in entries.items() if value}),
    )
