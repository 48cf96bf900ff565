"""Scripts of sed and awk that only print what they read: no file is written, nothing is run. "
"Pure."""

import re

__all__ = ["only_prints"]

_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
_COMMAND = (
    r"(?:[pdq=]|s(?:/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/|"
    r"\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\||#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#)[gpI0-9]*)"
)
_UNCLEAR_BRACKET = re.compile(r"\[[^\]\n]*[/|#]")
_STEP = rf"(?:{_ADDRESS}(?:,(?:{_ADDRESS}|\+\d+))?)?\s*!?\s*{_COMMAND}"
_SED = re.compile(rf"{_STEP}(?:\s*;\s*{_STEP})*")
_AWK_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AWK_ACTS = re.compile(
    r"[|@`]|\\[^nrt\"/.$()\[\]+*?-]|\bsystem\b|\bgetline\b|\bclose\b|\b(?:ENVIRON|ARGV)\b|printf?\b.*>",
    re.DOTALL,
)
_AWKS = frozenset("awk gawk mawk nawk".split())


def only_prints(program: str, script: str) -> bool:
    """Whether the script, which sed or awk is to run, only prints.

    >>> only_prints("sed", "s/a/b/g; 3q"), only_prints("sed", "s/a/b/w out")
    (True, False)
    >>> only_prints("awk", "{print $1}"), only_prints("awk", '{print > "out"}')
    (True, False)
    """
    if program in _AWKS:
        if "/" not in script:  # an expression could contain a quote
            script = _AWK_TEXT.sub('""', script)
        return len(script) < 1_000 and _AWK_ACTS.search(script) is None
    return program == "sed" and len(script) < 1_000 and _SED.fullmatch(script) is not None
