"""Finds secrets on command lines: after an option, as an argument, and piped into a program.

An option such as `-a` is a password for some programs only, so the program must stand before it in
the same line. Every pattern begins with a plain text and looks at a bounded part of the text.
"""

import re
from collections.abc import Iterable, Iterator

from sapwood.redaction.anchors import Anchored
from sapwood.redaction.byte_text import Searched, Span
from sapwood.redaction.value_shapes import is_placeholder

__all__ = ["COMMAND_ANCHORS", "find_command_secrets", "find_key_pairs"]

_PASSWORD = "password"
_VALUE = r"""["']?(?P<value>[^\s\\"'`$<>|-][^\s\\"'`|]{3,127})"""
_LDAP = ("ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami")
_OPTIONS = tuple(
    (flag, re.compile(re.escape(flag) + form + _VALUE, re.ASCII), programs)
    for flag, form, programs in (
        (
            " -p",
            "[ =]?",
            (
                *("mysql", "mariadb", "sshpass", "az login", "redis-cli", "docker login"),
                *("podman login", "helm registry", "htpasswd", "mongo", "cqlsh", "twine"),
                *("7z ", "7za ", "unrar "),
            ),
        ),
        (" -a", "[ =]", ("redis-cli",)),
        (" -w", "[ =]?", _LDAP),
        (" -s", "[ =]", ("ldappasswd",)),
        (" -P", "[ =]?", ("sqlcmd", "bcp ", "mosquitto_", "ipmitool", "zip ", "ssh-keygen")),
        (" -N", "[ ]", ("ssh-keygen",)),
        (" -k", "[ ]", ("openssl enc",)),
        (" -storepass", "[ ]", ("keytool", "jarsigner")),
        (" -keypass", "[ ]", ("keytool", "jarsigner")),
        (" -A", "[ ]", ("snmp",)),
        (" -X", "[ ]", ("snmp",)),
        (" -U", r"""[ =]?["']?[\w.\\-]{1,64}%""", ("smbclient", "rpcclient", "net ")),
        (" -u", r"[ ][\w.@-]{1,64},", ("lftp",)),
        (" --user", r"[ =][\w.@-]{1,64}:", ("etcdctl", "influx")),
    )
)
_NAMES = sorted({flag[2:] for flag, _, _ in _OPTIONS if flag.startswith(" -")}, key=len)
_FLAGS = re.compile(f" -(?:{'|'.join(map(re.escape, reversed(_NAMES)))})")
"""Every flag of the options, found in one search: the longest first, of which others are parts."""
_CONTEXT = 300
_ARGUMENTS = Anchored(
    (anchor, re.compile(form + r"""["']?(?P<value>[^\s\\"'`$<>|-][^\s\\"'`|]{5,127})""", re.ASCII))
    for anchor, form in (
        ("htpasswd", r"htpasswd[ ]-[a-zA-Z]{0,6}b[a-zA-Z]{0,6}[ ]\S{1,128}[ ]\S{1,64}[ ]"),
        (" /p:", r" /p:"),
        ("net use", r"net use(?:r[ ]\S{1,64}|[ ]\S{1,8}[ ]\\\\\S{1,128})[ ](?!/)"),
        ("wpa_passphrase", r"""wpa_passphrase[ ](?:"[^"\n]{1,32}"|\S{1,32})[ ]"""),
        ("rabbitmqctl", r"rabbitmqctl[ ](?:add_user|change_password)[ ]\S{1,64}[ ]"),
        ("://", r"alias set[ ]\S{1,64}[ ]https?://\S{1,128}[ ]\S{1,64}[ ]"),
        ("sqlplus", r"sqlplus[ ](?:-\w{1,3}[ ]){0,3}[\w$#]{1,32}/(?=[^\s/@]{4,64}(?:@|\s|$))"),
        (" password ", r"connect[ ](?:'[^'\n]{1,32}'|\S{1,32})[ ]password[ ]"),
    )
)
_BEFORE_PIPE = re.compile(
    r"""(?:echo|printf)(?:[ ]-[neE]{1,2})?(?:[ ]["']?%s(?:\\n)?["']?)?[ ]"""
    r"""(?P<quote>["']?)(?:(?P<user>[\w.-]{1,64}):)?(?P<value>[^\s\\"'`$|]{4,128})(?P=quote)"""
    r"[ ]?\|",
    re.ASCII,
)
_HERE = re.compile(
    r"""<<<[ ]?["']?(?:(?P<user>[\w.-]{1,64}):)?(?P<value>[^\s\\"'`$|]{4,128})""", re.ASCII
)
_READERS = ("chpasswd", "--password-stdin", "--stdin", "--with-token", "sudo -S", "kinit")
"""Programs, and options of programs, that read a secret from stdin."""
_KEY_PAIR = re.compile(
    r"""[^A-Za-z0-9+/][^\n]{0,40}?\n?[^\n]{0,40}?(?<![A-Za-z0-9+/])"""
    r"""(?P<value>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])""",
    re.ASCII,
)


COMMAND_ANCHORS = (*_ARGUMENTS.anchors, *(flag for flag, _, _ in _OPTIONS), "<<<", "echo", "printf")


def find_command_secrets(searched: Searched) -> Iterator[Span]:
    """Yields every secret of a command line."""
    text = searched.text
    if " -" in text:
        flags = set(_FLAGS.findall(text))
        for flag, option, programs in _OPTIONS:
            if flag in flags:
                yield from _after_options(text, option, programs)
    for argument in _ARGUMENTS.present(searched.parts, text):
        yield from _real(argument.finditer(text))
    if ("<" in text and "<<<" in text) or ("|" in text and ("echo" in text or "printf" in text)):
        for reader in _READERS:
            if reader in text:
                yield from _piped(text, reader)


def find_key_pairs(text: str, keys: Iterable[Span]) -> Iterator[Span]:
    """Yields the secret access key that follows an access key of AWS, whatever stands between."""
    for key in keys:
        if key.kind == "aws-key" and (pair := _KEY_PAIR.match(text, key.end)):
            yield Span(*pair.span("value"), "aws-key")


def _after_options(text: str, option: re.Pattern[str], programs: tuple[str, ...]) -> Iterator[Span]:
    present = [program for program in programs if program in text] if option.search(text) else []
    if present:
        found = (match for match in option.finditer(text) if not match["value"].isdigit())
        yield from _real(match for match in found if _is_after(present, text, match.start()))


def _real(found: Iterable[re.Match[str]]) -> Iterator[Span]:
    for match in found:
        if not is_placeholder(match["value"]):
            yield Span(*match.span("value"), _PASSWORD)


def _piped(text: str, reader: str) -> Iterator[Span]:
    """Yields what the line of a program that reads a secret pipes into it."""
    position = text.find(reader)
    while position >= 0:
        start = max(text.rfind("\n", 0, position) + 1, position - _CONTEXT)
        end = text.find("\n", position, position + _CONTEXT)
        end = end if end >= 0 else min(len(text), position + _CONTEXT)
        for pattern in (_BEFORE_PIPE, _HERE):
            yield from _real(pattern.finditer(text, start, end))
        position = text.find(reader, end)


def _is_after(programs: list[str], text: str, position: int) -> bool:
    """Whether one of the programs is named before the position, in the same line."""
    before = text[max(0, position - _CONTEXT) : position + 1].rpartition("\n")[2]
    return any(map(before.__contains__, programs))
