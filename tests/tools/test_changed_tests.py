"""Which tests `just quick` runs."""

from pathlib import Path

from tools.changed_tests import tests_of as chosen

STORE = Path("src/sapwood/store/sqlite/writer.py")


def written(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    path.write_text(source)
    return path


def test_a_test_that_imports_a_changed_module_is_chosen(tmp_path: Path) -> None:
    one = written(tmp_path, "test_one.py", "from sapwood.store.sqlite.writer import Writer\n")
    two = written(tmp_path, "test_two.py", "from sapwood.store.sqlite import writer as it\n")
    other = written(tmp_path, "test_other.py", "from sapwood.store import reader\n")
    assert chosen([STORE], [one, two, other]) == [one, two]


def test_a_package_is_its_init_file(tmp_path: Path) -> None:
    one = written(tmp_path, "test_one.py", "from sapwood.core.events import Event\n")
    assert chosen([Path("src/sapwood/core/events/__init__.py")], [one]) == [one]


def test_a_changed_test_is_chosen_and_a_text_chooses_nothing(tmp_path: Path) -> None:
    one = written(tmp_path, "test_one.py", "")
    assert chosen([one], [one]) == [one]
    assert chosen([Path("README.md")], [one]) == []


def test_the_mirror_of_a_changed_module_is_chosen() -> None:
    mirror = Path("tests/tools/test_changed_tests.py")
    assert mirror in chosen([Path("src/sapwood/tools/changed_tests.py")], [mirror])
