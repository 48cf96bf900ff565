"""Finds secrets on command lines: after an option, as an argument, and piped into a program.

An option such as `-a` is a password for some programs only, so the program must stand before it in
the same line. Every pattern begins with a plain text and looks at a bounded part of the text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from sapwood.redaction.byte_text import Anchored, LazyPattern, Searched, Span
from sapwood.redaction.value_shapes import is_placeholder

_PASSWORD = "password"
_VALUE = r"""["']?(?P<value>[^\s\\"'`$<>|-][^\s\\"'`|]{3,127})"""
_LDAP = ("ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami")
_OPTIONS = tuple(
    (flag, LazyPattern(re.escape(flag) + form + _VALUE, re.ASCII), programs)
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
        (" -a", r"""[ =]["']?[\w.@-]{1,64}:""", ("http ", "https ", "xh ")),
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
_FLAGS = LazyPattern(f" -(?:{'|'.join(map(re.escape, reversed(_NAMES)))})")
"""Every flag of the options, found in one search: the longest first, of which others are parts."""
_CONTEXT = 300
_MAX_OPTION = 256
"""At least the longest match of an option."""
_ARGUMENTS = Anchored(
    (anchor, LazyPattern(form + r"""["']?(?P<value>[^\s\\"'`$<>|-][^\s\\"'`|]{5,127})""", re.ASCII))
    for anchor, form in (
        ("htpasswd", r"htpasswd[ ]-[a-zA-Z]{0,6}b[a-zA-Z]{0,6}[ ]\S{1,128}[ ]\S{1,64}[ ]"),
        (" /p:", r" /p:"),
        ("pass:", r"-pass(?:in|out)?[ ]pass:"),
        ("gh secret set", r"gh secret set[ ][^\n|]{1,120}?(?:--body|-b)[ =]"),
        ("net use", r"net use(?:r[ ]\S{1,64}|[ ]\S{1,8}[ ]\\\\\S{1,128})[ ](?!/)"),
        ("wpa_passphrase", r"""wpa_passphrase[ ](?:"[^"\n]{1,32}"|\S{1,32})[ ]"""),
        ("rabbitmqctl", r"rabbitmqctl[ ](?:add_user|change_password)[ ]\S{1,64}[ ]"),
        ("://", r"alias set[ ]\S{1,64}[ ]https?://\S{1,128}[ ]\S{1,64}[ ]"),
        ("sqlplus", r"sqlplus[ ](?:-\w{1,3}[ ]){0,3}[\w$#]{1,32}/(?=[^\s/@]{4,64}(?:@|\s|$))"),
        (" password ", r"connect[ ](?:'[^'\n]{1,32}'|\S{1,32})[ ]password[ ]"),
    )
)
_BEFORE_PIPE = (
    r"""(?:[ ]-[neE]{1,2})?(?:[ ]["']?%s(?:\\n)?["']?)?[ ]"""
    r"""(?P<quote>["']?)(?:(?P<user>[\w.-]{1,64}):)?(?P<value>[^\s\\"'`$|]{4,128})(?P=quote)"""
    r"[ ]?\|"
)
_HERE = r"""<<<[ ]?["']?(?:(?P<user>[\w.-]{1,64}):)?(?P<value>[^\s\\"'`$|]{4,128})"""
_PIPED = [
    LazyPattern(form, re.ASCII) for form in (f"echo{_BEFORE_PIPE}", f"printf{_BEFORE_PIPE}", _HERE)
]
"""What is piped into a program. Each begins with a plain text, which is searched for fast."""
_READERS = ("chpasswd", "--password-stdin", "--stdin", "--with-token", "sudo -S", "kinit")
"""Programs, and options of programs, that read a secret from stdin."""
_KEY_PAIR = LazyPattern(
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
        lines = (part for reader in _READERS if reader in text for part in _lines_of(text, reader))
        for start, end in _joined(lines):
            for pattern in _PIPED:
                yield from _real(pattern.finditer(text, start, end))


def find_key_pairs(text: str, keys: Iterable[Span]) -> Iterator[Span]:
    """Yields the secret access key that follows an access key of AWS, whatever stands between."""
    for key in keys:
        if key.kind == "aws-key" and (pair := _KEY_PAIR.match(text, key.end)):
            yield Span(*pair.span("value"), "aws-key")


def _after_options(text: str, option: LazyPattern, programs: tuple[str, ...]) -> Iterator[Span]:
    for start, end in _lines_after(text, programs) if option.search(text) else ():
        found = option.finditer(text, start, end + _MAX_OPTION)
        inside = (match for match in found if match.start() <= end)
        yield from _real(match for match in inside if not match["value"].isdigit())


def _real(found: Iterable[re.Match[str]]) -> Iterator[Span]:
    for match in found:
        if not is_placeholder(match["value"]):
            yield Span(*match.span("value"), _PASSWORD)


def _lines_of(text: str, reader: str) -> Iterator[tuple[int, int]]:
    """The lines with a program that reads a secret, or what is looked at of long ones."""
    position = text.find(reader)
    while position >= 0:
        start = max(text.rfind("\n", 0, position) + 1, position - _CONTEXT)
        end = _line_end(text, position)
        yield start, end
        position = text.find(reader, end)


def _lines_after(text: str, programs: Sequence[str]) -> list[tuple[int, int]]:
    """The parts of lines after the name of a program: where an option of it may begin."""
    found: list[tuple[int, int]] = []
    for program in programs:
        position = text.find(program)
        while position >= 0:
            end = _line_end(text, position)
            found.append((position + len(program) - 1, end))
            # The last of several names in this part reaches farthest.
            position = text.rfind(program, position + 1, end)
            if position < 0:
                position = text.find(program, end)
    return _joined(found)


def _line_end(text: str, position: int) -> int:
    """The end of the line, or of what is looked at of a long one."""
    end = text.find("\n", position, position + _CONTEXT)
    return end if end >= 0 else min(len(text), position + _CONTEXT)


def _joined(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts in order, those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
