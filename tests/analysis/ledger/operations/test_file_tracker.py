"""The final state of each file after all operations."""

from sapwood.analysis.ledger.entries import FileTouched, TouchedFiles
from sapwood.analysis.ledger.operations.file_tracker import FileTracker
from sapwood.analysis.ledger.operations.operation import (
    ChangesCommitted,
    FileDeleted,
    FileEdited,
    FileMoved,
    FileRead,
    FileRestored,
    FileWritten,
    Operation,
)


def files(*operations: Operation) -> TouchedFiles:
    tracker = FileTracker("/srv/shop")
    for operation in operations:
        tracker.add(operation)
    return tracker.files()


def test_created_and_then_changed_is_created_with_its_lines() -> None:
    made = FileWritten("/srv/shop/a.py", "one\ntwo\n", False)
    assert files(made, FileEdited("a.py", (("two", "two\nthree"),))) == TouchedFiles(
        created=(FileTouched("a.py", 3, 0),)
    )


def test_read_and_then_changed_is_both() -> None:
    assert files(FileRead("a.py"), FileEdited("a.py", (("x", "y\nz"),))) == TouchedFiles(
        read=(FileTouched("a.py"),), changed=(FileTouched("a.py", 2, 1),)
    )


def test_a_file_written_over_is_compared_with_what_was_read() -> None:
    assert files(FileRead("a.py", "one\ntwo\n"), FileWritten("a.py", "one\n2\n", True)).changed == (
        FileTouched("a.py", 1, 1),
    )


def test_line_counts_of_the_program_are_used() -> None:
    counted = FileEdited("a.py", (("x", "y"),), added=7, removed=3)
    assert files(counted).changed == (FileTouched("a.py", 7, 3),)
    assert files(FileWritten("b.py", "x", True, added=1, removed=9)).changed == (
        FileTouched("b.py", 1, 9),
    )


def test_created_and_then_deleted_is_nothing() -> None:
    assert files(FileWritten("a.py", "x", False), FileDeleted("a.py")) == TouchedFiles()


def test_a_moved_file_is_deleted_and_created() -> None:
    moved = files(FileEdited("a.py", added=1, removed=0), FileMoved("a.py", "b.py"))
    assert [f.path for f in moved.deleted] == ["a.py"]
    assert [f.path for f in moved.created] == ["b.py"]


def test_a_new_file_that_was_moved_is_listed_once() -> None:
    moved = files(FileWritten("a.py", "x\n", False), FileMoved("a.py", "b.py"))
    assert moved == TouchedFiles(created=(FileTouched("b.py", 1, 0),))


def test_a_deleted_folder_deletes_its_files() -> None:
    gone = files(
        FileWritten("old/a.py", "x", False), FileEdited("old/b.py"), FileDeleted("old", folder=True)
    )
    assert [f.path for f in gone.deleted] == ["old/b.py"]


def test_an_unknown_folder_is_listed_unless_tools_generate_it() -> None:
    assert [f.path for f in files(FileDeleted("legacy", folder=True)).deleted] == ["legacy"]
    assert files(FileDeleted("node_modules", folder=True)).deleted == ()


def test_a_restored_file_is_unchanged() -> None:
    assert files(FileEdited("a.py"), FileRestored("a.py")) == TouchedFiles()
    assert files(FileEdited("a.py"), FileEdited("b.py"), FileRestored("")) == TouchedFiles()


def test_a_committed_change_survives_a_restore() -> None:
    changed = files(
        FileEdited("a.py", added=1, removed=0), ChangesCommitted(), FileRestored("a.py")
    ).changed
    assert [f.path for f in changed] == ["a.py"]


def test_appending_changes_or_creates_a_file() -> None:
    assert [f.path for f in files(FileWritten("a", "x\n", None, True)).changed] == ["a"]
    both = files(FileWritten("a", "x\n", False), FileWritten("a", "y\n", None, True))
    assert both.created == (FileTouched("a", 2, 0),)


def test_paths_outside_stay_absolute() -> None:
    assert [f.path for f in files(FileWritten("/etc/x", "", False)).created] == ["/etc/x"]


def test_scratch_files_are_not_listed() -> None:
    assert files(FileWritten("/tmp/x", "", False)) == TouchedFiles()
