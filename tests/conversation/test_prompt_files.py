"""Files that a prompt names after an @, and files that are dropped on a terminal."""

import base64
import os
from pathlib import Path

import pytest

from sapwood.conversation.prompt_files import (
    dropped_files,
    files_named,
    missing_files,
    read_file,
    with_named_files,
)
from sapwood.conversation.script import CommandStep, TextStep, parse
from sapwood.core.errors import SapwoodError
from sapwood.core.file_part import LARGEST_FILE

GIF = b"GIF89a\2\0\1\0"
PDF = b"%PDF-1.7\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with some files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    for name, content in {
        "dot.gif": GIF,
        "my dot.gif": GIF,
        "paper.pdf": PDF,
        "home/shot.png": b"\x89PNG\r\n\x1a\n",
        "notes.md": b"# Notes\none\ntwo key=sk-ant-api03-x\nthree",
        "my notes.md": b"# Notes\none",
        "secret.pem": b"-----BEGIN PRIVATE KEY-----",
        "data.bin": b"\x00\xff\xfe",
    }.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What is @dot.gif?", ("dot.gif",)),
        ("Compare (see @dot.gif) with @paper.pdf.", ("dot.gif", "paper.pdf")),
        ("@dot.gif and @dot.gif again", ("dot.gif",)),
        ('Look: @"my dot.gif"', ("my dot.gif",)),
        ("@~/shot.png", ("~/shot.png",)),
        ("Read @notes.md, @secret.pem, @home and @data.bin", ("notes.md",)),
        ("See @notes.md:2-3, and @home/.", ("notes.md:2-3", "home/")),
        ('@"my notes.md":2 @notes.md:9', ("my notes.md:2",)),
        ("Ask ada@dot.gif or @ada about @missing.png", ()),
        ("@. @/ @ @\x00 @~nobody/x.png", ()),
        (f"@{'x' * 5_000}", ()),
        ("(@dot.gif)", ("dot.gif",)),
    ],
)
def test_files_and_folders_are_named_after_an_at_sign(text: str, named: tuple[str, ...]) -> None:
    assert tuple(each.name for each in files_named(text)) == named


def test_a_pipe_that_nobody_writes_to_is_no_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe.gif")
    assert files_named("@pipe.gif") == ()


def test_each_prompt_has_the_files_that_it_names() -> None:
    script = parse("What is @dot.gif?\n/mark A\nAnd @paper.pdf?")
    assert isinstance(script, tuple)
    first, mark, second = with_named_files(script)
    assert isinstance(first, TextStep)
    assert isinstance(second, TextStep)
    assert isinstance(mark, CommandStep)
    assert [(each.name, each.media_type) for each in first.files] == [("dot.gif", "image/gif")]
    assert [each.media_type for each in second.files] == ["application/pdf"]
    assert first.text == "What is @dot.gif?"


def test_texts_are_read_at_send_without_their_secrets(folder: Path) -> None:
    script = parse("Read @notes.md:2-3 in @home/ please")
    assert isinstance(script, tuple)
    (folder / "notes.md").write_text("# Notes\nlate\nkey\nthree")
    [step] = with_named_files(script, str(folder), lambda text: text.replace("key", "***"))
    assert isinstance(step, TextStep)
    lines, listed = step.files
    assert (lines.name, lines.words) == ("notes.md:2-3", "late\n***\n")
    assert (listed.name, listed.words) == ("home/", "shot.png")


def test_the_goal_of_a_fork_has_no_files() -> None:
    script = parse("What is @dot.gif?\n/fork")
    assert isinstance(script, tuple)
    assert with_named_files(script) == script


def test_a_file_that_is_too_large_is_refused(folder: Path) -> None:
    with (folder / "dot.gif").open("r+b") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(SapwoodError, match="too large"):
        read_file("dot.gif")


@pytest.mark.parametrize(
    ("pasted", "written"),
    [
        ("dot.gif", "@dot.gif "),
        ("'{here}/my dot.gif'", '@"{here}/my dot.gif" '),
        ("{here}/my\\ dot.gif ", '@"{here}/my dot.gif" '),
        ("file://{here}/my%20dot.gif", '@"{here}/my dot.gif" '),
        ("dot.gif\npaper.pdf", "@dot.gif @paper.pdf "),
        ("dot.gif notes.md", ""),
        ("notes.md", ""),
        ("What is dot.gif?", ""),
        ("it's", ""),
        (" \n", ""),
        ("dot.gif " * 2_000, ""),
    ],
)
def test_a_dropped_file_is_written_as_a_name(folder: Path, pasted: str, written: str) -> None:
    assert dropped_files(pasted.replace("{here}", str(folder))) == written.replace(
        "{here}", str(folder)
    )


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Read @nofile.txt, please", ("nofile.txt",)),
        ("@docs/none @nofile.txt:2-3.", ("docs/none", "nofile.txt")),
        ('@"no file.txt"', ("no file.txt",)),
        ("@notes.md @secret.pem @home/ @home/shot.png", ()),
        ("@ada, @lead/3, ada@nofile.txt or @...", ()),
        ("/fork @nofile.txt", ()),
        ("@a\x00.txt", ("a\x00.txt",)),
    ],
)
def test_names_of_files_that_do_not_exist_are_found(text: str, missing: tuple[str, ...]) -> None:
    script = parse(text)
    assert isinstance(script, tuple)
    assert missing_files(script) == missing


@pytest.mark.parametrize("name", ["notes.md", "./notes.md", "photo.png", "docs/", "docs/a.md"])
def test_a_name_that_a_link_leads_out_of_the_folder_sends_nothing(
    tmp_path: Path, name: str
) -> None:
    """A command may have made the link, and the user would not see what is sent."""
    folder, outside = tmp_path / "work", tmp_path / "diary"
    folder.mkdir()
    outside.mkdir()
    (outside / "a.md").write_text("secret diary")
    (outside / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n secret")
    (folder / "notes.md").symlink_to(outside / "a.md")
    (folder / "photo.png").symlink_to(outside / "b.png")
    (folder / "docs").symlink_to(outside)
    script = parse(f"Read @{name}")
    assert isinstance(script, tuple)
    with pytest.raises(SapwoodError, match=f"leads to {outside}.* outside of this folder. Nothing"):
        with_named_files(script, str(folder))


def test_a_name_outside_the_folder_and_a_link_within_it_are_sent(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "a.md").write_text("diary")
    (folder / "b.md").write_text("notes")
    (folder / "c.md").symlink_to("b.md")
    for name, text in ((f"{tmp_path}/a.md", "diary"), ("../a.md", "diary"), ("c.md", "notes")):
        script = parse(f"Read @{name}")
        assert isinstance(script, tuple)
        [step] = with_named_files(script, str(folder))
        assert isinstance(step, TextStep)
        assert [base64.b64decode(file.data).decode() for file in step.files] == [text]
