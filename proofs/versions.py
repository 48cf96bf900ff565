"""Probes released versions of the programs: `just versions`, `just versions --last 15`.

With `--write` the results go to docs/guides/provider-versions.md.

Each version is fetched by npm, which checks its hash, and deleted afterwards. The probe: turns, a
rewind, a trim, an undo and a resume. Then the program compacts its own session several times, and
each of these compactions is undone. Versions must pass both, unless they are too old: these must
fail the probe with a sentence that says what differed. `--oldest` searches all releases for
the newest one that is too old.
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
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from proofs.agents_e2e.environment import ProofError, find_npm_programs
from proofs.providers_e2e.support_table import write_releases
from sapwood.programs.probe.probe_process import ProbeResult, run_probe
from sapwood.programs.registry import program

_SECONDS = 300
_TRIES = 3
_UNDONE = "are undone"


class _Source(NamedTuple):
    """Where npm has a program. `packed` is the package of a version for this platform.

    A program without one is run by Node.js, with the packages `beside` it.
    """

    program: str
    package: str
    too_old: str
    packed: str = ""
    beside: tuple[str, ...] = ()


class _Tried(NamedTuple):
    """A version after its probe. `undone`: whether compactions of its own were undone then."""

    program: str
    version: str
    result: ProbeResult
    undone: str
    as_expected: bool


_PLATFORM = f"linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}"
_SOURCES = (
    _Source(
        "claude-code",
        "@anthropic-ai/claude-code",
        "2.1.110",
        f"@anthropic-ai/claude-code-{_PLATFORM}@{{}}",
    ),
    _Source("codex", "@openai/codex", "0.100.0", f"@openai/codex@{{}}-{_PLATFORM}"),
    _Source("opencode", "opencode-ai", "1.0.0", f"opencode-{_PLATFORM}@{{}}"),
    _Source(
        "pi",
        "@earendil-works/pi-coding-agent",
        "0.86.1",
        beside=("jiti@2.7.0", "typebox@1.3.27"),
    ),
)


def main() -> int:
    """Prints a line for each version; returns 1 if one has another result than expected."""
    parser = argparse.ArgumentParser(prog="python -m proofs.versions", description=__doc__)
    parser.add_argument("programs", nargs="*", help="only these, such as codex")
    parser.add_argument("--last", type=int, default=2, help="how many of the newest versions")
    parser.add_argument("--oldest", action="store_true", help="search for the one that is too old")
    parser.add_argument("--write", action="store_true", help="write the results into the guide")
    options = parser.parse_args()
    tried: list[_Tried] = []
    for source in _SOURCES:
        if options.programs and source.program not in options.programs:
            continue
        released = _released(source)
        newest = released[-options.last :]
        too_old = _newest_too_old(source, released) if options.oldest else source.too_old
        rest = [too_old] if too_old and too_old not in newest else []
        for each in (*reversed(newest), *rest):
            expected = not too_old or _parts_of(each) > _parts_of(too_old)
            try:
                tried.append(_try(source, each, expected=expected))
            except ProofError as error:
                print(f"     {source.program} {each}: left out: {error}", flush=True)
            if options.write:
                _write(tried)
    if not tried:
        raise ProofError("no release could be fetched")
    wrong = sum(not each.as_expected for each in tried)
    print(
        f"versions: {wrong} results are not as expected" if wrong else "versions: all as expected"
    )
    return int(bool(wrong))


def _write(tried: Sequence[_Tried]) -> None:
    head = [
        "The probe that Sapwood runs on your machine, with each of these releases: turns, a",
        "rewind, a trim, an undo and a resume, judged by the requests. Then the program compacts",
        "its session several times, and `sapwood undo` takes each compaction back. On a release",
        "that is too old, changes make a new session.\n",
        "| program | version | sessions are changed | its own compactions |",
        "| --- | --- | --- | --- |",
    ]
    rows: dict[tuple[str, str], tuple[str, str]] = {}
    for each in tried:
        reason, has_more, _ = each.result.reason.partition(": {")  # what the program sent, as JSON
        shown = (
            "in place"
            if each.result.proved
            else f"in a new session: {reason}{')' * bool(has_more)}"
        )
        rows[each.program, each.version] = (shown, each.undone or "–")
    write_releases("\n".join(head) + "\n", rows)


def _newest_too_old(source: _Source, released: Sequence[str]) -> str:
    """The newest release that fails the probe, found by halving; empty if the oldest one passes.

    Releases that npm does not have any more, or not for this platform, are left out.
    """
    left, proved = list(released), len(released) - 1
    failed = -1
    while proved - failed > 1:
        middle = (failed + proved) // 2
        try:
            with _fetched(source, left[middle]) as path:
                result, seconds = _probe(source, left[middle], path)
        except ProofError as error:
            print(f"     {source.program} {left.pop(middle)}: {error}", flush=True)
            proved -= 1
            continue
        shown = "works" if result.proved else f"is too old: {result.reason}"
        print(f"     {source.program} {left[middle]}  {seconds:.1f} s  {shown}", flush=True)
        failed, proved = (failed, middle) if result.proved else (middle, proved)
    return left[failed] if failed >= 0 else ""


def _try(source: _Source, version: str, *, expected: bool) -> _Tried:
    with _fetched(source, version) as path:
        result, seconds = _probe(source, version, path)
        undone = _undo_compactions(source.program, path) if result.proved else ""
    shown = f"in place, {undone}" if result.proved else f"new session: {result.reason}"
    is_right = result.proved == expected and (result.proved or not result.passing)
    is_right = is_right and undone in ("", _UNDONE)
    mark = "ok  " if is_right else "FAIL"
    print(f"{mark} {source.program} {version}  {seconds:.1f} s  {shown}", flush=True)
    return _Tried(source.program, version, result, undone, is_right)


@contextmanager
def _fetched(source: _Source, version: str) -> Generator[Path]:
    """The executable of a version, which is deleted afterwards. Raises `ProofError`."""
    with tempfile.TemporaryDirectory(prefix="sapwood-versions-", dir="/var/tmp") as folder:
        path = _fetch(source, version, Path(folder))
        started = subprocess.run(
            [path, "--version"],
            env={**_environ(), "HOME": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        if "ERR_MODULE_NOT_FOUND" in started.stderr:
            raise ProofError("the registry does not have all of its packages")
        yield path


def _probe(source: _Source, version: str, path: Path) -> tuple[ProbeResult, float]:
    """The result of the probe, and the seconds that it took. A slow machine gets another try."""
    limit, tries = program(source.program).probe_seconds, _TRIES
    while True:
        started, tries = time.monotonic(), tries - 1
        result = run_probe(source.program, str(path), version, _environ(), seconds=limit)
        if not result.passing or not tries:
            return result, time.monotonic() - started


def _environ() -> dict[str, str]:
    """The environment, with a Node.js that is new enough for pi."""
    node = find_npm_programs()["node"].parent
    return {**os.environ, "PATH": f"{node}:{os.environ['PATH']}"}


def _undo_compactions(name: str, path: Path) -> str:
    """Whether the compactions of the program itself are undone: what the table says about it."""
    module = [sys.executable, "-m", "proofs.providers_e2e", name, "--executable", str(path)]
    ran = subprocess.run(
        [*module, "--act", "own_compactions"], capture_output=True, text=True, check=False
    )
    if ran.returncode == 0:
        return _UNDONE
    told = [line for line in ran.stdout.splitlines() if " NO " in line]
    print("".join(f"     {line}\n" for line in told or ran.stderr.splitlines()[-3:]), end="")
    return "are not undone"


def _released(source: _Source) -> list[str]:
    """The versions without a suffix, oldest first."""
    versions: list[str] = json.loads(_npm("view", source.package, "versions", "--json"))
    plain = [each for each in versions if re.fullmatch(r"\d+\.\d+\.\d+", each)]
    return sorted(plain, key=_parts_of)


def _parts_of(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _fetch(source: _Source, version: str, folder: Path) -> Path:
    """Unpacks a version; returns its executable."""
    named = f"{source.package}@{version}"
    executable = program(source.program).executable
    if not source.packed:
        with suppress(ProofError):  # some versions need packages that a registry may not have
            _npm("install", "--silent", "--no-save", "--prefix", str(folder), named)
            return folder / "node_modules" / ".bin" / executable
    try:
        if not source.packed:
            raise ProofError("it is one package for all platforms")
        _npm("pack", source.packed.format(version), "--pack-destination", str(folder))
    except ProofError:  # older versions are one package for all platforms, run by Node.js
        _npm("pack", named, "--pack-destination", str(folder))
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    archive.unlink()
    if source.beside:
        _npm("install", "--silent", "--no-save", "--prefix", str(folder), *source.beside)
    names = (executable, "bundle/cli.js", "cli.js")
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
