"""What models support, by the beginning of their names: thinking, sampling, forced tools, schemas.

The newest families come first, because a name takes the first row that it matches. A name that
matches no row is newer than this table and gets what is safe for it.
"""

import re
from typing import Literal

from msgspec import Struct

_ORDER = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def nearest_effort(effort: str, supported: tuple[str, ...]) -> str:
    """The least supported effort that is not below the wanted one, else the greatest.

    >>> nearest_effort("none", ("low", "high")), nearest_effort("max", ("low", "high"))
    ('low', 'high')
    """
    wanted = _ORDER.index(effort)
    return next((each for each in supported if _ORDER.index(each) >= wanted), supported[-1])


class ClaudeTraits(Struct, frozen=True):
    """A family of Claude.

    `max_tokens` is the limit of an answer that is sent if the user sets none. `adaptive` models
    decide themselves how much to think; others get a budget. `binds`: refuses earlier thinking if
    anything before it changed. `forces`: can be made to call a tool. `off` is how thinking is
    switched off; `least` means that it cannot be. `compacts`: the provider writes summaries with it
    and takes them back.
    """

    max_tokens: int = 128_000
    adaptive: bool = True
    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh", "max")
    binds: bool = False
    forces: bool = True
    off: Literal["default", "disabled", "between_tools", "least"] = "default"
    schemas: bool = True
    compacts: bool = True


_CLAUDE = (
    (r"claude-(fable|mythos)-5-[1-9]|claude-opus-5-5", ClaudeTraits(
        binds=True, forces=False, off="least")),
    (r"claude-sonnet-5-5", ClaudeTraits(
        binds=True, forces=False, off="between_tools", compacts=False)),
    (r"claude-haiku-5-5", ClaudeTraits(binds=True, off="disabled", compacts=False)),
    (r"claude-(fable|mythos)-5", ClaudeTraits(off="least")),
    (r"claude-(opus|sonnet)-5", ClaudeTraits(off="disabled")),
    (r"claude-opus-4-[78]", ClaudeTraits()),
    (r"claude-(opus|sonnet)-4-6", ClaudeTraits(efforts=("low", "medium", "high", "max"))),
    (r"claude-opus-4-5", ClaudeTraits(
        64_000, adaptive=False, efforts=("low", "medium", "high"), compacts=False)),
    (r"claude-(sonnet|haiku)-4-5", ClaudeTraits(
        64_000, adaptive=False, efforts=(), compacts=False)),
    (r"claude-opus-4-1", ClaudeTraits(
        4_096, adaptive=False, efforts=(), compacts=False)),
    (r"claude-([123v]|instant|(opus|sonnet)-4)", ClaudeTraits(
        4_096, adaptive=False, efforts=(), schemas=False, compacts=False)),
)  # fmt: skip
_NEW_CLAUDE = ClaudeTraits(16_384, off="disabled", compacts=False)


class OpenAITraits(Struct, frozen=True):
    """A family of OpenAI. `efforts` is empty for models that do not reason.

    `samples`: takes a temperature, but while it reasons only if it never does. `spans_turns`: can
    use the reasoning of earlier turns. `diagnoses`: says why its cache could not serve a request.
    """

    efforts: tuple[str, ...] = ()
    samples: bool = True
    spans_turns: bool = False
    diagnoses: bool = False


_TO_XHIGH = ("minimal", "low", "medium", "high", "xhigh")
_TO_MAX = ("low", "medium", "high", "xhigh", "max")
_OPENAI = (
    (r"gpt-6-astra|gpt-6\.1-sol", OpenAITraits(
        _TO_MAX, samples=False, spans_turns=True, diagnoses=True)),
    (r"gpt-5\.6|gpt-6", OpenAITraits(
        ("none", *_TO_MAX), samples=False, spans_turns=True, diagnoses=True)),
    (r"gpt-5\.2-pro", OpenAITraits(("medium", "high", "xhigh"), samples=False)),
    (r"gpt-5\.[45]-pro", OpenAITraits(
        ("medium", "high", "xhigh"), samples=False, spans_turns=True)),
    (r"gpt-5\.5", OpenAITraits(("none", *_TO_XHIGH), samples=False, spans_turns=True)),
    (r"gpt-5\.4", OpenAITraits(("none", *_TO_XHIGH), spans_turns=True)),
    (r"gpt-5\.1-codex", OpenAITraits(_TO_XHIGH, samples=False)),
    (r"gpt-5\.[123]", OpenAITraits(("none", *_TO_XHIGH))),
    (r"gpt-5-pro", OpenAITraits(("high",), samples=False)),
    (r"gpt-5(?!\.)", OpenAITraits(("minimal", "low", "medium", "high"), samples=False)),
    (r"o\d", OpenAITraits(("low", "medium", "high"), samples=False)),
    (r"", OpenAITraits()),
)  # fmt: skip


class GeminiTraits(Struct, frozen=True):
    """A family of Gemini. It thinks by `levels`, by a budget of tokens, or not at all.

    `least_budget` is the budget that switches thinking off, as far as possible; None without
    budgets. `combines`: takes tools and a schema of the answer in one request.
    """

    levels: tuple[str, ...] = ()
    least_budget: int | None = None
    combines: bool = False


_GEMINI = (
    (r"gemini-2\.5-pro", GeminiTraits(least_budget=128)),
    (r"gemini-2\.5", GeminiTraits(least_budget=0)),
    (r"gemini-[12]|gemini-pro|gemma", GeminiTraits()),
    (r"gemini-3-pro", GeminiTraits(("low", "high"), combines=True)),
    (r"gemini-3\.1-pro", GeminiTraits(("low", "medium", "high"), combines=True)),
    (r"gemini-3(\.[0156])?-", GeminiTraits(("minimal", "low", "medium", "high"), combines=True)),
)
_NEW_GEMINI = GeminiTraits(("low", "medium", "high"), combines=True)


def claude_traits(model: str) -> ClaudeTraits:
    """What a model of Anthropic supports."""
    return next((traits for name, traits in _CLAUDE if re.match(name, model)), _NEW_CLAUDE)


def openai_traits(model: str) -> OpenAITraits:
    """What a model of OpenAI supports."""
    return next(traits for name, traits in _OPENAI if re.match(name, model))


def gemini_traits(model: str) -> GeminiTraits:
    """What a model of Google supports."""
    return next((traits for name, traits in _GEMINI if re.match(name, model)), _NEW_GEMINI)
