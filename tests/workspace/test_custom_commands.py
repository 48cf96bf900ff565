"""Custom commands and skills, read from the folders that agent programs use."""

from pathlib import Path

from sapwood.core.settings import Workspace
from sapwood.workspace.custom_commands import (
    CustomCommand,
    custom_commands,
    front_matter,
    prompt_of,
    skill_list,
)


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def found(work: Path, home: Path) -> dict[str, CustomCommand]:
    commands = custom_commands(Workspace(str(work)), {"HOME": str(home)})
    return {each.name: each for each in commands}


def test_commands_and_skills_come_from_the_folders_of_the_programs(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    written(work / ".claude/commands/fix.md", "---\ndescription: Fix it\n---\nFix $1.")
    written(work / ".claude/commands/web/page.md", "Make a page.")
    written(work / ".claude/skills/pdf/SKILL.md", "---\ndescription: Reads PDFs\n---\nUse it so.")
    written(work / ".agents/skills/sql/SKILL.md", "Write SQL.")
    written(home / ".claude/commands/fix.md", "The one at home.")
    written(home / ".codex/prompts/draft.md", "---\nargument-hint: BRANCH\n---\nDraft it.")
    read = found(work, home)
    assert list(read) == ["draft", "fix", "web:page", "pdf", "sql"]
    assert (read["fix"].about, read["fix"].path) == ("Fix it", ".claude/commands/fix.md")
    assert read["draft"].hint == "BRANCH"
    assert read["draft"].path == str(home / ".codex/prompts/draft.md")
    assert read["web:page"].about == "Make a page."
    assert "draft" not in {each.name for each in custom_commands(Workspace(str(work)), None)}


def test_a_link_leads_out_of_the_home_but_not_out_of_a_workspace(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    secret = written(tmp_path / "elsewhere/private.md", "my secret")
    for folder in (work, home):
        (folder / ".claude/commands").mkdir(parents=True)
        (folder / ".claude/commands" / f"{folder.name}.md").symlink_to(secret)
    assert list(found(work, home)) == ["home"]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / ".claude/commands/fix.md", "Fix it.")
    assert found(tmp_path, tmp_path / "none")["fix"].text == "Fix it."
    path.write_text("Fix it well.", encoding="utf-8")
    assert found(tmp_path, tmp_path / "none")["fix"].text == "Fix it well."


def test_models_are_told_of_skills_that_they_may_use(tmp_path: Path) -> None:
    skills = tmp_path / ".claude/skills"
    written(skills / "pdf/SKILL.md", "---\nname: pdf\ndescription: |\n  Reads\n  PDFs\n---\nSo.")
    written(skills / "own/SKILL.md", "---\ndisable-model-invocation: true\n---\nFor people.")
    written(skills / "quiet/SKILL.md", "---\nuser-invocable: false\n---\nFor models.")
    written(tmp_path / ".claude/commands/fix.md", "Fix it.")
    commands = custom_commands(Workspace(str(tmp_path)), None)
    told = skill_list(commands)
    assert "- pdf: Reads PDFs (file: .claude/skills/pdf/SKILL.md)" in told
    assert "quiet" in told
    assert "own" not in told
    assert "fix" not in told
    assert [each.name for each in commands if not each.for_people] == ["quiet"]
    assert skill_list(()) == ""


def test_arguments_are_put_in_once_and_shell_lines_stay_text() -> None:
    text = "Look at !`git status` and $1, not $3. All: $ARGUMENTS"
    command = CustomCommand("look", "command", "", "look.md", text)
    prompt = prompt_of(command, "'$2 x' y")
    assert prompt.startswith("Look at !`git status` and $2 x, not . All: '$2 x' y")
    assert "have not been run" in prompt
    assert command.shell_lines == ("git status",)
    skill = CustomCommand("awk", "skill", "", "skills/awk/SKILL.md", "awk '{print $1}'")
    assert prompt_of(skill, "now").endswith("awk '{print $1}'\n\nArguments: now")


def test_a_text_without_a_closed_front_matter_is_all_text() -> None:
    assert front_matter("---\nno end") == ({}, "---\nno end")
    assert front_matter("text\n---\na: b\n---") == ({}, "text\n---\na: b\n---")
    assert front_matter('---\nname: "a: b"\ntools:\n  - x\n  - y\n---\n\nT') == (
        {"name": "a: b", "tools": "- x - y"},
        "T",
    )
