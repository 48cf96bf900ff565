"""The example program of the guide holds a conversation on a server, in under sixty lines."""

import runpy
from pathlib import Path

import pytest

from sapwood import File
from tests.client.listening import ServerHere

PROGRAM = Path(__file__).parents[2] / "docs" / "examples" / "remote_client.py"


@pytest.mark.usefixtures("answering")
async def test_the_example_runs(
    server: ServerHere, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAPWOOD_TOKEN", server.token())
    monkeypatch.setenv("SAPWOOD_MODEL", "planned")
    dot = File.of(b"GIF89a\2\0\1\0", name="dot.gif")
    main = runpy.run_path(str(PROGRAM))["main"]
    for _ in range(2):
        await main(server.address, "Where do herons nest?", [dot])
    printed = capsys.readouterr().out
    assert printed.count("Herons nest in trees.\n10 tokens\nMarked 'ANSWERED'.\n") == 2
    assert "Undone: /clear." in printed
    assert "Did you mean ANSWERED?" in printed
    assert "from afar" in printed
    assert len(PROGRAM.read_text().splitlines()) < 60
