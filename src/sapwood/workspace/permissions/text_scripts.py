"""Scripts of sed and awk that only print what they read, and write and run nothing. Pure."""

import re

_TEXT = r"(?:[^{0}\\\n]|\\.)*"
_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_TEXT.format('/')}/I?)"
_REPLACE = "|".join(
    rf"{sign}{_TEXT.format(sign)}{sign}{_TEXT.format(sign)}{sign}"
    for sign in ("/", r"\|", "#", ",")
)
_COMMAND = rf"(?:[pdqQnNhHgGxlDP=]|s(?:{_REPLACE})[gpI0-9]*)"
_RANGE = rf"(?:{_ADDRESS}(?:,(?:{_ADDRESS}|[+~]\d+))?)?\s*!?\s*"
_STEP = rf"{_RANGE}(?:{_COMMAND}|\{{\s*{_RANGE}{_COMMAND}(?:\s*;\s*{_RANGE}{_COMMAND})*\s*;?\s*\}})"
_SED = re.compile(rf"\s*{_STEP}(?:\s*[;\n]\s*{_STEP})*\s*;?\s*")
_UNCLEAR_BRACKET = re.compile(r"(?<!\\)\[[^\]\n]*[/|#,]")
_AWKS = frozenset("awk gawk mawk nawk".split())
_AWK_ACTS = re.compile(
    r"(?<!\|)\|(?!\|)|[@`\\]|\b(?:system|getline|close|fflush|ENVIRON|ARGV|ARGC|PROCINFO|SYMTAB|"
    r"FUNCTAB)\b|\bprintf?\b[^;}\n]*>"
)
_MAX_SCRIPT = 1_000


def only_prints(program: str, script: str) -> bool:
    """Whether the script, which sed or awk is to run, only prints.

    >>> only_prints("sed", "s/a/b/g; 3q"), only_prints("sed", "s/a/b/w out")
    (True, False)
    >>> only_prints("awk", "/a|b/ {print $1}"), only_prints("awk", '{print > "out"}')
    (True, False)
    """
    if len(script) >= _MAX_SCRIPT:
        return False
    if program in _AWKS:
        code = _awk_code(script)
        return code is not None and _AWK_ACTS.search(code) is None
    is_unclear = _UNCLEAR_BRACKET.search(script) is not None
    return program == "sed" and not is_unclear and _SED.fullmatch(script) is not None


def _awk_code(script: str) -> str | None:
    """The script without its texts, expressions and comments; None if it is not sure what is one.

    A slash starts an expression or is a division. It depends on what is before it.
    """
    code, place = "", 0
    while place < len(script):
        char = script[place]
        before = code.rstrip(" \t")[-1:]
        if char == "#":
            end = script.find("\n", place)
            place = len(script) if end < 0 else end
        elif char == '"' or (char == "/" and before in ("", *"(,{};!~&|\n")):
            found = re.compile(rf"(?:[^{char}\\\n]|\\[^\n])*{char}").match(script, place + 1)
            if found is None or (char == "/" and re.search(r"(?<!\\)\[[^\]]*$", found[0])):
                return None
            code, place = code + '""', found.end()
        elif char == "/" and before in "+-":
            return None
        else:
            code, place = code + char, place + 1
    return code
