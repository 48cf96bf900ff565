"""The first matching rule decides, for every part of a command line, and cannot be tricked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.settings import PermissionMode
from sapwood.workspace.permissions.permission_decision import (
    FileAction,
    OtherAction,
    ShellAction,
    ToolAction,
    decide_permission,
    prefix_rule,
)
from sapwood.workspace.permissions.permission_rules import (
    PermissionRule,
    RuleError,
    Verdict,
    parse_rules,
)

GIT = ["allow shell(git *)"]
NO_PREFIX = (
    *("git log", "git diff", "git show", "git grep", "git config", "perl", "tee", "flock", "sed"),
    *("unshare", "script", "awk", "find", "xargs", "env", "python3", "node", "make", "tar", "npm"),
    *("rsync", "ssh", "npm run", "cargo build", "pytest", "rg", "sort", "some-program"),
)
COMMANDS = st.text(st.sampled_from("git rm-;&|\n'\"\\$`()<>*ax="), min_size=1, max_size=20)
PATHS = (
    st.lists(st.text(st.sampled_from("ab.*?[]()\\é "), min_size=1), min_size=1, max_size=3)
    .map("/".join)
    .filter(lambda path: not {".", ".."} & set(path.split("/")))
)
PATTERNS = st.sampled_from(["", "*", "**", "git *", "rm *", "a/**", "*.b", "/**", "/a/*"])
VERDICTS: st.SearchStrategy[Verdict] = st.sampled_from(["allow", "ask", "deny"])
RULES = st.one_of(
    st.builds(
        PermissionRule,
        VERDICTS,
        st.sampled_from(["*", "shell", "read_file", "write_file", "edit_file", "wood__*"]),
        PATTERNS,
    ),
    st.builds(
        PermissionRule, VERDICTS, st.just("shell"), PATTERNS, st.sampled_from(["", "a", "a/**"])
    ),
)
ACTS: st.SearchStrategy[ToolAction] = st.one_of(
    st.builds(ShellAction, st.just("shell"), COMMANDS, st.sampled_from([".", "a", "a/b", "[x]"])),
    st.builds(FileAction, st.just("read_file"), PATHS, st.just(True), st.just("read_file")),
    st.builds(FileAction, st.just("edit_file"), PATHS, st.just(False), st.just("write_file")),
    st.builds(OtherAction, st.sampled_from(["wood__saw", "wood__look"]), st.booleans()),
)


def shell(command: str, *rules: str, folder: str = ".", mode: PermissionMode = "ask") -> Verdict:
    act = ShellAction("shell", command, folder)
    return decide_permission(act, parse_rules(rules), mode=mode).verdict


def file(
    tool: str, path: str, *rules: str, guard: str = "", mode: PermissionMode = "ask"
) -> Verdict:
    reads = tool not in ("write_file", "edit_file")
    act = FileAction(tool, path, reads, "read_file" if reads else "write_file", guard)
    return decide_permission(act, parse_rules(rules), mode=mode).verdict


def test_without_rules_reading_is_allowed_and_all_else_is_asked_for() -> None:
    assert file("read_file", "a") == "allow"
    assert file("list_files", ".") == "allow"
    assert file("search_files", "src") == "allow"
    assert file("write_file", "a") == "ask"
    assert file("edit_file", "a") == "ask"
    assert shell("ls") == "ask"
    assert decide_permission(OtherAction("wood__saw"), ()).verdict == "ask"
    assert decide_permission(OtherAction("wood__look", reads=True), ()).verdict == "allow"
    assert file("read_file", "/etc/passwd") == "deny"


def test_the_first_rule_that_fits_decides() -> None:
    assert shell("git push", "deny shell(git push *)", *GIT) == "deny"
    assert shell("git status", *GIT, "deny shell(git status *)") == "allow"
    assert file("read_file", ".env", "deny read_file(.env)", "allow *") == "deny"


@pytest.mark.parametrize(
    "command", ["git", "git status", "git log 2>&1", "git add a && git log -1 | git status"]
)
def test_a_pattern_allows_what_it_says(command: str) -> None:
    assert shell(command, *GIT) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "git a; rm b",
        "git a && rm b",
        "git a | sh",
        "git a & rm b",
        "git a\nrm b",
        "git $(rm b)",
        "git `rm b`",
        "git a > b",
        "git a >> b",
        "git <(rm b)",
        "gitx",
        "x git",
        "GIT=1 rm",
        "'git a'",
        'git "$(rm b)"',
        "git a || rm b",
        "git a |& sh",
        "(git a; rm b)",
        "git a <<E\nE\nrm",
        "git {a,b}",
        "git a;rm b",
        "git a&&rm b",
        "git a\\\n; rm b",
        "git 'a' \"b\"; rm c",
        "GIT status",
    ],
)
def test_nothing_joined_to_an_allowed_command_slips_through(command: str) -> None:
    assert shell(command, *GIT) == "ask"


def test_every_part_of_a_command_must_be_allowed() -> None:
    rules = ("allow shell(git *)", "allow shell(make test)")
    assert shell("git pull && make test", *rules) == "allow"
    assert shell("git pull && make test all", *rules) == "ask"
    assert shell("git pull && rm x", *rules, "deny shell(rm *)") == "deny"


def test_what_cannot_be_told_is_asked_for_if_a_rule_might_forbid_it() -> None:
    assert shell("echo $(rm x)", "deny shell(rm *)", "allow shell") == "deny"
    assert shell("echo $(ls)", "deny shell(rm *)", "allow shell") == "allow"
    assert shell("make $(cat a)", "deny shell(rm *)", "allow shell") == "ask"
    assert shell("f() { ls; }; f", "deny shell(rm *)", "allow shell") == "ask"
    assert shell("cat $(ls)", "deny shell(cat .env)", "allow shell") == "ask"
    assert shell("rm $(ls)", "deny shell(rm *)", "allow shell") == "deny"
    assert shell("git $(cat a) x", "deny shell(git push *)", "allow shell") == "ask"
    assert shell("a=pu; git ${a}sh", "deny shell(git push *)", "allow shell") == "deny"
    assert shell("echo $(rm x)", "ask shell(rm *)", "allow shell") == "ask"
    assert shell("echo $(rm x)", "allow shell(echo *)") == "ask"
    assert shell("echo $(rm x)", "allow shell") == "allow"
    assert shell("echo $(rm x)", "allow *") == "allow"
    assert shell("echo $(rm x)", "deny shell", "allow *") == "deny"
    assert shell("echo $(rm x)", "allow shell(*)") == "allow"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "src", True),
        ("src/**", "lib/src/a.py", False),
        ("src/", "src/a/b.py", True),
        ("src", "src", True),
        ("src", "src/a/b.py", False),
        ("*.md", "a.md", True),
        ("*.md", "docs/a.md", False),
        ("**/*.md", "docs/a.md", True),
        ("settings.json", "settings.json", True),
        ("settings.json", ".claude/settings.json", False),
        ("docs/*.md", "docs/a/b.md", False),
        ("*", "a/b", True),
        ("**", "a/b", True),
        ("a.py", "sub/a.py", False),
        ("/etc/**", "/etc/passwd", True),
        ("/etc/**", "etc/passwd", False),
        ("**", "/etc/passwd", False),
        ("*", "/etc/passwd", False),
    ],
)
def test_a_path_pattern_fits(pattern: str, path: str, fits: bool) -> None:
    expected = "allow" if fits else "deny" if path.startswith("/") else "ask"
    assert file("write_file", path, f"allow write_file({pattern})") == expected


def test_who_may_write_a_file_may_edit_it_and_not_the_reverse() -> None:
    assert file("edit_file", "a", "allow write_file") == "allow"
    assert file("write_file", "a", "allow edit_file") == "ask"
    assert file("search_files", ".env", "deny read_file(.env)") == "deny"


def test_only_a_rule_for_exactly_that_path_allows_a_guarded_file() -> None:
    wide = ("allow *", "allow write_file(**)", "allow write_file(.git/**)", "allow write_file(.g*)")
    for rule in wide:
        assert file("write_file", ".git/config", rule, guard="guarded", mode="all") == "ask"
        assert file("read_file", ".ssh/id_rsa", rule, guard="guarded", mode="all") == "ask"
    assert file("write_file", ".git/config", "deny *", guard="guarded") == "deny"
    exact = "allow write_file(.git/config)"
    assert file("write_file", ".git/config", exact, guard="guarded") == "allow"
    assert file("write_file", ".git/hooks/x", "allow write_file(.git/)", guard="guarded") == "ask"


def test_a_rule_for_a_command_holds_in_the_folder_that_it_names() -> None:
    assert shell("make test", "allow shell(make test)") == "allow"
    assert shell("make test", "allow shell(make test)", folder="node_modules/evil") == "ask"
    assert shell("make test", "allow shell(make *)", folder="docs") == "ask"
    assert shell("make test", "allow shell(make test) in docs", folder="docs") == "allow"
    assert shell("make test", "allow shell(make test) in docs", folder="docs/old") == "ask"
    assert shell("make test", "allow shell(make test) in docs/**", folder="docs/old") == "allow"
    assert shell("make test", "allow shell(make test) in docs") == "ask"
    assert shell("make test", "allow shell(make test) in **", folder="a/b") == "allow"
    assert shell("make test", "allow shell", folder="a/b") == "allow"
    assert shell("git push", "deny shell(git push)", "allow shell", folder="a/b") == "deny"


def test_changing_the_folder_on_the_line_counts_as_well() -> None:
    rules = ("allow shell(cd *)", "allow shell(make test)", "allow shell(ls) in docs")
    assert shell("cd node_modules/evil && make test", *rules) == "ask"
    assert shell("cd docs && ls", *rules) == "allow"
    assert shell("cd docs && cd .. && ls", *rules) == "ask"
    assert shell("cd docs; ls", *rules) == "ask"
    assert shell("cd docs || make test", *rules) == "ask"
    assert shell("cd /etc && make test", *rules) == "ask"
    assert shell("pushd docs && ls", *rules, "allow shell(pushd *)") == "ask"
    assert shell("builtin cd docs && make test", *rules, "allow shell(builtin *)") == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git -C . push",
        "git -c x=y push origin main",
        "git --git-dir=.git push",
        "git --no-pager -C a -c b=c push -f",
        "/usr/bin/git push",
        "./git push",
        "env git push",
        "env -i X=1 git push",
        "command git push",
        "X=1 git push",
        "X=1 Y='a b' /usr/bin/git -C . push",
        "timeout 5 git push",
        "sudo -u me git push",
        "nohup git push &",
        "sh -c 'git push'",
        "bash -lc 'cd a && git push'",
        "echo $(git push)",
        "(git push)",
        "if true; then git push; fi || git push",
        "git -c alias.p=push p",
        "git -c 'alias.p=!git push' p",
        "GIT PUSH",
        "\\git push",
        "'git' \"push\"",
        "eval git push",
        "ls | xargs git push",
    ],
)
def test_a_denied_command_is_denied_in_other_clothes(command: str) -> None:
    assert shell(command, "deny shell(git push *)", "allow shell", "allow *") == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "git -C push status",
        "make push git",
        "tool --run='git push'",
        "echo push git | tool",
        "cat <<'E' | tool\ngit push\nE",
        "echo push git > a",
        "find . -name 'git push' -fprint a",
    ],
)
def test_a_command_that_contains_the_denied_words_asks(command: str) -> None:
    assert shell(command, "deny shell(git push *)", "allow shell") == "ask"


@pytest.mark.parametrize(
    "command", ["git log", "echo push", "npm run format", "python3 tools/push.py", "bash a.sh"]
)
def test_a_command_without_the_denied_words_is_allowed(command: str) -> None:
    assert shell(command, "deny shell(git push *)", "deny shell(rm *)", "allow shell") == "allow"


@pytest.mark.parametrize(
    "command", ["git log push", "echo push git", "grep 'git push' a | head", "cat <<E\ngit push\nE"]
)
def test_the_denied_words_are_data_in_a_line_that_only_reads(command: str) -> None:
    assert shell(command, "deny shell(git push *)", "allow shell") == "allow"


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("git log *", "git log --oneline -3 main..x -- src", "allow"),
        ("git log *", "git log --output=a", "ask"),
        ("git log *", "git log --outp=a", "ask"),
        ("git log --output=*", "git log --output=a", "allow"),
        ("git *", "git commit -m 'Move /etc/hosts and ~/.ssh'", "allow"),
        ("git *", "git push", "ask"),
        ("git push *", "git push origin main", "allow"),
        ("git push *", "git push --force origin main", "ask"),
        ("cat *", "cat src/a.py", "allow"),
        ("cat *", "cat /etc/passwd", "ask"),
        ("cat *", "cat ../a", "ask"),
        ("cat *", "cat .env", "ask"),
        ("cat /etc/*", "cat /etc/passwd", "allow"),
        ("cat /etc/*", "cat /etc/../root/a", "ask"),
        ("grep *", "grep -rn /api/v1 src", "allow"),
        ("rg *", "rg --pre ./a x", "ask"),
        ("find *", "find . -name '*.py' -type f", "allow"),
        ("find *", "find . -delete", "ask"),
        ("sort *", "sort *", "ask"),
        ("ls *", "ls *", "allow"),
        ("sed *", "sed -n '1,20p;/a/d' a", "allow"),
        ("sed *", "sed -n 'w a' a", "ask"),
        ("python3 *", "python3 tools/a.py --fast", "allow"),
        ("python3 *", "python3 -c 'import os'", "ask"),
        ("python3 -c *", "python3 -c 'print()'", "allow"),
        ("make *", "make test -j4", "allow"),
        ("make *", "make SHELL=/tmp/a", "ask"),
        ("cp *", "cp a .github/workflows/a.yml", "ask"),
        ("curl *", "curl -s https://example.org", "ask"),
        ("./run *", "./run --fast tests/a", "allow"),
        ("./run *", "./run --exec=a", "ask"),
        ("git log", "CI=1 git log", "allow"),
        ("git log", "GIT_PAGER=a git log", "ask"),
        ("git log *", 'git log --author="$(git log -1 --format=%an)"', "allow"),
        ("git log *", "git log --author=$(git log -1 --format=%an)", "ask"),
        ("git log *", 'for c in $(git log --format=%h); do git log "$c"; done', "allow"),
        ("git log *", 'for c in $(git log --format=%s); do git log "$c"; done', "ask"),
        ("cat *", 'cat "$(cat a)"', "ask"),
        ("cat *", "for f in a/*.py; do cat $f; done", "allow"),
        ("cat *", "for f in a .env; do cat $f; done", "ask"),
        ("cat *", "d=/etc; cat $d/passwd", "ask"),
        ("cat *", "false && d=a; cat $d/etc/passwd", "ask"),
        ("cat *", "cat a > build/b.txt", "allow"),
        ("cat *", "cat a > b.py", "ask"),
        ("cat *", "cat a > build/../b.log", "ask"),
        ("cat *", "{ cat a; } > .envrc", "ask"),
        ("cat *", "cat a; [ -f b ] && cat b", "allow"),
        ("cat *", "cat a; [ -v 'a[$(ls)]' ]", "ask"),
        ("cat *", "cat a | while read -r x; do [[ $x -eq 1 ]] && cat a; done", "ask"),
        ("cat *", "cat a; set -a", "ask"),
        ("cat *", "cat a; exit 1", "allow"),
        ("cat *", "cd a && cat b", "ask"),
        ("find *", "find . -exec find a {} +", "allow"),
        ("find *", "find . -exec rm {} +", "ask"),
        ("find *", "find . -exec env + rm {} \\;", "ask"),
        ("printf *", "printf -v 'a[$(ls)]' x", "ask"),
        ("printf *", "printf '%s' a", "allow"),
        ("cut *", "cut -d: -f1 /etc/passwd", "ask"),
        ("cut *", "cut -d/ -f1 a", "allow"),
        ("grep *", "grep -ex /etc/passwd", "ask"),
        ("rg *", "rg --files /etc", "ask"),
        ("sed *", "sed -n '/<a>/,/<\\/a>/p' b", "allow"),
        ("sed *", 'sed "s/a/$(cat b)/" c', "ask"),
        ("python3 *", "python3 <<< 'print()'", "ask"),
        ("make *", "make V=1 test", "allow"),
        ("diff *", "diff <(diff a b) c", "allow"),
        ("diff *", "diff <(rm a) c", "ask"),
    ],
)
def test_a_star_stands_for_data(pattern: str, command: str, expected: Verdict) -> None:
    assert shell(command, f"allow shell({pattern})") == expected


def test_an_unclear_line_is_allowed_by_a_rule_for_exactly_that_line() -> None:
    line = "echo $(ls) > a"
    remedy = decide_permission(ShellAction("shell", line), ()).remedy
    assert [str(rule) for rule in remedy] == ["allow shell(echo $(ls) > a)"]
    assert shell(line, "allow shell(echo $(ls) > a)") == "allow"
    assert shell(line, "allow shell(echo $(ls) > a)", folder="docs") == "ask"
    assert shell("echo $(ls) > b", "allow shell(echo $(ls) > a)") == "ask"
    assert shell(line, "allow shell(echo *)") == "ask"


def test_a_line_whose_folder_is_unsure_is_allowed_as_a_whole() -> None:
    act = ShellAction("shell", "cd docs; ls", "src")
    remedy = decide_permission(act, ()).remedy
    assert [str(rule) for rule in remedy] == ["allow shell(cd docs; ls) in src"]
    assert decide_permission(act, (), remedy).verdict == "allow"


@pytest.mark.parametrize(
    ("mode", "edit", "run", "read"),
    [
        ("ask", "ask", "ask", "allow"),
        ("accept-edits", "allow", "ask", "allow"),
        ("plan", "deny", "deny", "allow"),
        ("read-only", "deny", "deny", "allow"),
        ("all", "allow", "allow", "allow"),
    ],
)
def test_the_mode_decides_where_no_rule_does(
    mode: PermissionMode, edit: Verdict, run: Verdict, read: Verdict
) -> None:
    assert file("edit_file", "a", mode=mode) == edit
    assert shell("make", mode=mode) == run
    assert shell("echo $(ls)", mode=mode) == run
    assert file("read_file", "a", mode=mode) == read
    assert file("write_file", "/etc/passwd", mode=mode) == "deny"
    assert shell("git push", "deny shell(git push *)", mode=mode) == "deny"
    assert file("write_file", ".git/config", guard="guarded", mode=mode) in ("ask", "deny")


def test_read_only_is_stronger_than_a_rule() -> None:
    assert file("write_file", "a", "allow *", mode="read-only") == "deny"
    assert shell("ls", "allow *", mode="read-only") == "deny"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("ls -l", "allow shell(ls *)"),
        ("git status -s", "allow shell(git status *)"),
        *((f"{command} a", None) for command in NO_PREFIX),
        ("bash a.sh", None),
        ("env python3 a.py", None),
        ("rm -r a", None),
        ("python3 a.py && ls b", None),
        ("python3 $(a)", None),
        ("git -c a=b log", None),
        ("'a b' c", None),
    ],
)
def test_a_prefix_is_offered_for_one_plain_command(command: str, rule: str | None) -> None:
    offered = prefix_rule(ShellAction("shell", command))
    assert (str(offered) if offered else None) == rule


def test_what_is_forbidden_is_so_in_capitals_too() -> None:
    assert file("read_file", ".ENV", "deny read_file(.env)") == "deny"
    assert file("write_file", "SRC/a", "allow write_file(src/**)") == "ask"


def test_tools_of_servers_are_named_with_stars() -> None:
    rules = parse_rules(["deny wood__burn", "allow wood__*"])
    assert decide_permission(OtherAction("wood__burn", reads=True), rules).verdict == "deny"
    assert decide_permission(OtherAction("wood__saw"), rules).verdict == "allow"
    assert decide_permission(OtherAction("stone__cut"), rules).verdict == "ask"


@pytest.mark.parametrize(
    "line", ["", "allow", "permit shell", "allow shell(", "allow (x)", "shell"]
)
def test_what_is_no_rule_is_told(line: str) -> None:
    with pytest.raises(RuleError, match="is not a valid"):
        parse_rules([line])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("allow shel(ls)", "There is no tool shel. Did you mean shell?"),
        ("allow edit(a)", "There is no tool edit. "),
        ("alow shell(ls)", "Did you mean allow?"),
        ("deny wirte_file", "Did you mean write_file?"),
        ("allow write_file(a) in docs", "Only rules for shell can name a folder."),
    ],
)
def test_a_misspelt_rule_is_refused_with_the_nearest_word(line: str, told: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_rules([line])
    assert told in str(caught.value)


@given(RULES)
def test_a_rule_reads_as_it_is_written(rule: PermissionRule) -> None:
    assert parse_rules([str(rule)]) == (rule,)


@given(ACTS, st.lists(RULES, max_size=4).map(tuple))
def test_the_remedy_that_is_offered_allows_the_act_and_can_be_written_down(
    act: ToolAction, rules: tuple[PermissionRule, ...]
) -> None:
    decision = decide_permission(act, rules)
    if decision.verdict != "allow" and decision.remedy:
        remedy = parse_rules(str(rule) for rule in decision.remedy)
        assert remedy == decision.remedy
        if decision.verdict == "ask":
            assert decide_permission(act, rules, granted=remedy).verdict == "allow"


@given(ACTS, st.lists(RULES, max_size=4).map(tuple), st.lists(RULES, max_size=3).map(tuple))
def test_an_answer_never_allows_what_is_denied(
    act: ToolAction, rules: tuple[PermissionRule, ...], granted: tuple[PermissionRule, ...]
) -> None:
    allowing = tuple(rule for rule in granted if rule.verdict == "allow")
    before, after = (
        decide_permission(act, rules).verdict,
        decide_permission(act, rules, allowing).verdict,
    )
    outside = isinstance(act, FileAction) and act.is_outside
    assert after == before or (before == "ask" and after == "allow") or outside


@given(ACTS, st.lists(RULES, max_size=4).map(tuple))
def test_a_first_rule_that_denies_everything_does(
    act: ToolAction, rules: tuple[PermissionRule, ...]
) -> None:
    assert decide_permission(act, (PermissionRule("deny", "*"), *rules)).verdict == "deny"


@given(COMMANDS, COMMANDS)
def test_joining_commands_is_never_more_than_each(one: str, two: str) -> None:
    rules = parse_rules(["deny shell(rm *)", "allow shell(git *)"])
    joined = decide_permission(ShellAction("shell", f"{one}\n{two}"), rules).verdict
    if joined == "allow":
        each = {decide_permission(ShellAction("shell", part), rules).verdict for part in (one, two)}
        assert each == {"allow"} or not one.strip() or not two.strip() or has_open_end(one)


def has_open_end(command: str) -> bool:
    """A quote or a backslash at its end swallows the new line."""
    return command.endswith(("\\", "&", "|")) or "'" in command or '"' in command


@pytest.mark.parametrize(
    "line",
    [
        *("git checkout .", "git checkout ./", "git checkout :/", "git checkout ':(top)'"),
        *("git checkout HEAD -- ./", "git checkout HEAD .", "git checkout main src/app.py"),
        *("git checkout '*'", "git checkout *", "git checkout src/", "git checkout 'sr?'"),
        *("git checkout ./src", "git checkout .github", "git checkout -- src/app.py"),
        *("git checkout -- app", "git checkout src//", "git checkout 'sr\\c'", "git checkout ''"),
        *("git checkout --theirs app", "git checkout --ours -- app", "git checkout a b"),
        *("git checkout HEAD -- ./ -b", "git checkout -f main", "git checkout -p"),
        *("git checkout $(git ls-files -m)", "git --no-pager checkout ./"),
        *("git restore .", "git restore app", "git restore --staged --worktree app"),
        *(
            "git restore -SW app",
            "git reset --hard",
            "git reset --keep HEAD~1",
            "git reset --merge",
        ),
        *("git clean -f", "git clean -fdx", "git stash drop", "git stash clear"),
        *("git switch -f main", "git switch --discard-changes main", "git switch -C main"),
    ],
)
def test_a_star_does_not_discard_work_that_is_not_committed(line: str) -> None:
    assert shell(line, *GIT) == "ask"


@pytest.mark.parametrize(
    "line",
    [
        *("git checkout main", "git checkout feature/x", "git checkout v1.2.3", "git checkout -"),
        *("git checkout HEAD~1", "git checkout main^", "git checkout -q 5f0c8a7", "git checkout"),
        *("git checkout -b fix/y", "git checkout -b fix/y origin/main", "git checkout -qb x main"),
        *("git checkout --track origin/x", "git checkout --detach HEAD~2", "git checkout main --"),
        *("git checkout $(git merge-base HEAD main)", "git switch main", "git switch -c x"),
        *("git reset HEAD~1", "git restore --staged app", "git stash", "git stash pop"),
    ],
)
def test_a_star_changes_branches(line: str) -> None:
    assert shell(line, *GIT) == "allow"


def test_a_rule_that_names_the_files_of_a_checkout_allows_it() -> None:
    assert shell("git checkout -- src/app.py", "allow shell(git checkout -- src/*)") == "allow"
    assert shell("git checkout .", "allow shell(git checkout .)") == "allow"
    assert shell("git checkout ./", "allow shell(git checkout *)") == "ask"
