"""Forms of secrets, filled with random characters at run time: no scanner reports this file.

`{A36}` is 36 letters and digits, `H` lower hex digits, `X` upper hex digits, `U` capitals and
digits, `L` small letters and digits, `W` letters, digits, `_` and `-`, `B` base64, `D` digits, and
`{P}` a password as a person chooses it. `«…»` encloses what must be masked. `|n|` is a line break.
"""

import re
import string
from collections.abc import Iterator
from random import Random

from msgspec import Struct

from bench.secret_form_lists import CONTEXTS, TOKENS
from bench.secret_forms_seen import SEEN

__all__ = ["Sample", "samples", "tuned_forms"]

_LETTERS = {
    "A": string.ascii_letters + string.digits,
    "H": "0123456789abcdef",
    "X": "0123456789ABCDEF",
    "U": string.ascii_uppercase + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "W": string.ascii_letters + string.digits + "_-",
    "B": string.ascii_letters + string.digits + "+/",
    "D": string.digits,
}
_FIELD = re.compile(r"\{([A-Z])(\d*)\}")
_WORDS = "maple river stone winter copper lantern harbor violet thunder pepper".split()
_AROUND = ("{}", "the key is {} for now", "- {}", "export IT={}", "f({})")


class Sample(Struct, frozen=True):
    """A text that contains a secret, and the secret."""

    form: str
    text: str
    secret: str


def samples(forms: dict[str, str], seed: int = 1) -> Iterator[Sample]:
    """Yields one sample of each form."""
    random = Random(seed)
    for name, form in forms.items():
        filled = _FIELD.sub(lambda field: _filled(random, field), form).replace("|n|", "\n")
        secret = filled[filled.index("«") + 1 : filled.index("»")]
        yield Sample(name, filled.replace("«", "").replace("»", ""), secret)


def tuned_forms() -> dict[str, str]:
    """The forms that the rules were made for: tokens in a sentence, and values by their place."""
    tokens = {
        f"token {n}: {form[:10]}": _AROUND[n % len(_AROUND)].format(f"«{form}»")
        for n, form in enumerate(TOKENS)
    }
    places = {f"place {n}: {form[:24]}": form for n, form in enumerate(CONTEXTS)}
    return tokens | places | SEEN


def _filled(random: Random, field: re.Match[str]) -> str:
    if field[1] == "P":
        word = random.choice(_WORDS)
        return f"{word.capitalize()}{random.choice('-_!.')}{random.randint(1000, 9999)}"
    return "".join(random.choices(_LETTERS[field[1]], k=int(field[2])))
