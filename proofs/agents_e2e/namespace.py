"""A namespace with loopback only: the programs can reach only the scripted model.

What is mounted inside is seen by nobody else.
"""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

from proofs.agents_e2e.environment import ProofError

_INSIDE = "SAPWOOD_PROOF_INSIDE"
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def enter_namespace(arguments: list[str], module: str = "proofs.agents_e2e") -> None:
    """Starts the module again inside the namespace, unless it is already inside."""
    if os.environ.get(_INSIDE):
        _raise_loopback()
        return
    unshare = shutil.which("unshare")
    if unshare is None:
        raise ProofError("`unshare` was not found. Install util-linux, then try again.")
    flags = "-mn" if os.geteuid() == 0 else "-rmn"
    tried = subprocess.run([unshare, flags, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise ProofError(
            "This machine allows no network namespace, so the programs could reach the internet: "
            f"{tried.stderr.strip()}. Run it as root, or where user namespaces are allowed."
        )
    inner = [unshare, flags, sys.executable, "-m", module, *arguments]
    os.execve(unshare, inner, {**os.environ, _INSIDE: "1"})


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh", b"lo", 0)
        answer = fcntl.ioctl(any_socket, _GET_FLAGS, request)
        (flags,) = struct.unpack_from("h", answer, 16)
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP))


def reaches_outside() -> bool:
    """Whether an outside address can be reached, which must not be possible."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            any_socket.connect(("192.0.2.1", 9))  # an address that is reserved for examples
        except OSError:
            return False
        return True
