"""Which folder each space has."""

from pathlib import Path

import pytest

from sapwood.app.space_runners import space_folder
from sapwood.config.config_file import Config
from sapwood.config.space_folders import folder_of, parse_folders, require_separate
from sapwood.core.errors import SapwoodError
from sapwood.workspace.space_folder import SpaceFolder


def test_no_two_spaces_get_the_same_folder_and_none_leaves_the_place() -> None:
    names = ["acme", "Acme", "ACME", "%41cme", "..", ".", "../acme", "a/b", "a%2Fb", "é", "e\u0301"]
    folders = [folder_of({"*": "/srv/{space}"}, name) for name in names]
    assert len({each.lower() for each in folders}) == len(names)
    assert all(Path(each).parent == Path("/srv") and ".." not in each[5:6] for each in folders)
    assert not {"/srv/.", "/srv/.."} & set(folders)


@pytest.mark.parametrize("line", ["*=/srv", "*=any", "*=/srv/{space}/x", "acme", "=x", "acme="])
def test_a_folder_that_several_spaces_would_share_is_refused(line: str) -> None:
    with pytest.raises(SapwoodError):
        parse_folders([line], {})


@pytest.mark.parametrize(
    "lines",
    [
        ["a=/srv/x", "b=/srv/x"],
        ["a=/srv", "b=/srv/x"],
        ["a=/", "b=/srv/x"],
        ["a=/srv", "*=/srv/{space}"],
        ["a=/srv/b", "*=/srv/{space}"],
    ],
)
def test_a_folder_inside_that_of_another_space_is_refused(lines: list[str]) -> None:
    with pytest.raises(SapwoodError, match="inside that of"):
        require_separate(parse_folders(lines, {}))


def test_separate_folders_are_fine() -> None:
    require_separate(parse_folders(["a=/srv/a", "*=/srv/{space}", "me=any"], {"b": "/data/b"}))


def test_a_space_without_a_folder_has_one_only_if_it_is_the_own_one(tmp_path: Path) -> None:
    config = Config(folders={"named": str(tmp_path / "missing"), "me": "any"})
    assert space_folder(config, "local", own=True) is None
    assert space_folder(config, "local", own=False) == SpaceFolder("")
    assert space_folder(config, "me", own=False) is None
    with pytest.raises(SapwoodError, match="does not exist"):
        space_folder(config, "named", own=False)
    every = Config(folders={"*": f"{tmp_path}/{{space}}"})
    assert space_folder(every, "acme", own=True) == SpaceFolder(str(tmp_path / "acme"))
    assert (tmp_path / "acme").stat().st_mode & 0o077 == 0
