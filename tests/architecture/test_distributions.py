"""The wheels of this repository contain the right files, and the distributions are separate."""

import ast
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTED_MODEL = ROOT / "packages" / "scripted-model"


def wheel_of(project: Path, folder: Path) -> zipfile.ZipFile:
    """Builds the wheel of a project as an installer does, but without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def text_of(wheel: zipfile.ZipFile, ending: str) -> str:
    (name,) = [name for name in wheel.namelist() if name.endswith(ending)]
    return wheel.read(name).decode()


def test_the_wheel_of_sapwood_does_not_contain_the_scripted_model(tmp_path: Path) -> None:
    with wheel_of(ROOT, tmp_path) as wheel:
        assert {name.split("/")[0].partition("-")[0] for name in wheel.namelist()} == {"sapwood"}
        assert [name for name in wheel.namelist() if "scripted" in name] == []


def test_the_wheel_of_the_scripted_model_is_complete(tmp_path: Path) -> None:
    with wheel_of(SCRIPTED_MODEL, tmp_path) as wheel:
        source = SCRIPTED_MODEL / "src"
        files = {str(path.relative_to(source)) for path in source.rglob("*.py")}
        assert files | {"scripted_model/py.typed"} <= set(wheel.namelist())
        metadata = Parser().parsestr(text_of(wheel, "/METADATA"))
        assert metadata.get_all("Requires-Dist") == ["msgspec<1,>=0.20"]
        scripts = text_of(wheel, "/entry_points.txt")
        assert "scripted-model = scripted_model.__main__:main" in scripts


@pytest.mark.parametrize(
    "path",
    sorted((SCRIPTED_MODEL / "src").rglob("*.py")),
    ids=lambda path: path.relative_to(SCRIPTED_MODEL).as_posix(),
)
def test_the_scripted_model_imports_only_its_dependency(path: Path) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported - sys.stdlib_module_names <= {"msgspec", "scripted_model"}


def test_both_distributions_have_the_same_licence_and_python() -> None:
    assert (SCRIPTED_MODEL / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    ours, its = (
        tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for project in (ROOT, SCRIPTED_MODEL)
    )
    for key in ("license", "requires-python"):
        assert ours[key] == its[key]


def test_requirement_files_name_no_path() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        assert "scripted" not in path.read_text(encoding="utf-8")
