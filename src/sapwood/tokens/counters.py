"""Exact counters, a counter that caches, and the choice of a counter for a model.

Exact counts use the public vocabularies that the extra `tokens` contains. Nothing is downloaded. A
vocabulary is loaded at its first count, which takes from 20 ms to half a second, and stays loaded.

A model has an exact counter only if its name settles its vocabulary. Aliases that a provider moves
to newer models (`deepseek-chat`, `mistral-large-latest`) do not, nor do distilled models with the
name of their teacher. Then an estimate, marked as such, is better than a count by the wrong
vocabulary.
"""

import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sapwood.core.token_count import Count, Counter
from sapwood.tokens.estimators import FeatureCounter

if TYPE_CHECKING:
    from splintr import AnyTokenizer


# The first match counts, at the start of the name or after a prefix such as `openai:`,
# `meta-llama/` or `ft:`. Names are compared in lower case.
VOCABULARIES = (
    ("o200k_base", r"(chatgpt-|gpt-)4o|gpt-4\.[15]|gpt-5|gpt-oss|o[134](-|$)|codex-mini"),
    ("cl100k_base", r"gpt-4(-|$)|gpt-3\.5|text-embedding-(ada-002|3-)"),
    ("llama3", r"(meta-)?llama-?3(\.[123])?([-:]|$)|llama-v3(p[123])?-"),
    ("llama2", r"llama-?2([-:]|$)|tinyllama|vicuna"),
    ("codellama", r"code-?llama"),
    ("qwen3", r"qwen-?(2|2\.5|3)([-:]|$)"),
    ("glm4", r"glm-4(\.5)?(-|$)"),
    ("kimi_k3", r"kimi-k3"),
    ("kimi_k2", r"kimi-k2"),
    ("deepseek_v3", r"deepseek-(v3|r1)(\.[12]|-0324|-0528|-exp|-base)?$"),
    ("mistral_v3", r"(open-)?mistral-nemo|pixtral-12b"),
    ("mistral_v2", r"mistral-7b-(instruct-)?v0\.3|codestral-22b"),
    ("mistral_v1", r"mistral-7b-(instruct-)?v0\.[12]|mixtral-8x7b"),
    ("gemma4", r"gemma-?4([-:]|$)"),
    ("gemma3", r"gemma-?3([-:]|$)"),
    ("gemma2", r"gemma-?2([-:]|$)"),
    ("phi4", r"phi-?4(:|$|-reasoning(-plus)?$)"),
    ("olmo2", r"olmo-2"),
)
_MODELS = re.compile("|".join(f"(?:^|[/:])(?P<{name}>{models})" for name, models in VOCABULARIES))

_SHORT = 64
"""Characters up to which counting is faster than looking up."""
_MAX_ENTRIES = 65_536
"""Cached counts. The keys are hashes, so no text is kept in memory."""


def vocabulary_of(model: str) -> str | None:
    """The public vocabulary of a model, or None.

    >>> vocabulary_of("openai/gpt-4o-mini")
    'o200k_base'
    >>> vocabulary_of("claude-sonnet-4")
    """
    found = _MODELS.search(model.lower())
    return found.lastgroup if found else None


def counter_for(model: str) -> Counter:
    """The exact counter of a model, or the estimator if there is none or the extra is missing."""
    vocabulary = vocabulary_of(model)
    if vocabulary and extra_installed():
        return ExactCounter(vocabulary)
    return FeatureCounter()


class ExtraMissing(ImportError):
    """An exact counter was created, but the extra with the vocabularies is not installed."""

    def __init__(self, vocabulary: str) -> None:
        super().__init__(
            f"Counting with the vocabulary {vocabulary} needs an extra: "
            "pip install 'sapwood[tokens]'. Estimates work without it."
        )


class ExactCounter:
    """Counts with one vocabulary. Text that spells a control token is counted as text.

    Raises `ExtraMissing` when it is created without the extra `tokens`.
    """

    exact = True

    def __init__(self, vocabulary: str) -> None:
        if not extra_installed():
            raise ExtraMissing(vocabulary)
        self.name = vocabulary

    def count(self, text: str) -> Count:
        """The exact number of tokens."""
        encode = _vocabulary(self.name).encode_ordinary
        try:
            return Count(len(encode(text)), exact=True)
        except UnicodeEncodeError:
            # Half a surrogate pair cannot be encoded; when it is sent it becomes one character.
            return Count(len(encode(text.encode("utf-8", "replace").decode())), exact=True)


@cache
def extra_installed() -> bool:
    """Whether the extra `tokens` is installed."""
    return find_spec("splintr") is not None


@cache
def _vocabulary(name: str) -> "AnyTokenizer":
    from splintr import Tokenizer

    return Tokenizer.from_pretrained(name)


class CachingCounter:
    """Counts with another counter, and caches the counts of long texts.

    Each call of a model sends almost the same texts as the last one.

    >>> from sapwood.tokens.estimators import Chars4Counter
    >>> CachingCounter(Chars4Counter()).count("word " * 20)
    Count(tokens=25, exact=False)
    """

    def __init__(self, counter: Counter) -> None:
        from hashlib import sha256  # here, because hooks pay for every import

        self._digest = sha256
        self._counter = counter
        self._tokens: dict[bytes, int] = {}

    @property
    def counts(self) -> dict[bytes, int]:
        """The counts so far by the digest of the text; add those of an earlier run to it."""
        return self._tokens

    @property
    def name(self) -> str:
        """The name of the other counter, because the counts are the same."""
        return self._counter.name

    @property
    def exact(self) -> bool:
        """Whether the other counter is exact."""
        return self._counter.exact

    def count(self, text: str) -> Count:
        """The tokens of a text, from the cache if it was counted before."""
        if len(text) <= _SHORT:
            return self._counter.count(text)
        key = self._digest(text.encode("utf-8", "surrogatepass")).digest()
        tokens = self._tokens.get(key)
        if tokens is None:
            tokens = self._counter.count(text).tokens
            if len(self._tokens) >= _MAX_ENTRIES:
                self._tokens.clear()
            self._tokens[key] = tokens
        return Count(tokens, self.exact)
