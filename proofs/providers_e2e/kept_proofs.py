"""The proofs in a home: makes the program there fail its probe, or be probed again."""

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.home import Home
from sapwood.programs.probe.proofs import Proof, Proofs
from sapwood.programs.registry import program


def fail_probe(home: Home, name: str) -> None:
    """Remembers that the program of this home failed its probe."""
    path = program(name).executable_path(home.environ)
    proofs = Proofs(home.data)
    executable = proofs.executable(path, home.environ) if path else None
    if executable is None:
        raise ProofError(f"{name} was not found in its home")
    proofs.keep(executable, Proof(name, executable.version, False, 1.0, reason="a test failed"))


def forget_proofs(home: Home) -> None:
    """Forgets all proofs, so that programs are probed again."""
    (home.data / "programs" / "proofs.json").unlink()
