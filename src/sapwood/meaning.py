"""What a text is about, as a vector: the part of search that finds answers without common words.

It needs the extra `meaning`, whose package carries its weights: nothing is downloaded. Only its two
files are read, since its own loader would ask the network for one of them. The vector of a text is
the mean of the vectors of its pieces, and the signature is the sign of each of its 256 numbers. A
store keeps signatures; those nearest to a question are read, and compared by their vectors.
"""

import json
import math
import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sapwood.core.event_texts import said_text
from sapwood.core.ids import EventRef
from sapwood.core.search_ranking import CandidateEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

MAX_SIGNED = 100_000
"""Events of a space that have a signature, the newest: more would make each search slow."""
MAX_NEAR = 100
"""Events that a search reads because their signatures are near."""
SIGN_SECONDS = 2.0
"""How long a search makes missing signatures, the newest first. The next search continues."""
SIGNATURE_BYTES = 32

_CHARACTERS = 2_000
"""Characters of a text that count: the mean of more says less."""
_MAX_KNOWN, _MAX_WORD = 65_536, 40
_WORD = re.compile(r"[^\W\d_]+")
_LETTERS_OF_A_PIECE = 2.1
"""Words of Latin letters with shorter pieces, at the mean, are unknown: they have no meaning."""
_MISSING = "Search by meaning is not installed. Type: pip install 'sapwood[meaning]'"
_PACKAGES = ("wordllama", "numpy", "tokenizers")
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_PIECES = "tokenizers/l2_supercat_tokenizer_config.json"
_CENTRE = 0.22
"""How much of the direction that all texts share is taken off before signs are taken."""


@cache
def extra_installed() -> bool:
    """Whether the extra `meaning` is installed."""
    return all(find_spec(name) is not None for name in _PACKAGES)


class _Encoding(Protocol):
    @property
    def ids(self) -> list[int]: ...


class _Pieces(Protocol):
    def encode(self, sequence: str, *, add_special_tokens: bool) -> _Encoding: ...


class TextModel:
    """Makes vectors of texts. Loading takes about a tenth of a second: use `text_model`."""

    def __init__(self) -> None:
        import numpy as np
        from tokenizers import Tokenizer

        package = find_spec("wordllama")
        if package is None or not package.submodule_search_locations:
            raise ModuleNotFoundError(_MISSING)
        folder = Path(package.submodule_search_locations[0])
        self._pieces: _Pieces = Tokenizer.from_file(str(folder / _PIECES))
        self._known: dict[str, list[int]] = {}
        weights = _read_weights(folder / _WEIGHTS).astype(np.float32)
        # The pieces are in the order of their frequency: rare ones say more.
        self._weights = weights * np.log(2 + np.arange(len(weights), dtype=np.float32))[:, None]
        middle = self._weights.sum(axis=0)
        self._centre = middle * np.float32(_CENTRE / np.linalg.norm(middle))

    def vectors(self, texts: Sequence[str]) -> "Vectors":
        """A vector of length 1 for each text; of length 0 if it has no words."""
        import numpy as np

        found = np.zeros((len(texts), self._weights.shape[1]), np.float32)
        for number, text in enumerate(texts):
            if ids := [each for word in text[:_CHARACTERS].split() for each in self._ids(word)]:
                found[number] = self._weights.take(ids, axis=0).sum(axis=0)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)

    def _ids(self, word: str) -> list[int]:
        """The pieces of a word. To look a word up is much faster than to cut it up again."""
        known = self._known.get(word)
        if known is None:
            known = self._pieces.encode(word, add_special_tokens=False).ids
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            if len(word) <= _MAX_WORD:
                self._known[word] = known
        return known

    def knows(self, query: str) -> bool:
        """Whether the words of a query have a meaning here, as those of nonsense have not."""
        words = [word for word in _WORD.findall(query) if word.isascii()]
        pieces = sum(len(self._ids(word)) for word in words)
        return sum(map(len, words)) >= _LETTERS_OF_A_PIECE * pieces

    def signatures(self, texts: Sequence[str]) -> list[bytes]:
        """The signature of each text."""
        import numpy as np

        bits = np.packbits(self.vectors(texts) > self._centre, axis=1)
        return [each.tobytes() for each in bits]

    def likeness(self, query: str, texts: Sequence[str]) -> list[float]:
        """How much each text is about what the query is about: at most 1."""
        return [round(float(each), 6) for each in self.vectors(texts) @ self.vectors([query])[0]]

    def nearest(
        self, query: str, signatures: bytes, among: Sequence[int] | None = None
    ) -> list[int]:
        """The places of the signatures nearest to that of the query, the nearest first.

        `among` are the places that may be returned, if not all. Of equally near ones, the last
        come first.
        """
        import numpy as np

        bits = np.frombuffer(signatures, "<u8").reshape(-1, SIGNATURE_BYTES // 8)
        places = np.arange(len(bits)) if among is None else np.array(among, np.int64)
        asked = np.frombuffer(self.signatures([query])[0], "<u8")
        distances = np.bitwise_count(bits[places] ^ asked).sum(axis=1, dtype=np.int64)
        order = np.sort(distances * len(bits) + len(bits) - 1 - places)[:MAX_NEAR]
        return [len(bits) - 1 - int(each) % len(bits) for each in order]


def _read_weights(path: Path) -> "NDArray[np.float16]":
    """The one table of a file of `safetensors`: a length, a description, the numbers."""
    import numpy as np

    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        [(name, about)] = json.loads(file.read(length)).items()
    if about["dtype"] != "F16" or math.prod(about["shape"]) * 2 != about["data_offsets"][1]:
        raise ValueError(f"The weights '{name}' of the extra 'meaning' have an unexpected format.")
    return np.memmap(path, np.float16, "r", 8 + length, tuple(about["shape"]))


@cache
def text_model() -> TextModel:
    """The model of this process. Raises `ModuleNotFoundError` without the extra."""
    return TextModel()


def can_answer(question: str) -> bool:
    """Whether a question can be searched by meaning. An empty one cannot."""
    return bool(question) and extra_installed() and text_model().knows(question)


def event_likeness(question: str, events: Sequence[CandidateEvent]) -> dict[EventRef, float]:
    """How much each event is like a question in meaning."""
    texts = [said_text(each.recorded.event) for each in events]
    found = text_model().likeness(question, texts)
    return {each.recorded.ref: like for each, like in zip(events, found, strict=True)}
