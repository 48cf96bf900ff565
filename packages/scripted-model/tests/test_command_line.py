"""The command `scripted-model`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripted_model.__main__ import main

CLIENT = """
import json, os, sys, urllib.request
body = json.loads(sys.argv[1])
headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
headers["anthropic-version"] = "2023-06-01"
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), headers
)
try:
    print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
except urllib.error.HTTPError as error:
    print(error.code)
"""


def run(*options: str, prompt: str = "[[say: hello]]", **more: object) -> list[str]:
    messages = [{"role": "user", "content": prompt}]
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": messages, **more})
    return [*options, "--", sys.executable, "-c", CLIENT, body]


def test_a_command_finds_the_server(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "requests.jsonl"
    assert main(run("--log", str(log), "--key", "k")) == 0
    assert capfd.readouterr().out == "hello\n"
    assert json.loads(log.read_text())["path"] == "/v1/messages"


def test_the_exit_code_is_1_after_a_rejection(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(run(colour="blue")) == 1
    out, err = capfd.readouterr()
    assert out == "400\n"
    assert err == "rejected (anthropic): colour: Extra inputs are not permitted\n"


def test_the_exit_code_of_the_command_is_kept() -> None:
    assert main(["--", sys.executable, "-c", "raise SystemExit(7)"]) == 7


def test_without_a_command_it_prints_its_address() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "scripted_model", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        assert process.stdout is not None
        where = process.stderr.readline().strip()
        export = process.stdout.readline().strip()
        lines = iter(process.stdout.readline, "")
        codex = next(line for line in lines if line.startswith("# [model_providers"))
        process.terminate()
    address = where.removeprefix("Scripted model on ")
    assert address.startswith("http://127.0.0.1:")
    assert export == f"export ANTHROPIC_BASE_URL={address}"
    assert codex == "# [model_providers.scripted]\n"
