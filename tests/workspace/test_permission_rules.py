"""The first matching rule decides, for every part of a command line, and cannot be tricked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.workspace.permissions.permission_rules import (
    FileAction,
    OtherAction,
    PermissionRule,
    RuleError,
    ShellAction,
    ToolAction,
    Verdict,
    decide_permission,
    parse_rules,
)

GIT = ["allow shell(git *)"]
COMMANDS = st.text(st.sampled_from("git rm-;&|\n'\"\\$`()<>*ax="), min_size=1, max_size=20)
PATHS = (
    st.lists(st.text(st.sampled_from("ab.*?[]()\\é "), min_size=1), min_size=1, max_size=3)
    .map("/".join)
    .filter(lambda path: not {".", ".."} & set(path.split("/")))
)
RULES = st.builds(
    PermissionRule,
    st.sampled_from(["allow", "ask", "deny"]),
    st.sampled_from(["*", "shell", "read_file", "write_file", "edit_file", "wood__*"]),
    st.sampled_from(["", "*", "**", "git *", "rm *", "a/**", "*.b", "/**", "/a/*"]),
)
ACTS: st.SearchStrategy[ToolAction] = st.one_of(
    st.builds(ShellAction, st.just("shell"), COMMANDS),
    st.builds(FileAction, st.just("read_file"), PATHS, st.just(True), st.just("read_file")),
    st.builds(FileAction, st.just("edit_file"), PATHS, st.just(False), st.just("write_file")),
    st.builds(OtherAction, st.sampled_from(["wood__saw", "wood__look"]), st.booleans()),
)


def shell(command: str, *rules: str) -> Verdict:
    return decide_permission(ShellAction("shell", command), parse_rules(rules)).verdict


def file(tool: str, path: str, *rules: str) -> Verdict:
    reads = tool not in ("write_file", "edit_file")
    act = FileAction(tool, path, reads, "read_file" if reads else "write_file")
    return decide_permission(act, parse_rules(rules)).verdict


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
    assert shell("git push", *GIT, "deny shell(git push *)") == "allow"
    assert file("read_file", ".env", "deny read_file(.env)", "allow *") == "deny"


@pytest.mark.parametrize("command", ["git", "git status", "git log 2>&1", "git a && git b | git c"])
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
    assert shell("echo $(rm x)", "deny shell(rm *)", "allow shell") == "ask"
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
        ("src", "src/a/b.py", True),
        ("*.md", "docs/a.md", True),
        ("docs/*.md", "docs/a/b.md", False),
        ("*", "a/b", True),
        ("**", "a/b", True),
        ("a.py", "sub/a.py", True),
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


def test_only_a_pattern_that_names_them_fits_folders_from_which_things_are_run() -> None:
    for path in (".git/config", "sub/.git/hooks/x", ".GIT/config", ".sapwood/x"):
        assert file("write_file", path, "allow *", "allow write_file(**)") == "ask"
        assert file("read_file", path) == "allow"
        assert file("write_file", path, "deny *") == "deny"
    assert file("write_file", ".git/config", "allow write_file(.git/config)") == "allow"


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
    with pytest.raises(RuleError, match="is no rule"):
        parse_rules([line])


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
