"""Images and other files as parts of prompts, replies and tool results.

The content is base64 text, which the codec of events stores once by its hash, like every long text.
"""

import base64
import binascii
import struct

from msgspec import Struct

LARGEST_FILE = 15_000_000
"""Bytes. No provider takes more in a request."""

_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml"})
_IMAGE_PIXELS = 750
"""Pixels of an image for each token, as Anthropic counts them."""
_IMAGE_TOKENS = 1_600
"""The most tokens of an image: providers make larger ones smaller."""
_PAGE_BYTES, _PAGE_TOKENS = 50_000, 2_000
_SECOND_BYTES, _SECOND_TOKENS = 16_000, 32


class File(Struct, frozen=True, tag="file", omit_defaults=True, gc=False):
    """An image, a document or a sound. `data` is its content in base64.

    `File.of` makes one of bytes. `width` and `height` are those of an image, 0 if they are not
    known.

    >>> File.of(b"GIF89a\\x02\\x00\\x01\\x00...", name="dot.gif").text
    '[image: dot.gif, image/gif, 13 bytes, 2 x 1]'
    """

    media_type: str
    data: str
    name: str = ""
    width: int = 0
    height: int = 0

    @classmethod
    def of(cls, content: bytes, *, name: str = "", media_type: str = "") -> "File":
        """A file with this content. Its type is recognised by the content or by the name."""
        kind = media_type or media_type_of(content, name)
        width, height = _dimensions(content)
        return cls(kind, base64.b64encode(content).decode("ascii"), name, width, height)

    @classmethod
    def from_data_url(cls, address: str, name: str = "") -> "File | None":
        """The file in a data URL; None if it is another address, or not base64.

        >>> File.from_data_url("data:text/plain;base64,SGk=").words
        'Hi'
        """
        head, _, data = address.partition(",")
        kind, _, encoding = head.removeprefix("data:").rpartition(";")
        if not head.startswith("data:") or encoding != "base64" or not is_base64(data):
            return None
        content = base64.b64decode(data)
        return cls.of(content, name=name, media_type=kind.partition(";")[0])

    @property
    def data_url(self) -> str:
        """The file as a data URL."""
        return f"data:{self.media_type};base64,{self.data}"

    @property
    def content(self) -> bytes:
        """The content as bytes."""
        return base64.b64decode(self.data)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.data) // 4 * 3 - self.data[-2:].count("=")

    @property
    def words(self) -> str:
        """The content of a file of text; empty for every other file."""
        kind = self.media_type
        if kind.startswith("text/") or kind in _TEXT_TYPES:
            return self.content.decode("utf-8", "replace")
        return ""

    @property
    def text(self) -> str:
        """One line that stands for the file where only text can be shown or sent."""
        what = self.media_type.partition("/")[0]
        what = what if what in ("image", "audio", "video") else "file"
        facts = [self.name or "unnamed", self.media_type, _shown_size(self.size)]
        if self.width and self.height:
            facts.append(f"{self.width} x {self.height}")
        return f"[{what}: {', '.join(facts)}]"

    @property
    def tokens(self) -> int:
        """About how many tokens a provider counts for it."""
        match self.media_type.partition("/")[0]:
            case "image":
                pixels = self.width * self.height
                return min(_IMAGE_TOKENS, -(-pixels // _IMAGE_PIXELS)) if pixels else _IMAGE_TOKENS
            case "audio" | "video":
                return -(-self.size // _SECOND_BYTES) * _SECOND_TOKENS
            case _ if self.words:
                return -(-len(self.words) // 4)
            case _:
                return -(-self.size // _PAGE_BYTES) * _PAGE_TOKENS


def is_base64(text: str) -> bool:
    """Whether the text is base64 of some content that is not too large."""
    if not text or len(text) > (LARGEST_FILE + 2) // 3 * 4:
        return False
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def media_type_of(content: bytes, name: str = "") -> str:
    """The type of a content, such as image/png, by its first bytes or by the name of the file."""
    for start, kind in _MAGIC:
        if content.startswith(start):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
        return "audio/wav"
    ending = name.rpartition(".")[2].lower()
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain"


_ENDINGS = {
    "csv": "text/csv",
    "heic": "image/heic",
    "heif": "image/heif",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
}
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
)


def _dimensions(content: bytes) -> tuple[int, int]:
    """The width and the height of an image; zeros if they are not found."""
    try:
        if content.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", content[16:24])
        if content.startswith(b"GIF8"):
            return struct.unpack("<HH", content[6:10])
        if content.startswith(b"\xff\xd8"):
            return _jpeg_dimensions(content)
        if content[:4] == b"RIFF" and content[12:16] == b"VP8X":
            return _three(content[24:27]) + 1, _three(content[27:30]) + 1
        if content[:4] == b"RIFF" and content[12:16] == b"VP8 ":
            width, height = struct.unpack("<HH", content[26:30])
            return width & 0x3FFF, height & 0x3FFF
    except struct.error:
        pass
    return 0, 0


def _jpeg_dimensions(content: bytes) -> tuple[int, int]:
    place = 2
    while place + 9 < len(content):
        marker, length = content[place + 1], struct.unpack(">H", content[place + 2 : place + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return 0, 0


def _three(part: bytes) -> int:
    return int.from_bytes(part, "little")


def _shown_size(size: int) -> str:
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1_000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
