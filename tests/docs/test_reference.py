"""The reference pages say what the code says."""

from pathlib import Path

import pytest

from tools.reference import FOLDER, main, pages


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == pages()[name], "run: just reference"


def test_no_page_is_left_over() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(pages())


def test_the_check_passes_and_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--check"]) == 0
    monkeypatch.setattr("tools.reference.FOLDER", tmp_path)
    assert main(["--check"]) == 1
    assert "docs/reference/api.md is out of date. Run: just reference" in capsys.readouterr().err
