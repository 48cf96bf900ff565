"""What became of each file, from the first act to the last."""

from sapwood.core.ledger.acts.act import (
    Act,
    Committed,
    Deleted,
    Edited,
    Moved,
    Read,
    Restored,
    Wrote,
)
from sapwood.core.ledger.acts.files import FileBook
from sapwood.core.ledger.entries import Files, FileTouched


def files(*acts: Act) -> Files:
    book = FileBook("/srv/shop")
    for act in acts:
        book.enter(act)
    return book.files()


def test_created_and_then_changed_is_created_with_its_lines() -> None:
    made = Wrote("/srv/shop/a.py", "one\ntwo\n", False)
    assert files(made, Edited("a.py", (("two", "two\nthree"),))) == Files(
        created=(FileTouched("a.py", 3, 0),)
    )


def test_read_and_then_changed_is_both() -> None:
    assert files(Read("a.py"), Edited("a.py", (("x", "y\nz"),))) == Files(
        read=(FileTouched("a.py"),), changed=(FileTouched("a.py", 2, 1),)
    )


def test_a_file_written_over_is_compared_with_what_was_read() -> None:
    assert files(Read("a.py", "one\ntwo\n"), Wrote("a.py", "one\n2\n", True)).changed == (
        FileTouched("a.py", 1, 1),
    )


def test_lines_that_a_program_counted_itself_stand() -> None:
    counted = Edited("a.py", (("x", "y"),), added=7, removed=3)
    assert files(counted).changed == (FileTouched("a.py", 7, 3),)
    assert files(Wrote("b.py", "x", True, added=1, removed=9)).changed == (
        FileTouched("b.py", 1, 9),
    )


def test_created_and_then_deleted_is_deleted() -> None:
    assert files(Wrote("a.py", "x", False), Deleted("a.py")) == Files(
        deleted=(FileTouched("a.py"),)
    )


def test_a_moved_file_is_gone_here_and_new_there() -> None:
    moved = files(Edited("a.py", added=1, removed=0), Moved("a.py", "b.py"))
    assert [f.path for f in moved.deleted] == ["a.py"]
    assert [f.path for f in moved.created] == ["b.py"]


def test_a_new_file_that_was_moved_leaves_no_trace() -> None:
    moved = files(Wrote("a.py", "x\n", False), Moved("a.py", "b.py"))
    assert moved == Files(created=(FileTouched("b.py", 1, 0),))


def test_a_deleted_folder_takes_its_files_along() -> None:
    gone = files(Wrote("old/a.py", "x", False), Edited("old/b.py"), Deleted("old", folder=True))
    assert [f.path for f in gone.deleted] == ["old/a.py", "old/b.py"]


def test_a_folder_of_which_nothing_is_known_is_told_unless_it_is_made_by_tools() -> None:
    assert [f.path for f in files(Deleted("legacy", folder=True)).deleted] == ["legacy"]
    assert files(Deleted("node_modules", folder=True)).deleted == ()


def test_a_restored_file_is_as_it_was() -> None:
    assert files(Edited("a.py"), Restored("a.py")) == Files()
    assert files(Edited("a.py"), Edited("b.py"), Restored("")) == Files()


def test_what_was_committed_before_stays_changed() -> None:
    changed = files(Edited("a.py", added=1, removed=0), Committed(), Restored("a.py")).changed
    assert [f.path for f in changed] == ["a.py"]


def test_appending_is_changing_unless_it_makes_the_file() -> None:
    assert [f.path for f in files(Wrote("a", "x\n", None, True)).changed] == ["a"]
    both = files(Wrote("a", "x\n", False), Wrote("a", "y\n", None, True))
    assert both.created == (FileTouched("a", 2, 0),)


def test_paths_outside_stay_absolute() -> None:
    assert [f.path for f in files(Wrote("/tmp/x", "", False)).created] == ["/tmp/x"]
