"""Arguments that a type checker would refuse, and some that are only odd."""

import datetime
import decimal
import enum
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from sapwood.core.content import (
    Note,
    RecordedReply,
    RecordedResult,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.settings import Settings

SECRET = "sk-ant-api03-" + "aB3dE6gH9" * 5
"""A secret that must not be in any log."""


class Words(str):
    """A `str` subclass, as other libraries have."""


class Liar(str):
    """A `str` subclass whose methods return wrong results."""

    def isascii(self) -> bool:
        raise RuntimeError("isascii")

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __len__(self) -> int:
        return -1

    def encode(self, *_: object, **__: object) -> bytes:
        raise RuntimeError("encode")

    def replace(self, *_: object, **__: object) -> str:
        raise RuntimeError("replace")


class Choice(enum.StrEnum):
    """An enumeration of texts."""

    RED = "red"


class Number(int):
    """A number that cannot be compared."""

    def __lt__(self, other: object) -> bool:
        raise RuntimeError("lt")

    def __le__(self, other: object) -> bool:
        raise RuntimeError("le")


class Trap:
    """An object whose methods all raise."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __len__(self) -> int:
        raise RuntimeError("len")

    def __iter__(self) -> Iterator[object]:
        raise RuntimeError("iter")

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __index__(self) -> int:
        raise RuntimeError("index")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")


class BrokenMapping(Mapping[str, object]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> object:
        raise RuntimeError("getitem")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("iter")

    def __len__(self) -> int:
        return 3


class BrokenSequence(Sequence[object]):
    """A sequence that cannot be read."""

    def __getitem__(self, index: Any) -> Any:
        raise RuntimeError("getitem")

    def __len__(self) -> int:
        return 3


class Longer(Text, frozen=True):
    """A subclass of a message part."""

    more: object = None


def _endless() -> dict[str, object]:
    loop: dict[str, object] = {}
    loop["again"] = loop
    return loop


def _deep(levels: int) -> object:
    value: object = []
    for _ in range(levels):
        value = [value]
    return value


_TEXTS: tuple[Callable[[], object], ...] = (
    lambda: "",
    lambda: "\0",
    lambda: "\ud800",
    lambda: "a\udfff\0b\ud83c end",
    lambda: "x" * 5_000,
    lambda: "🌲 fir " * 700,
    lambda: f"\ud83c{'y' * 3_000}",
    lambda: "數據 и текст",
    lambda: "line\nline\r\n\tline\x1f\x1e\x1d\x7f\u2028",
    lambda: '{"$content": "abc"}',
    lambda: '{"broken": ',
    lambda: "/clear 1",
    lambda: "/mark M\nwork\n/fork M -- goal",
    lambda: "/rewind nowhere",
    lambda: "/send nobody hello",
    lambda: "//escaped",
    lambda: "parent",
    lambda: f"my key is {SECRET}, keep it",
    lambda: f'{{"api_key": "{SECRET}"}}',
    lambda: "[secret: anthropic-key …E6gH]",
    lambda: "-----BEGIN PRIVATE KEY-----\\nAAAAAAAAAAAAAAAAAAAAAAAA",
    lambda: Words("a subclass"),
    lambda: Liar("a liar"),
    lambda: Choice.RED,
)
_OTHERS: tuple[Callable[[], object], ...] = (
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 7,
    lambda: 2**31,
    lambda: 2**63,
    lambda: -(2**70),
    lambda: 10**400,
    lambda: Number(3),
    lambda: 3.0,
    lambda: 3.5,
    lambda: math.nan,
    lambda: math.inf,
    lambda: 1e308,
    lambda: decimal.Decimal("1.5"),
    lambda: 1j,
    lambda: b"bytes",
    lambda: b"\xff\xfe\x00",
    lambda: bytearray(b"array"),
    lambda: memoryview(b"view"),
    lambda: Path("some/where"),
    lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    list,
    lambda: ["a"],
    lambda: [None],
    lambda: ("a", 1, b"b"),
    dict,
    lambda: {"city": "Oslo"},
    lambda: {"city": math.nan, 1: {2: 3}},
    lambda: {("a",): object()},
    lambda: {"type": "text", "text": "from a mapping"},
    lambda: [{"type": "text", "text": 5}],
    lambda: {"role": "user", "content": "hi"},
    lambda: {"a", "b"},
    lambda: range(3),
    lambda: (each for each in "abc"),
    _endless,
    lambda: _deep(90),
    lambda: _deep(5_000),
    object,
    lambda: Trap,
    Trap,
    BrokenMapping,
    BrokenSequence,
    lambda: ValueError("an error"),
    lambda: len,
    lambda: Text("a part"),
    lambda: Text(5),  # pyright: ignore[reportArgumentType] # that is the point
    lambda: Longer("extended", more=object()),
    lambda: Note("nobody", "hm"),  # pyright: ignore[reportArgumentType]
    lambda: Thinking(f"I saw {SECRET}", "anthropic", "c2ln"),
    lambda: ToolCall(1, "weather", {"city": "Oslo"}),  # pyright: ignore[reportArgumentType]
    lambda: ToolCall("\ud800", b"x", {"key": SECRET}),  # pyright: ignore[reportArgumentType]
    lambda: ToolCall("c", "n", Trap()),  # pyright: ignore[reportArgumentType]
    lambda: RecordedReply(("plain", Text("part"))),  # pyright: ignore[reportArgumentType]
    lambda: RecordedReply("no list"),  # pyright: ignore[reportArgumentType]
    lambda: RecordedResult("1", b"bytes", error="yes"),  # pyright: ignore[reportArgumentType]
    lambda: Usage(-5),
    lambda: Usage(2**80, "x"),  # pyright: ignore[reportArgumentType]
    lambda: Settings(model=5, levels=(1, 2)),  # pyright: ignore[reportArgumentType]
    lambda: Settings(cap=-1, low_water=math.nan),
)


def odd_text(random: Random) -> Any:
    """A text, or something similar to a text."""
    return random.choice(_TEXTS)()


def hostile(random: Random) -> Any:
    """Anything at all."""
    return random.choice(random.choice((_TEXTS, _OTHERS, _OTHERS)))()


VALUES = (*_TEXTS, *_OTHERS)
"""All of them, each as a function that makes it."""

WORST: tuple[Callable[[], object], ...] = (
    lambda: "\ud800",
    lambda: Liar("a liar"),
    lambda: 10**400,
    lambda: _deep(5_000),
    Trap,
)
"""The few that found the most."""
