"""Proofs for small programs that stand in for the real ones, which no probe would accept."""

import os
from collections.abc import Mapping
from pathlib import Path

from sapwood.programs.probe.proofs import Proof, Proofs


def keep_proof(
    data: Path,
    program: str,
    path: Path,
    *,
    reason: str = "",
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Remembers that the program was probed; with a reason, that its sessions cannot be changed."""
    proofs = Proofs(data)
    executable = proofs.executable(str(path), environ)
    assert executable is not None
    proofs.keep(executable, Proof(program, executable.version, not reason, 1.0, reason=reason))
