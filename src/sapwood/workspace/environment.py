"""The environment of the programs that a model starts: the user's, without keys for models. Pure.

A model must not be able to print the key it is called with. What else is secret in the user's
environment is there for the user's own programs, and is masked in what they print.
"""

from collections.abc import Collection, Mapping

__all__ = ["environment_for_tools"]

_OURS = ("SAPWOOD_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_GENAI_", "AZURE_OPENAI_")
_KEYS = ("_API_KEY", "_API_TOKEN", "_AUTH_TOKEN", "_API_SECRET")
_STARTUP = ("BASH_ENV", "ENV")
"""What a shell runs or reads before the command that was looked at."""
_QUIET = {
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "TERM": "dumb",
}
"""Nobody is there to press a key, and colours are noise to a model."""


def environment_for_tools(
    environment: Mapping[str, str], known: Collection[str] = ()
) -> dict[str, str]:
    """The variables to pass on. Those that hold one of the `known` secrets stay here.

    >>> environment_for_tools({"HOME": "/h", "OPENAI_API_KEY": "k"})["HOME"]
    '/h'
    >>> "OPENAI_API_KEY" in environment_for_tools({"OPENAI_API_KEY": "k"})
    False
    """
    secret = set(known)
    kept = {
        name: value
        for name, value in environment.items()
        if not _is_kept_back(name.upper()) and value not in secret
    }
    return kept | _QUIET


def _is_kept_back(name: str) -> bool:
    return (
        name.startswith(_OURS)
        or name.endswith(_KEYS)
        or name in _STARTUP
        or name.startswith("BASH_FUNC_")
    )
