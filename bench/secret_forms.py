"""Forms of secrets, filled with random characters at run time: no scanner reports this file.

`{A36}` is 36 letters and digits, `H` lower hex digits, `X` upper hex digits, `U` capitals and
digits, `L` small letters and digits, `W` letters, digits, `_` and `-`, `B` base64, `D` digits, and
`{P}` a password as a person chooses it. `«…»` encloses what must be masked. `|n|` is a line break.
`⟨base64:…⟩`, `⟨hex:…⟩`, `⟨hidden:…⟩` and `⟨wrapped:…⟩` change what they enclose.
"""

import re
import string
from base64 import b64encode
from collections.abc import Callable, Iterator
from random import Random

from msgspec import Struct

from bench.secret_form_lists import CONTEXTS, TOKENS
from bench.secret_forms_seen import SEEN

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
_SECRET = re.compile(r"«([^»]*)»")
_ENCODED = re.compile(r"⟨(\w+):([^⟩]*)⟩")
_ENCODERS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "hidden": lambda text: f"{text[: len(text) // 2]}\u200b{text[len(text) // 2 :]}",
    "wrapped": lambda text: f"{text[: len(text) // 2]}\n{text[len(text) // 2 :]}",
}
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
        filled = _ENCODED.sub(lambda part: _ENCODERS[part[1]](part[2]), filled)
        secret = "\n".join(_SECRET.findall(filled))
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
