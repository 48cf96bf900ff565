"""What a `*` in a permission stands for: data, and no program, file elsewhere or secret. Pure.

`allow shell(git log *)` is written with revisions and paths in mind. `git log --output=.envrc` is
covered by its letters and not by its meaning. So a word that the rule does not spell out counts
only if it is known to be harmless for that program (`known_programs.py`); every other word has to
be in the rule: `allow shell(git log --output=*)`.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence

from sapwood.workspace.permissions import known_programs as known
from sapwood.workspace.permissions.denied_words import (
    WRAPPERS,
    evaluates,
    is_interpreter,
    script_of,
)
from sapwood.workspace.permissions.git_checkout import overwritten_file
from sapwood.workspace.permissions.guarded_files import why_private, why_runs_programs
from sapwood.workspace.permissions.printed_values import (
    A_NUMBER,
    A_REVISION,
    ANY_TEXT,
    ANY_WORDS,
    MARKS,
    SOME_FILE,
)
from sapwood.workspace.permissions.printing_scripts import files_of_script, only_prints
from sapwood.workspace.permissions.shell_commands import (
    HARMLESS_VARIABLE,
    SimpleCommand,
    exec_parts,
    xargs_command,
)

_EXAMPLES = str.maketrans({A_NUMBER: "0", A_REVISION: "0000000"})
_SCRIPTED = frozenset("sed awk gawk mawk".split())
_GIVES_EXPRESSION = re.compile(r"-[a-zA-Z]*[ef].|--(?:regexp|file)=|--files$|--type-list$")
_AWK_VARIABLE = re.compile(r"[a-zA-Z_]\w*=", re.ASCII)
_REPORT_OPTION = re.compile(r"--(?:junit-?xml|output-file)=")
_PACKAGE = re.compile(r"@[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_REPORT = re.compile(
    r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*\.(?:log|out|err|tap)|"
    r"(?:build|dist|out|output|target|tmp|temp|coverage|reports?|results?|artifacts|logs?)/"
    r"(?:[\w-][\w. +-]*/)*[\w-][\w. +-]*\."
    r"(?:txt|json|jsonl|ndjson|csv|tsv|md|rst|xml|html|svg|list|lst|keys|names|diff|patch)"
)

_STAR = re.compile(r"(?<!\\)(?:\\\\)*\*")
_ADDRESS = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://|(?:ext|fd|file|https?|ssh|git)::|[\w.-]+@[\w.-]+:|"
    r"/dev/(?:tcp|udp)/|[\w./-]+@(?:latest$|v?\d)"
)
_OWN_ADDRESS = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/[^@]*)?$")
_MAX_WORD = 500
"""A longer word has to be spelled out, as no path is that long."""
_PIECES = re.compile(r"[=:,@]|^-[A-Za-z]")
_DEVICES = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"))
_CURL_OPTIONS = re.compile(
    r"-[sSiIfvLkG]+|--(?:silent|show-error|fail|head|include|location|compressed|insecure|get)"
)
_CURL_VALUES = frozenset("-H -m --header --max-time --retry".split())
_CURL_PLACE = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/[^@]*)?")


def why_not_covered(pattern: str, command: SimpleCommand, astray: Sequence[str] = ()) -> str:
    """Which word of the command the `*` of a pattern does not stand for; '' if there is none.

    `astray` are words that lead to files elsewhere or to protected ones, by links, and files that
    `git checkout` overwrites.

    >>> why_not_covered("git log *", SimpleCommand(("git", "log", "-1", "--output=x")))
    '--output=x'
    >>> why_not_covered("git log *", SimpleCommand(("git", "log", "-1", "--oneline")))
    ''
    """
    for name in command.inputs:
        if name in astray or _bad_operand(name, True):
            return name
    if evaluates(command.words):
        return command.words[1]
    if _STAR.search(pattern) is None:
        return "" if command.is_known else command.words[-1]
    is_spelled = _spelling(pattern)
    words = tuple(_from_top(command, word.translate(_EXAMPLES)) for word in command.words)
    if not is_spelled(words[0]):
        return words[0]
    open_words = [
        (place, word) for place, word in enumerate(words) if place and not is_spelled(word)
    ]
    may_be_options = () if known.any_option(_name(words)) else command.patterns
    for place, word in open_words:
        is_astray = word in astray or command.words[place] in astray
        if is_astray or (place in may_be_options and word[0] in "*?["):
            return word
    return _uncovered(words, [word for _, word in open_words], is_spelled)


def _from_top(command: SimpleCommand, word: str) -> str:
    """A path upwards that a command reads in a folder further down: as it is from the top."""
    if not word.startswith("../") or not command.folder or _name(command.words) not in known.READS:
        return word
    path = posixpath.normpath(posixpath.join(command.folder, word))
    return word if path.startswith("..") else path


def only_reads(command: SimpleCommand) -> bool:
    """Whether a command reads, prints or does nothing, so that its words are only data.

    >>> (
    ...     only_reads(SimpleCommand(("grep", "rm -rf", "a.md"))),
    ...     only_reads(SimpleCommand(("sh", "a"))),
    ... )
    (True, False)
    """
    name = _name(command.words)
    is_git = name == "git" and command.words[1:2] and command.words[1] in known.GIT_ONLY_READS
    if (
        not is_git
        and name not in known.READS | known.PRINTS | _SCRIPTED
        and not _is_nothing(command)
    ):
        return False
    return not command.outputs and not why_not_covered(f"{name} *", command)


def does_nothing(command: SimpleCommand, astray: Sequence[str] = ()) -> bool:
    """Whether a command changes and shows nothing outside the shell that runs it: `true`, `exit 1`.

    >>> does_nothing(SimpleCommand(("set", "-e"))), does_nothing(SimpleCommand(("set", "-a")))
    (True, False)
    """
    if not _is_nothing(command):
        return False
    return not why_not_covered(f"{_name(command.words)} *", command, astray)


_NOTHING = frozenset(
    "true false : test [ read let type wait seq nproc uname basename dirname".split()
)
_FLOW = frozenset("exit return break continue".split())
_SHELL_OPTION = re.compile(r"[-+](?:[eu]{1,2}o?|o)|pipefail|errexit|nounset")


def _is_nothing(command: SimpleCommand) -> bool:
    name, rest = command.words[0], command.words[1:]
    if name in _FLOW:
        return len(rest) <= 1 and all(each.translate(_EXAMPLES).isdigit() for each in rest)
    if name == "command":
        return rest[:1] in (("-v",), ("-V",))
    if name in ("export", "unset"):
        sign = "=" if name == "unset" else ""
        return bool(rest) and all(HARMLESS_VARIABLE.fullmatch(each + sign) for each in rest)
    if name in ("jobs", "ulimit", "umask"):
        return all(re.fullmatch(r"-[a-zA-Z]", each) for each in rest)
    if name in known.SUBCOMMANDS:
        return rest == ("--version",)
    if name == "xargs":
        return bool(xargs_command(command.words))  # what it runs is a command of its own
    if name == "set":
        return bool(rest) and all(_SHELL_OPTION.fullmatch(each) for each in rest)
    return name in _NOTHING


def plain_forms(command: SimpleCommand) -> tuple[str, ...]:
    """The command, and the same without options that mean nothing: `git --no-pager log`.

    >>> plain_forms(SimpleCommand(("git", "--no-pager", "log")))
    ('git --no-pager log', 'git log')
    """
    words = command.words
    ignored = known.GLOBAL_OPTIONS.get(words[0], ())
    if len(words) < 3 or words[1] not in ignored:
        return (command.text,)
    return command.text, SimpleCommand((words[0], *words[2:])).text


def is_path_inside(path: str) -> bool:
    """Whether it is the path of a file of the workspace that no program obeys, by its name."""
    return MARKS.isdisjoint(path) and not _bad_operand(path, False)


def is_report(path: str) -> bool:
    """Whether a file is for what programs print: a log, or a text or data in a folder for output.

    >>> is_report("build/report.json"), is_report("package.json"), is_report("build/run.sh")
    (True, False, False)
    """
    return _REPORT.fullmatch(path) is not None


def harmless_prefix(words: Sequence[str]) -> str | None:
    """The first words of a command that only reads, whatever follows; None for all others.

    >>> harmless_prefix(["ls", "-l"]), harmless_prefix(["git", "status", "-s"])
    ('ls', 'git status')
    >>> harmless_prefix(["git", "log", "-1"]), harmless_prefix(["python3", "a.py"])
    (None, None)
    """
    for length in (2, 1):
        prefix = " ".join(words[:length])
        if len(words) > 1 and prefix in known.ONLY_READS:
            return prefix
    return None


def _name(words: Sequence[str]) -> str:
    return words[0].rpartition("/")[2]


def _spelling(pattern: str) -> Callable[[str], bool]:
    """Says whether the pattern itself contains a word, as a whole or up to its `*`."""
    parts = pattern.split()
    whole = {part.replace("\\*", "*").strip("'\"") for part in parts if not _STAR.search(part)}
    starts = tuple(part.partition("*")[0] for part in parts if _STAR.search(part))
    starts = tuple(start for start in starts if len(start) > 1)

    def is_spelled(word: str) -> bool:
        return word in whole or (word.startswith(starts) and ".." not in word if starts else False)

    return is_spelled


def _uncovered(
    words: Sequence[str], open_words: Sequence[str], is_spelled: Callable[[str], bool]
) -> str:
    name = _name(words)
    if name in known.PRINTS or _is_nothing(SimpleCommand(tuple(words))):
        return "" if name not in ("test", "[") else _uncovered_test(open_words)
    if unsure := next((word for word in words if ANY_WORDS in word), ""):
        return unsure
    if name == "find":
        kept, _ = exec_parts(words)  # what it runs is a command of its own
        words, open_words = kept, [word for word in open_words if word in kept]
    if name in known.CHECKS_FILES:
        open_words = _without_reports(open_words)
    if bad := next((word for word in open_words if known.is_bad_operand(name, word)), ""):
        return bad
    if name in ("sed", "awk", "gawk", "mawk"):
        return _uncovered_script(name, words, open_words)
    if name == "curl":
        return _uncovered_by_curl(words, open_words)
    if name in known.SUBCOMMANDS:
        return _uncovered_subcommand(name, words, open_words, is_spelled)
    if is_interpreter(name):
        return _uncovered_by_interpreter(name, words, open_words)
    if name in WRAPPERS or name in known.RUNS_ITS_ARGUMENTS:
        return _uncovered_by_runner(words, open_words, is_spelled)
    if name in known.READS:
        return _first_bad(_without_expression(name, open_words), known.bad_options(name), True)
    return _first_bad(open_words, known.bad_options(name), False)


def _uncovered_by_interpreter(name: str, words: Sequence[str], open_words: Sequence[str]) -> str:
    if len(words) == 1:
        return name  # it runs what it reads
    if not open_words or list(words[1:]) in (["--version"], ["-V"], ["-v"], ["--test"]):
        return ""
    if (files := files_of_script(words)) is not None:
        return _first_bad([*files, *words[3:]], ("-",), True)
    script = script_of(name, words[1:])
    if not script:
        return open_words[0] if words[1] in open_words else ""
    if words[1] == "-m" and script in open_words and script not in known.MODULES:
        return script
    # A script of the workspace is the project's own, and so are its options.
    bad = known.bad_options(script) or ("--",)
    open_words = [word for word in open_words if word != "-m"]
    return _first_bad(_without_reports(open_words), bad, False)


def _uncovered_by_runner(
    words: Sequence[str], open_words: Sequence[str], is_spelled: Callable[[str], bool]
) -> str:
    """For a program that runs its arguments: the rule has to name what it runs."""
    if not open_words:
        return ""
    use = known.PLAIN_USES.get(_name(words))
    if list(words[1:]) == ["--version"]:
        return ""
    if use is not None and use.fullmatch(" ".join(words[1:])):
        return _first_bad(words[2:], (), False)
    if len(words) < 2 or not is_spelled(words[1]):
        return open_words[0]
    rest = words[2:] if words[1] in ("exec", "run") or words[1].startswith("-") else words[1:]
    rest = rest[1:] if rest and rest[0].isdigit() else rest  # timeout 60 pytest
    if not rest or not is_spelled(rest[0]):
        return _first_bad(open_words, ("-",), False)
    return _uncovered(rest, open_words, is_spelled)


def _uncovered_by_curl(words: Sequence[str], open_words: Sequence[str]) -> str:
    """Requests to the machine itself are harmless; every other one has to be spelled out."""
    for place, word in enumerate(words[1:], 1):
        if word not in open_words or _CURL_OPTIONS.fullmatch(word) or word in _CURL_VALUES:
            continue
        if words[place - 1] in _CURL_VALUES and not word.startswith(("@", "-")):
            continue
        if words[place - 1] == "-o" and word == "/dev/null":
            continue
        if _CURL_PLACE.fullmatch(word) is None and word != "-o":
            return word
    return ""


def _uncovered_subcommand(
    name: str, words: Sequence[str], open_words: Sequence[str], is_spelled: Callable[[str], bool]
) -> str:
    rest = [word for word in words[1:] if word not in known.GLOBAL_OPTIONS.get(name, ())]
    if not rest:
        return ""
    if rest[0].startswith("-"):
        return "" if rest[0] in ("--version", "-V", "-v", "--help") else rest[0]
    covered = known.SUBCOMMANDS[name]
    form = next((each for each in (" ".join(rest[:2]), rest[0]) if each in covered), "")
    if not form:
        return _uncovered_unknown_form(name, rest, open_words, is_spelled)
    given = [word for word in open_words if word not in known.GLOBAL_OPTIONS.get(name, ())]
    for word in form.split():
        if word in given:
            given.remove(word)
    given = _without_texts(given)
    if known.SUBCOMMANDS[name] is known.SUBCOMMANDS["npm"]:
        given = [word for word in given if not _PACKAGE.fullmatch(word)]
    reads = name == "git" and rest[0] in known.GIT_READS
    listed = covered[form].split()
    needed = [option[1:] for option in listed if option[0] == "+"]
    if not is_spelled(rest[0]) and not set(needed) <= set(words):
        return form
    if form == "checkout" and (file := overwritten_file(words, given)):
        return file
    bad = known.bad_options(name) if "*" in listed else ("--",)
    return _unlisted(given, listed) or _first_bad(given, bad, reads)


def _uncovered_unknown_form(
    name: str, rest: Sequence[str], open_words: Sequence[str], is_spelled: Callable[[str], bool]
) -> str:
    """For a subcommand that is not known to be harmless, which the rule has to spell out."""
    has_more = any(key.startswith(f"{rest[0]} ") for key in known.SUBCOMMANDS[name])
    if has_more and len(rest) == 1:
        return ""
    if not is_spelled(rest[0]):
        return rest[0]
    if has_more and not is_spelled(rest[1]):
        return rest[1]
    return _first_bad(open_words, known.bad_options(name), False)


def _unlisted(words: Sequence[str], listed: Sequence[str]) -> str:
    """The first option that is not one of those listed. '*' lists all; '.' is an operand."""
    if "*" in listed:
        return ""
    letters = {option[1] for option in listed if re.fullmatch(r"-[A-Za-z]", option)}
    for word in words:
        option = word.partition("=")[0]
        if word == "--" or (word[:2] == "-L" and "L" in letters):
            continue
        if option in listed or re.fullmatch(r"-\d+", word):
            continue
        if word.startswith("--") or (word.startswith("-") and not _is_cluster(word, letters)):
            return word
        if not word.startswith("-") and f"!{word}" in listed:
            return word
    return ""


def _is_cluster(word: str, letters: set[str]) -> bool:
    body = re.match(r"-([A-Za-z]+)\d*$", word)
    return word == "-" or (body is not None and set(body[1]) <= letters)


def _without_texts(words: Sequence[str]) -> list[str]:
    """The words without messages and the expressions that are searched for."""
    kept: list[str] = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if re.fullmatch(r"-[a-z]*m|--message|--grep|--author|-S|-G|--since|--until", before):
            continue
        if re.match(r"-[SG].", word):
            kept.append(word[:2])
            continue
        text = re.match(r"(--message|--grep|--author|--format|--pretty|--date)=", word)
        kept.append(text[1] if text else word)
    return kept


def _without_expression(name: str, words: Sequence[str]) -> list[str]:
    """The words without the expression that is searched for, unless an option has given it."""
    if name == "cut":
        return [
            word
            for place, word in enumerate(words)
            if not re.fullmatch(r"-d.?|--delimiter=.", word) and words[place - 1 : place] != ["-d"]
        ]
    if name not in known.TAKES_EXPRESSION or any(_GIVES_EXPRESSION.match(word) for word in words):
        return list(words)
    first = next((place for place, word in enumerate(words) if not word.startswith("-")), None)
    if first is None or words[first][0:1] in MARKS:
        return list(words)
    return [word for place, word in enumerate(words) if place != first]


def _without_reports(words: Sequence[str]) -> list[str]:
    """The words without listed files, reports (`--junitxml=build/a.xml`) and plugins left out."""
    return [
        word
        for place, word in enumerate(words)
        if SOME_FILE not in word
        and word != "--co"  # of pytest, which knows it as --collect-only
        and not (_REPORT_OPTION.match(word) and is_report(word.partition("=")[2]))
        and not (word == "-p" and words[place + 1 : place + 2] and words[place + 1][:3] == "no:")
    ]


def _uncovered_test(open_words: Sequence[str]) -> str:
    """For `test`: a text that is not known is compared, or looked for as a file."""
    return _first_bad([word for word in open_words if MARKS.isdisjoint(word)], (), True)


def _uncovered_script(name: str, words: Sequence[str], open_words: Sequence[str]) -> str:
    """For sed and awk: options that only choose the input, one harmless script, then files."""
    script, in_place = "", "-i" in words
    if unsure := next((word for word in words if ANY_TEXT in word), ""):
        return unsure
    for place, word in enumerate(words[1:], 1):
        if re.fullmatch(r"-[nErsFvz]|-F.{1,5}|--|-nE|-ne|-e|-En|-nr", word) or word == "-i":
            if word == "-i" and word in open_words:
                return word
        elif (words[place - 1] == "-F" and len(word) <= 5) or (
            words[place - 1] == "-v" and name != "sed" and _AWK_VARIABLE.match(word)
        ):
            continue
        elif word.startswith("-") and word in open_words:
            return word
        elif not script or words[place - 1] in ("-e", "-ne"):
            script = word
            if word in open_words and not only_prints(name, word):
                return word
        elif word in open_words and (bad := _bad_operand(word, not in_place)):
            return bad
    return ""


def _first_bad(words: Sequence[str], bad: Sequence[str], reads: bool) -> str:
    return next((word for word in words if _is_bad(word, bad, reads)), "")


def _is_bad(word: str, bad: Sequence[str], reads: bool) -> bool:
    if word.startswith("-") and word != "-":
        option = word.partition("=")[0]
        if any(_is_option(option, each) for each in bad) or option.startswith("--config"):
            return True
        if not reads and not bad and option.startswith("--") and known.TELLING.search(option):
            return True
    return bool(_bad_operand(word, reads))


def _is_option(option: str, bad: str) -> bool:
    """Whether an option is this one: also shortened, or in a cluster of letters.

    '-' stands for every option, and '--' for none.
    """
    if bad in ("-", "--"):
        return bad == "-"
    if bad.startswith("--"):
        return len(option) > 2 and bad.startswith(option)
    if bad.startswith("=") or len(bad) != 2:
        return option.lstrip("-") == bad.lstrip("=-")
    return not option.startswith("--") and bad[1] in option[1:]


def _bad_operand(word: str, reads: bool) -> str:
    if len(word) > _MAX_WORD or word.startswith("@") or ANY_TEXT in word or ANY_WORDS in word:
        return word
    if SOME_FILE in word and not reads:
        return word
    if _ADDRESS.search(word):
        return "" if _OWN_ADDRESS.match(word) else word
    for piece in _pieces(word):
        steps = (posixpath.normpath(piece) if reads else piece).split("/")
        is_away = piece.startswith(("/", "~")) or ".." in steps
        if (is_away and not (reads and piece in _DEVICES)) or why_private(piece):
            return word
        if not reads and why_runs_programs(piece):
            return word
    return ""


def _pieces(word: str) -> Iterator[str]:
    yield word
    yield from (piece for piece in _PIECES.split(word) if piece)
