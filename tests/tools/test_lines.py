"""`just lines` counts what is there."""

from pathlib import Path

from tools.lines import distributions, repeated


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_lines_files_and_repeated_names_are_counted_by_distribution(tmp_path: Path) -> None:
    written(tmp_path / "src/sapwood/__init__.py", '"""A."""\n')
    written(tmp_path / "src/sapwood/a/log.py", '"""A."""\n\n\nclass Log: ...\n')
    written(
        tmp_path / "src/sapwood/b/log.py", '"""B."""\n\n\nclass Log: ...\n\n\nclass _Log: ...\n'
    )
    written(tmp_path / "packages/sapwood-x/src/sapwood_x/log.py", '"""X."""\n')
    (tmp_path / "packages/empty").mkdir()
    sapwood, other = distributions(tmp_path)
    assert (sapwood.name, sum(sapwood.lengths), len(sapwood.lengths)) == ("sapwood", 12, 3)
    assert repeated(sapwood.modules) == {"log": 2}
    assert repeated(sapwood.classes) == {"Log": 2}
    assert (other.name, other.lengths, repeated(other.modules)) == ("sapwood-x", [1], {})
    assert "12 lines    3 files" in sapwood.line()
    assert "names used more than once   2" in sapwood.line()
