"""Probes released versions of Claude Code and Codex: `just versions`, `just versions --last 15`.

With `--write` the results go to docs/guides/provider-versions.md.

Each version is fetched by npm, which checks its hash, and deleted after its probe: turns, a rewind,
a trim, an undo and a resume. The newest versions must be proved. A version that is too old must
fail with a sentence that says what differed.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from proofs.agents_e2e.environment import ProofError
from proofs.providers_e2e.support_table import write_releases
from sapwood.programs.probe.probe_process import ProbeResult, run_probe
from sapwood.programs.registry import program_title

_SECONDS = 300


class _Source(NamedTuple):
    """Where npm has a program. `packed` is the package of a version for this platform."""

    program: str
    package: str
    packed: str
    executable: str
    too_old: str


class _Tried(NamedTuple):
    """A version after its probe."""

    program: str
    version: str
    result: ProbeResult
    as_expected: bool


_PLATFORM = f"linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}"
_SOURCES = (
    _Source(
        "claude-code",
        "@anthropic-ai/claude-code",
        f"@anthropic-ai/claude-code-{_PLATFORM}@{{}}",
        "claude",
        "2.1.110",
    ),
    _Source("codex", "@openai/codex", f"@openai/codex@{{}}-{_PLATFORM}", "codex", "0.100.0"),
)


def main() -> int:
    """Prints a line for each version; returns 1 if one has another result than expected."""
    parser = argparse.ArgumentParser(prog="python -m proofs.versions", description=__doc__)
    parser.add_argument("programs", nargs="*", help="claude-code, codex; both if none is named")
    parser.add_argument("--last", type=int, default=2, help="how many of the newest versions")
    parser.add_argument("--write", action="store_true", help="write the results into the guide")
    options = parser.parse_args()
    if options.write and options.programs:
        parser.error("--write needs the results of all programs")
    tried: list[_Tried] = []
    for source in _SOURCES:
        if options.programs and source.program not in options.programs:
            continue
        newest = _released(source)[-options.last :]
        tried += [_try(source, each, expected=each in newest) for each in (source.too_old, *newest)]
    if options.write:
        write_releases(_table(tried))
    wrong = sum(not each.as_expected for each in tried)
    print(
        f"versions: {wrong} results are not as expected" if wrong else "versions: all as expected"
    )
    return int(bool(wrong))


def _table(tried: Sequence[_Tried]) -> str:
    lines = [
        "The probe that Sapwood runs on your machine, with each of these releases: turns, a",
        "rewind, a trim, an undo and a resume, judged by the requests. The first release of each",
        "program is one that is too old.\n",
        "| program | version | sessions are changed |",
        "| --- | --- | --- |",
    ]
    for each in tried:
        shown = "in place" if each.result.proved else f"in a new session: {each.result.reason}"
        lines.append(f"| {program_title(each.program)} | {each.version} | {shown} |")
    return "\n".join(lines) + "\n"


def _try(source: _Source, version: str, *, expected: bool) -> _Tried:
    with tempfile.TemporaryDirectory(prefix="sapwood-versions-", dir="/var/tmp") as folder:
        path = _fetch(source, version, Path(folder))
        started = time.monotonic()
        result = run_probe(source.program, str(path), version, os.environ)
        seconds = time.monotonic() - started
    shown = "in place" if result.proved else f"new session: {result.reason}"
    is_right = result.proved == expected and (result.proved or not result.passing)
    mark = "ok  " if is_right else "FAIL"
    print(f"{mark} {source.program} {version}  {seconds:.1f} s  {shown}", flush=True)
    return _Tried(source.program, version, result, is_right)


def _released(source: _Source) -> list[str]:
    """The versions without a suffix, oldest first."""
    versions: list[str] = json.loads(_npm("view", source.package, "versions", "--json"))
    plain = [each for each in versions if re.fullmatch(r"\d+\.\d+\.\d+", each)]
    return sorted(plain, key=lambda each: [int(part) for part in each.split(".")])


def _fetch(source: _Source, version: str, folder: Path) -> Path:
    """Unpacks a version; returns its executable."""
    try:
        _npm("pack", source.packed.format(version), "--pack-destination", str(folder))
    except ProofError:  # older versions are one package for all platforms, run by Node.js
        _npm("pack", f"{source.package}@{version}", "--pack-destination", str(folder))
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    archive.unlink()
    names = (source.executable, "cli.js")
    found = [path for name in names for path in sorted(folder.rglob(name)) if path.is_file()]
    if not found:
        raise ProofError(f"{source.program} {version} has no executable for {_PLATFORM}")
    found[0].chmod(0o755)
    return found[0]


def _npm(*arguments: str) -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise ProofError("npm was not found. Install Node.js, then try again.")
    try:
        ran = subprocess.run(
            [npm, *arguments], capture_output=True, text=True, check=True, timeout=_SECONDS
        )
    except subprocess.SubprocessError as error:
        raise ProofError(f"`npm {' '.join(arguments)}` failed: {error}") from error
    return ran.stdout


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ProofError as error:
        sys.exit(f"versions: {error}")
