"""What git prints settles which files a session created, changed, deleted and renamed."""

import json

from sapwood.analysis.ledger.ledger_builder import ledger_of
from tests.analysis.sessions import ToolRun, asked, session

Net = tuple[list[str], list[str], list[str]]


def net(*runs: tuple[str, str]) -> Net:
    """Returns the files created, changed and deleted by commands with these outputs."""
    done = [ToolRun("Bash", json.dumps({"command": command}), output) for command, output in runs]
    files = ledger_of(session(asked("Do it.", *done))).files
    return (
        [f.path for f in files.created],
        [f.path for f in files.changed],
        [f.path for f in files.deleted],
    )


WRITE = ("cat > a.py <<'E'\nx\nE", "")


def test_a_status_lists_what_other_programs_changed() -> None:
    status = " M package.json\n M src/gen.ts\n?? a.py"
    assert net(WRITE, ("npx generate", ""), ("git status --short", status)) == (
        ["a.py"],
        ["package.json", "src/gen.ts"],
        [],
    )


def test_a_status_at_the_beginning_is_how_things_were() -> None:
    early = ("git status --short", " M old.py\n?? notes.txt")
    assert net(early, WRITE, ("git status --short", " M old.py\n?? a.py\n?? notes.txt")) == (
        ["a.py"],
        [],
        [],
    )


def test_the_long_status_and_a_commit_are_read_too() -> None:
    long = "Changes not staged for commit:\n\tmodified:   b.py\n\tdeleted:    c.py\n"
    assert net(WRITE, ("git status", long)) == (["a.py"], ["b.py"], ["c.py"])
    commit = "[main 1a2b3c4] Move\n 2 files changed\n rename lib/{x.py => y.py} (98%)\n"
    assert net(WRITE, ("git commit -m Move", f"{commit} create mode 100644 d.py")) == (
        ["a.py", "lib/y.py", "d.py"],
        [],
        ["lib/x.py"],
    )


def test_the_commit_of_somebody_else_changes_nothing() -> None:
    shown = " README.md | 4 ++--\n 1 file changed"
    assert net(WRITE, ("git show --stat HEAD", shown)) == (["a.py"], [], [])
    assert net(WRITE, ("git commit -qam x && git show --stat HEAD", shown))[1] == ["README.md"]
    assert net(WRITE, ("git diff --stat main...feature", shown)) == (["a.py"], [], [])


def test_what_was_made_and_removed_again_is_nothing() -> None:
    assert net(
        ("terraform plan -out=p.tfplan", ""),
        WRITE,
        ("git status -s", "?? p.tfplan\n?? a.py"),
        ("rm p.tfplan a.py", ""),
    ) == ([], [], [])
    assert net(("mkdir -p fonts && cp ../x.ttf fonts/", ""), ("rm -r fonts", "")) == ([], [], [])


def test_a_moved_folder_is_named_by_its_files_only() -> None:
    move = ("git mv samples tests/samples", "")
    assert net(move) == ([], [], [])
    rows = "R  samples/a.mrc -> tests/samples/a.mrc"
    assert net(WRITE, move, ("git status --short", rows)) == (
        ["a.py", "tests/samples/a.mrc"],
        [],
        ["samples/a.mrc"],
    )


def test_a_reverted_commit_leaves_what_was_before() -> None:
    edit = ("sed -i s/1/2/ v.yaml", "")
    other = ("sed -i s/1/2/ w.yaml", "")
    commit = ("git commit -qm x -- v.yaml", "")
    assert net(other, edit, commit, ("git revert --no-edit HEAD", "")) == ([], ["w.yaml"], [])


def test_a_file_with_its_first_content_again_is_not_changed() -> None:
    def edited(old: str, new: str) -> ToolRun:
        args = {"file_path": "/srv/shop/v.yaml", "old_string": old, "new_string": new}
        return ToolRun("Edit", json.dumps(args), "The file has been updated.")

    read = ToolRun("Read", '{"file_path": "/srv/shop/v.yaml"}', "     1\treplicas: 4\n")
    turn = asked("Scale.", read, edited("4", "12"), edited("12", "4"))
    assert ledger_of(session(turn)).files.changed == ()
    unknown = asked("Scale.", read, edited("what was not read", "something else"))
    assert [f.path for f in ledger_of(session(unknown)).files.changed] == ["v.yaml"]


def test_adding_a_package_changes_manifest_and_lock() -> None:
    assert net(("npm install left-pad", ""))[1] == ["package.json", "package-lock.json"]
    assert net(("npm install", ""), ("npm i -g x", ""), ("pip install x", "")) == ([], [], [])
