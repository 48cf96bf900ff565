"""Scripts of sed, awk, Python and Node that only print, and write, run and send nothing. Pure.

A script of Python is judged by its syntax tree: everything in it has to be known as harmless. It
may compute, use some functions of the standard library, and call methods of plain values. It
reaches no other object, because no other name and no other attribute is allowed.
"""

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache

_TEXT = r"(?:[^{0}\\\n]|\\.)*"
_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_TEXT.format('/')}/I?)"
_REPLACE = "|".join(
    rf"{sign}{_TEXT.format(sign)}{sign}{_TEXT.format(sign)}{sign}"
    for sign in ("/", r"\|", "#", ",")
)
_COMMAND = rf"(?:[pdqQnNhHgGxlDP=]|s(?:{_REPLACE})[gpI0-9]*)"
_RANGE = rf"(?:{_ADDRESS}(?:,(?:{_ADDRESS}|[+~]\d+))?)?\s*!?\s*"
_STEP = rf"{_RANGE}(?:{_COMMAND}|\{{\s*{_RANGE}{_COMMAND}(?:\s*;\s*{_RANGE}{_COMMAND})*\s*;?\s*\}})"
_SED = rf"\s*{_STEP}(?:\s*[;\n]\s*{_STEP})*\s*;?\s*"  # compiled when it is needed: it is slow
_UNCLEAR_BRACKET = re.compile(r"(?<!\\)\[[^\]\n]*[/|#,]")
_AWKS = frozenset("awk gawk mawk nawk".split())
_AWK_ACTS = re.compile(
    r"(?<!\|)\|(?!\|)|[@`\\]|\b(?:system|getline|close|fflush|ENVIRON|ARGV|ARGC|PROCINFO|SYMTAB|"
    r"FUNCTAB)\b|\bprintf?\b[^;}\n]*>"
)
_MAX_SCRIPT = 1_000


_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_NODE_PRINT = re.compile(r"console\.log\((.*)\);?")
_NODE_VALUE = re.compile(
    r"""(?:process\.(?:version|versions|platform|arch)|require\((["'])(?P<file>\./[\w./-]+\.json)\1\))"""
    r"(?:\.\w+)*",
    re.ASCII,
)


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
    return program == "sed" and not is_unclear and re.fullmatch(_SED, script) is not None


def files_of_script(words: Sequence[str]) -> tuple[str, ...] | None:
    """The files that `python -c SCRIPT` reads, if the script only prints; None for all others.

    The same for `node -p` and `node -e`, with one value of Node or of a JSON file.

    >>> files_of_script(["python3", "-c", "import json; print(json.load(open('a.json'))['b'])"])
    ('a.json',)
    >>> files_of_script(["python3", "-c", "import os; print(os.environ)"]) is None
    True
    """
    if len(words) < 3 or len(words[2]) >= _MAX_SCRIPT:
        return None
    name = words[0].rpartition("/")[2]
    if name == "node" and words[1] in ("-p", "-e"):
        printed = _NODE_PRINT.fullmatch(words[2])
        found = _NODE_VALUE.fullmatch(printed[1] if printed else words[2])
        return None if found is None else (found["file"],) if found["file"] else ()
    is_python = words[1] == "-c" and _PYTHON.fullmatch(name) is not None
    return _read_by_python(words[2]) if is_python else None


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


_BUILTINS = frozenset(
    "print len sorted sum min max range enumerate zip list dict set tuple str int float bool repr "
    "round abs any all reversed map filter isinstance ord chr hex bin divmod".split()
)
_FUNCTIONS: Mapping[str, str] = {
    "sys": "version version_info platform stdin argv maxsize byteorder stdout stderr",
    "json": "load loads dumps",
    "math": "pi e sqrt floor ceil log log2 log10 gcd isclose inf prod",
    "re": "findall search match fullmatch sub split escape I M S",
    "statistics": "mean median stdev",
    "collections": "Counter defaultdict OrderedDict",
    "itertools": "chain groupby islice count product",
    "textwrap": "dedent indent fill",
    "platform": "python_version system machine",
    "datetime": "date datetime timedelta timezone",
    "time": "time",
    "hashlib": "md5 sha1 sha256 sha512",
    "base64": "b64encode b64decode",
    "csv": "reader DictReader",
    "tomllib": "load loads",
    "string": "ascii_letters digits punctuation",
}
"""What a script may use of a module. None of it reaches another module, a file or a program."""
_METHODS = frozenset(
    "get keys values items split rsplit strip lstrip rstrip join startswith endswith lower upper "
    "title replace count index find append add update extend pop sort splitlines partition "
    "rpartition zfill ljust rjust encode decode isdigit isalpha read readline readlines "
    "most_common group groups hexdigest today now isoformat strftime total_seconds major minor "
    "micro fieldnames setdefault union intersection difference utc".split()
)
"""Methods of texts, numbers, lists, dictionaries, times and files that are open for reading."""
_SYNTAX = (
    *(ast.Module, ast.Expr, ast.Assign, ast.AugAssign, ast.For, ast.If, ast.With, ast.withitem),
    *(
        ast.alias,
        ast.Pass,
        ast.Break,
        ast.Continue,
        ast.Constant,
        ast.JoinedStr,
        ast.FormattedValue,
    ),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.operator, ast.unaryop),
    *(ast.boolop, ast.cmpop, ast.expr_context, ast.List, ast.Tuple, ast.Dict, ast.Set),
    *(ast.Subscript, ast.Slice, ast.Starred, ast.ListComp, ast.SetComp, ast.DictComp),
    *(ast.GeneratorExp, ast.comprehension, ast.keyword, ast.Lambda, ast.arguments, ast.arg),
)
"""What needs no look of its own. Names, attributes, calls and imports do."""
_FILE = re.compile(r"[\w./-]+")
_READING_MODES = frozenset(("r", "rt", "rb"))


@lru_cache(maxsize=64)
def _read_by_python(script: str) -> tuple[str, ...] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in texts
            tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = list(ast.walk(tree))
    found = _PythonNames(nodes)
    if found.are_harmless and all(found.is_harmless(node) for node in nodes):
        return tuple(found.files)
    return None


class _PythonNames:
    """The names of a script: modules, what is imported from them, and its own variables."""

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        self.files: list[str] = []
        self._modules: dict[str, str] = {}
        self._opened: set[ast.AST] = set()
        self._bases = {node.value for node in nodes if isinstance(node, ast.Attribute)}
        bound: list[str] = []
        imported: list[str] = []
        self.are_harmless = True
        for node in nodes:
            match node:
                case ast.Import():
                    for each in node.names:
                        self.are_harmless &= each.name in _FUNCTIONS
                        self._modules[each.asname or each.name] = each.name
                case ast.ImportFrom():
                    known = _FUNCTIONS.get(node.module or "", "").split() if not node.level else ()
                    for each in node.names:
                        self.are_harmless &= each.name in known
                        imported.append(each.asname or each.name)
                case ast.Name(ctx=ast.Store() | ast.Del()):
                    bound.append(node.id)
                case ast.arg():
                    bound.append(node.arg)
                case ast.Call(func=ast.Name(id="open")):
                    self._opened.add(node.func)
                case _:
                    pass
        own = {*bound, *imported, *self._modules}
        # A name has one meaning: what is called `json` is the module, and `print` prints.
        self.are_harmless &= own.isdisjoint(_BUILTINS | {"open"})
        self.are_harmless &= len({*bound, *imported}) + len(self._modules) == len(own)
        self.are_harmless &= set(bound).isdisjoint(imported)
        self._callable = _BUILTINS | set(imported)
        self._known = own | _BUILTINS

    def is_harmless(self, node: ast.AST) -> bool:
        """Whether a part of the script does nothing, apart from the parts in it."""
        match node:
            case ast.Import() | ast.ImportFrom():
                return True
            case ast.Name():
                if node.id in self._modules:
                    return node in self._bases
                return node in self._opened or (node.id in self._known and node.id[0] != "_")
            case ast.Attribute():
                return isinstance(node.ctx, ast.Load) and node.attr in self._attributes(node.value)
            case ast.Call():
                return self._is_harmless_call(node)
            case _:
                return isinstance(node, _SYNTAX) and not _is_asynchronous(node)

    def _attributes(self, value: ast.AST) -> Sequence[str] | frozenset[str]:
        if isinstance(value, ast.Name) and value.id in self._modules:
            return _FUNCTIONS[self._modules[value.id]].split()
        return _METHODS

    def _is_harmless_call(self, call: ast.Call) -> bool:
        if call.func in self._opened:
            return self._is_reading(call)
        if isinstance(call.func, ast.Name):
            return call.func.id in self._callable
        return isinstance(call.func, ast.Attribute)  # which is judged by itself

    def _is_reading(self, call: ast.Call) -> bool:
        """Whether `open` reads a file that the script names; the file is kept."""
        texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
        names = {each.arg: each.value for each in call.keywords}
        mode = names.pop("mode", ast.Constant(texts[1] if len(texts) > 1 else "r"))
        is_plain = (
            len(texts) == len(call.args) and len(texts) in (1, 2) and set(names) <= {"encoding"}
        )
        if not is_plain or not isinstance(texts[0], str) or not _FILE.fullmatch(texts[0]):
            return False
        self.files.append(texts[0])
        return isinstance(mode, ast.Constant) and mode.value in _READING_MODES


def _is_asynchronous(node: ast.AST) -> bool:
    return isinstance(node, ast.comprehension) and bool(node.is_async)
