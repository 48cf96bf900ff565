"""Remembers which programs on this machine were probed, and with what result.

A proof belongs to the content of an executable. The content is hashed once and known again by the
identity of the file. A small executable only starts another one, which can change without it: its
version is asked for once in every process, and is part of what the proof belongs to.
"""

import hashlib
import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.config.folders import data_folder
from sapwood.private_files import locked, replace_file
from sapwood.programs import registry
from sapwood.programs.installed_programs import printed_version
from sapwood.programs.probe.probe_process import run_probe

_PROBE_VERSION = 1
"""Raise it when the probe checks more: all programs are then probed again."""
_MAX_LAUNCHER = 1024 * 1024
_MAX_PROOFS = 50
_TRY_AGAIN_SECONDS = 86_400


class Proof(Struct, frozen=True, omit_defaults=True):
    """The result of a probe. `reason` is a clause that says what differed; `at` is in seconds."""

    program: str
    version: str
    proved: bool
    at: float
    seconds: float = 0.0
    reason: str = ""
    passing: bool = False
    isolated: bool = False

    @property
    def is_current(self) -> bool:
        """Whether it counts: a program that was only too slow is probed again after a day."""
        return not self.passing or time.time() - self.at < _TRY_AGAIN_SECONDS


class Executable(Struct, frozen=True):
    """A file that can be started: the version that it prints, and what a proof belongs to."""

    path: str
    version: str
    key: str


class _Known(Struct):
    """The content of the file `proofs.json`: executables by identity, and proofs by key."""

    executables: dict[str, tuple[str, str]] = {}
    proofs: dict[str, Proof] = {}


_versions: dict[tuple[str, str], str] = {}


class Proofs:
    """The proofs in a data folder; without one, in that of the user."""

    def __init__(self, data: Path | None = None) -> None:
        self._file = (data or data_folder()) / "programs" / "proofs.json"

    def executable(self, path: str, environ: Mapping[str, str]) -> Executable | None:
        """What can be started there; None if nothing can. May start it to ask for its version."""
        try:
            identity, size = _identity(path)
            known = self._read()
            digest, version = known.executables.get(identity, ("", ""))
            if not digest:
                digest = _digest(path)
            is_launcher = size < _MAX_LAUNCHER
            if is_launcher or not version:
                version = _version(path, identity, environ)
            if known.executables.get(identity) != (digest, version) and version:
                self._update(executables={identity: (digest, version)})
        except OSError:
            return None
        parts = f"{digest} {version} {_PROBE_VERSION}"
        return Executable(path, version, hashlib.sha256(parts.encode()).hexdigest())

    def find(self, executable: Executable) -> Proof | None:
        """The proof of an executable; None if it must be probed."""
        found = self._read().proofs.get(executable.key)
        return found if found is not None and found.is_current else None

    def prove(
        self,
        program: str,
        executable: Executable,
        environ: Mapping[str, str],
        *,
        again: bool = False,
        stop: threading.Event | None = None,
    ) -> Proof:
        """The proof of an executable, which is probed if there is none, or if it must be `again`.

        Waits while another process probes. `stop` ends the probe; the result is then not kept.
        """
        with locked(self._file.with_name("probe")):
            if not again and (found := self.find(executable)) is not None:
                return found
            begun = time.monotonic()
            result = run_probe(
                program,
                executable.path,
                executable.version,
                environ,
                seconds=registry.program(program).probe_seconds,
                stop=stop,
            )
            proof = Proof(
                program,
                executable.version,
                result.proved,
                time.time(),
                round(time.monotonic() - begun, 2),
                result.reason,
                result.passing,
                result.isolated,
            )
            is_same = self.executable(executable.path, environ) == executable
            if is_same and not (stop and stop.is_set()):
                self.keep(executable, proof)
        return proof

    def keep(self, executable: Executable, proof: Proof) -> None:
        """Remembers the proof of an executable."""
        self._update(proofs={executable.key: proof})

    def _read(self) -> _Known:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Known)
        except (OSError, msgspec.MsgspecError, ValueError):
            return _Known()

    def _update(
        self,
        executables: Mapping[str, tuple[str, str]] | None = None,
        proofs: Mapping[str, Proof] | None = None,
    ) -> None:
        """Adds what is new and forgets the oldest. Without room on the disk nothing is kept."""
        with suppress(OSError), locked(self._file):
            known = self._read()
            files = {**known.executables, **(executables or {})}
            results = {**known.proofs, **(proofs or {})}
            newest = sorted(results, key=lambda key: results[key].at)[-_MAX_PROOFS:]
            kept = _Known(
                {each: files[each] for each in list(files)[-_MAX_PROOFS:]},
                {each: results[each] for each in newest},
            )
            replace_file(self._file, msgspec.json.encode(kept))


def not_proved(title: str, version: str, reason: str) -> str:
    """The sentence for a user whose sessions are not changed in place."""
    return (
        f"The sessions of {title} {version} are not changed in place, because in a test session "
        f"{reason}; please report this with the output of `sapwood programs`."
    )


def _identity(path: str) -> tuple[str, int]:
    real = os.path.realpath(path)
    status = os.stat(real)
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    return f"{real} {status.st_dev} {status.st_ino} {status.st_size} {times}", status.st_size


def _digest(path: str) -> str:
    with open(os.path.realpath(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version(path: str, identity: str, environ: Mapping[str, str]) -> str:
    key = path, identity
    if not _versions.get(key):
        _versions[key] = printed_version(path, environ)
    return _versions[key]
