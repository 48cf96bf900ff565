"""Which counter serves a model: an exact one where its vocabulary is public, else the estimator.

A model is listed only if its name settles its vocabulary. An alias that its provider moves to newer
models (`deepseek-chat`, `mistral-large-latest`) is not, nor is a distilled model under the name of
its teacher: an estimate that says so is better than an exact count by another model's vocabulary.
"""

import re

from sapwood.core.counting import Counter
from sapwood.tokens.exact import ExactCounter, extra_installed
from sapwood.tokens.features import FeatureCounter

__all__ = ["VOCABULARIES", "counter_for", "vocabulary_of"]

# The first that matches holds, at the start of the name or after a provider's `openai:`,
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


def vocabulary_of(model: str) -> str | None:
    """The public vocabulary of a model, where there is one.

    >>> vocabulary_of("openai/gpt-4o-mini")
    'o200k_base'
    >>> vocabulary_of("claude-sonnet-4")
    """
    found = _MODELS.search(model.lower())
    return found.lastgroup if found else None


def counter_for(model: str) -> Counter:
    """The best counter for a model that can be had here."""
    vocabulary = vocabulary_of(model)
    if vocabulary and extra_installed():
        return ExactCounter(vocabulary)
    return FeatureCounter()
