"""The texts in which secrets are met: plain, JSON, with colours, in URLs, in numbered lines."""

import json
import re
from collections.abc import Callable
from urllib.parse import quote, unquote

from bench.secret_forms import Sample
from sapwood.redaction import mask_secrets

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NUMBER = re.compile(r"^ *\d+\t", re.MULTILINE)
_VISIBLE = 12
"""A secret is masked if no piece of it of this many characters is left, besides its last four."""


def _json(text: str) -> str:
    return json.dumps({"type": "result", "content": f"ready\n{text}\tdone\n"})


def _from_json(text: str) -> str:
    return str(json.loads(text)["content"])


def _coloured(text: str) -> str:
    """Colours the text as a program does: at its start, in the middle of words, at its end."""
    parts = re.split(r"(?<=[=:/ ])", text, maxsplit=2)
    return "\x1b[32m" + "\x1b[0m\x1b[1;33m".join(parts) + "\x1b[m\x1b[K"


def _without_colours(text: str) -> str:
    return _COLOUR.sub("", text)


def _in_url(text: str) -> str:
    return f"https://internal/log?line=started%20{quote(text, safe='')}%20ended"


def _numbered(text: str) -> str:
    lines = f"first line\n{text}\nlast line".split("\n")
    return "\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines, 117))


def _without_numbers(text: str) -> str:
    return _NUMBER.sub("", text)


DRESSINGS: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "plain": (str, str),
    "JSON": (_json, _from_json),
    "colours": (_coloured, _without_colours),
    "URL": (_in_url, unquote),
    "numbered lines": (_numbered, _without_numbers),
}
"""For each form of a text: how to make it, and how to undo it."""


def is_masked(sample: Sample, dressing: str) -> bool:
    """Whether nothing of the secret can be read in the masked text, after undoing the dressing."""
    dress, undress = DRESSINGS[dressing]
    visible = undress(mask_secrets(dress(sample.text)))
    for line in sample.secret.split("\n"):
        size = min(_VISIBLE, max(len(line), 1))
        pieces = (line[at : at + size] for at in range(len(line) - size + 1))
        if line and any(piece in visible for piece in pieces):
            return False
    return True
