"""A benchmark that got worse is noticed; one that got better or varies a little is not."""

from pathlib import Path

from bench.kept_figures import Figure, keep, read_kept, worse


def test_a_figure_that_is_a_fifth_worse_is_named() -> None:
    figures = {"time": Figure(1.2), "share": Figure(0.8, "more"), "bytes": Figure(1.1)}
    found = list(worse(figures, {"time": 1.0, "share": 1.0, "bytes": 1.0}))
    assert [line.partition(":")[0] for line in found] == ["share", "time"]


def test_a_better_figure_is_not_named() -> None:
    figures = {"time": Figure(0.5), "share": Figure(2.0, "more"), "missed": Figure(0.0)}
    assert not list(worse(figures, {"time": 1.0, "share": 1.0, "missed": 0.0}))


def test_a_figure_that_was_zero_is_named_when_it_is_not() -> None:
    assert list(worse({"missed": Figure(1.0)}, {"missed": 0.0}))
    assert list(worse({"share": Figure(0.0, "more")}, {"share": 0.5}))


def test_a_figure_that_is_not_kept_is_named_until_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text('{"other": 3.0}')
    figures = {"time": Figure(1.25)}
    assert list(worse(figures, read_kept(path)))
    keep(figures, path)
    assert read_kept(path) == {"other": 3.0, "time": 1.25}
    assert not list(worse(figures, read_kept(path)))
