"""Files of the configuration and the data are written by `private_files` alone."""

import ast
import re
from collections.abc import Iterator

from tests.source_files import source_files

ELSEWHERE = {
    "private_files.py": "the one place",
    "testing/claude_transcript.py": "makes transcripts for tests",
    "cli/console.py": "writes to the device or pipe that a person names",
    "tui/terminal.py": "writes a temporary file for the editor of the person",
    "store/sqlite/connections.py": "creates the database, private, before SQLite opens it",
    "hooks/background_work.py": "opens locks, which stay empty",
    "programs/session_copy.py": "makes private copies of transcripts, owner only",
    "programs/codex/thread_at_rest.py": "opens the locks of Codex, which stay empty",
    "cli/entry.py": "opens the null device",
}
"""Other files that write, and why; the folder `workspace` writes the files of the user."""
WRITING = frozenset("wax")
MAY_WRITE = re.compile(r"\bopen\b|fdopen|write_text|write_bytes")
METHODS = frozenset({"write_text", "write_bytes"})


def writes(source: str) -> Iterator[int]:
    """Yields the lines of calls that create or change a file."""
    for node in ast.walk(ast.parse(source if MAY_WRITE.search(source) else "")):
        if not isinstance(node, ast.Call):
            continue
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        texts += [k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)]
        modes = [text for text in texts if isinstance(text, str) and len(text) <= 3]
        flags = name == "open" and re.search("O_CREAT|O_WRONLY", ast.dump(node))
        if (
            name in METHODS
            or (name in {"open", "fdopen"} and any(WRITING & set(mode) for mode in modes))
            or flags
        ):
            yield node.lineno


def test_files_are_written_in_one_place() -> None:
    found = [
        f"{name}:{line}"
        for name, file in source_files().items()
        if name not in ELSEWHERE and "workspace" not in name.split("/")
        for line in writes(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_exceptions_still_write() -> None:
    for name in ELSEWHERE:
        assert list(writes(source_files()[name].read_text(encoding="utf-8"))), name
