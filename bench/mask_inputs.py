"""Texts that are expensive to search for secrets: one megabyte of each."""

from collections.abc import Iterator
from random import Random

MEGABYTE = 1_000_000
_PRIVATE = "PRIV" + "ATE KEY-----"
_REPEATED = {
    "starts of a web token": "-eyJ",
    "two parts of a web token": ".eyJ",
    "starts of a model key": "sk-" + "ant-",
    "short prefixes": "sk-",
    "headers of a private key": f"-----BEGIN {_PRIVATE} \n",
    "footers of a private key": f"-----END {_PRIVATE}\n",
    "one long word": "a",
    "a word of hyphens": "-",
    "equals signs": "=",
    "names without a value": "key=",
    "passwords in JSON": '"password": "',
    "values that are judged": "token=a1b2c3d4 ",
    "passwords that are masked": "password=hunter2024 ",
    "escaped line breaks": "\\n",
    "escapes of escapes": "\\\\",
    "percent escapes": "%20",
    "percent escapes, twice": "%2520",
    "colours": "\x1b[0m",
    "coloured lines": "\x1b[31mred\x1b[0m\n",
    "Unicode escapes": "\\u0041",
    "user names of a URL": "://a:b",
    "cookies": "cookie: a=bbbbbb; ",
    "options": "curl -u me:hunter2024 ",
    "short options": " -pabcd",
    "sentences about passwords": "password of the day is ",
    "names before a line break": "password:\n  ",
    "accented letters": "\xe3\xf1",
    "words in base64": "cGFzc3dvcmQgb2YgdGhlIGRheQ== ",
    "random words after a name": "token a1b2c3d4e5f6g7h8 ",
    "piped commands": "echo geheim | sudo -S chpasswd --stdin kinit ",
    "joined strings": '"ghp_" + "a1b2c3d4e5f6g7h8" + ',
    "masks": "[secret: password]",
    "arrows": "→",
}


def worst_inputs(size: int = MEGABYTE) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each input, of about this many characters."""
    for name, piece in _REPEATED.items():
        yield name, piece * (size // len(piece))
    random = Random(1)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
    yield "one line of base64", "".join(random.choices(letters, k=size))
    yield "a header and spaces", f"-----BEGIN {_PRIVATE}" + " " * size
    yield "nested quotes", "".join("\\" * (n % 7) + '"' for n in range(size // 4))
    programs = "mysql redis-cli ldapsearch ldappasswd sqlcmd ssh-keygen keytool snmp smbclient lftp"
    options = " -p abcd -a bcde -w cdef -s defg -P efgh -N fghi -A ghij -U me%hijk -u me,ijkl"
    yield "options of other programs", programs + "\n" + options * (size // len(options))
    count = size // 24
    values = ("".join(random.choices(letters[:62], k=10)) for _ in range(count))
    yield "keys that all differ", " ".join(f"api_key={value}1a" for value in values)
