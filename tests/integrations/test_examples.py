"""The examples of the guide are short, and each framework of the proof has one and an extra."""

import tomllib
from pathlib import Path

import pytest

from proofs.integrations.frameworks import FRAMEWORKS, Framework

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "integrations.md").read_text(encoding="utf-8")


def extras_of(project: Path) -> dict[str, list[str]]:
    file = project / "pyproject.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))["project"]["optional-dependencies"]


@pytest.mark.parametrize("framework", FRAMEWORKS.values(), ids=lambda each: each.name)
def test_an_example_is_short_and_in_the_guide(framework: Framework) -> None:
    assert len(framework.example.read_text(encoding="utf-8").splitlines()) < 60
    assert f"../examples/{framework.example.name}" in GUIDE
    extra = framework.name.replace("_", "-")
    assert f"pip install 'sapwood[{extra}]'" in GUIDE
    ours, required = extras_of(ROOT), extras_of(ROOT / "packages" / "sapwood-frameworks")[extra]
    assert all("<" in requirement and ">=" in requirement for requirement in required)
    assert [each.partition("==")[0] for each in ours[extra]] == [f"sapwood-frameworks[{extra}]"]
    assert not any(extra in each for each in ours["all"])


@pytest.mark.parametrize("framework", FRAMEWORKS.values(), ids=lambda each: each.name)
def test_each_environment_is_pinned(framework: Framework) -> None:
    lines = framework.requirements.read_text(encoding="utf-8").splitlines()
    assert sum("==" in line for line in lines) > 3
    assert any("--hash=sha256:" in line for line in lines)
