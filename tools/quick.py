"""`just quick`: format, lint, contracts, types, and the tests of what changed.

Everything runs side by side. `just quick REVISION` compares with that commit.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tools.changed_tests import chosen_tests

_CHECKS: dict[str, list[str]] = {
    "format": ["ruff", "format", "--check", "--quiet"],
    "lint": ["ruff", "check", "--quiet"],
    "contracts": ["lint-imports", "--no-logo"],
    "types": ["pyright"],
}


def _tests(files: Sequence[Path]) -> list[str]:
    names = [str(path) for path in files]
    return [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not night", *names]


def _start(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)


def main(argv: Sequence[str]) -> int:
    """Prints one line for each check, and the output of those that failed. Returns 1 for those."""
    tests = chosen_tests(*argv[:1])
    commands = {**_CHECKS, **({"tests": _tests(tests)} if tests else {})}
    print(f"quick: {len(tests)} files of tests belong to what changed", flush=True)
    start = time.monotonic()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        running = {name: _start(it, Path(folder, name)) for name, it in commands.items()}
        for name, process in running.items():
            code = process.wait()
            failed |= bool(code)
            print(f"{'FAILED' if code else 'ok    '} {name:10} {time.monotonic() - start:4.0f} s")
            if code:
                print(Path(folder, name).read_text(errors="replace"))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
