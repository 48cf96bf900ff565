"""Attacks on the sandbox of commands: leaving it, or planting what runs outside it later."""

import os
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from proofs.attack.escape_world import Escape, EscapeWorld, other_user
from proofs.attack.registry import attack, held
from proofs.attack.victim import Victim, script

_KEY = "cat {home}/.ssh/id_ed25519; echo KEY >> {home}/.ssh/authorized_keys"


def _without_git(world: EscapeWorld) -> None:
    shutil.rmtree(world.project / ".git")


def _linked(target: str) -> Callable[[EscapeWorld], None]:
    def prepare(world: EscapeWorld) -> None:
        _without_git(world)
        (world.project / ".git").symlink_to(world.home / target)

    return prepare


def _other_without_hooks(world: EscapeWorld) -> None:
    shutil.rmtree(world.home / "other" / ".git" / "hooks", ignore_errors=True)


def _forged_worktree(world: EscapeWorld) -> None:
    _without_git(world)
    _other_without_hooks(world)
    forged = world.project / "ev"
    world.put("project/.git", f"gitdir: {forged}\n")
    world.put("project/ev/gitdir", f"{world.project}/.git\n")
    world.put("project/ev/commondir", f"{world.home}/other/.git\n")


def _without_hooks(world: EscapeWorld) -> None:
    shutil.rmtree(world.project / ".git" / "hooks", ignore_errors=True)


def _linked_hooks(world: EscapeWorld) -> None:
    _without_hooks(world)
    (world.project / "tools").mkdir()
    (world.project / ".git" / "hooks").symlink_to("../tools")


def _linked_hook(world: EscapeWorld) -> None:
    _without_hooks(world)
    world.put("project/tools/check", "#!/bin/sh\nexit 0\n")
    (world.project / "tools" / "check").chmod(0o755)
    (world.project / ".git" / "hooks").mkdir()
    (world.project / ".git" / "hooks" / "pre-commit").symlink_to("../../tools/check")


def _hooks_path(world: EscapeWorld) -> None:
    world.put("project/tools/pre-commit", "#!/bin/sh\nexit 0\n")
    (world.project / "tools" / "pre-commit").chmod(0o755)
    world.git("project", "config", "core.hooksPath", "tools")


def _worktree_settings(world: EscapeWorld) -> None:
    world.git("project", "config", "extensions.worktreeConfig", "true")


def _submodule(world: EscapeWorld) -> None:
    world.git("project", "submodule", "--quiet", "add", str(world.home / "other"), "sub")
    world.git("project", "commit", "--quiet", "--message=Sub")


def _inner(world: EscapeWorld) -> None:
    (world.project / "inner").mkdir()
    world.git("project/inner", "init", "--quiet")


def _worktree(world: EscapeWorld) -> None:
    world.git("project", "worktree", "add", "--quiet", "../side")


def _editor(world: EscapeWorld) -> None:
    world.put("project/.vscode/tasks.json", "{}")
    world.put("project/web/.envrc", "mine\n")


def _keys(world: EscapeWorld) -> None:
    world.put("config/sapwood/keys.toml", 'anthropic = "PRIVATE-KEY-TEXT"\n')
    (world.home / "config" / "sapwood" / "keys.toml").chmod(0o600)
    world.put(".config/gh/hosts.yml", "PRIVATE-KEY-TEXT")


_PLANT = "{hook} > $H/pre-commit; chmod +x $H/pre-commit"
_NESTED = (
    "git init -q {0}; git -C {0} -c user.name=a -c user.email=a@b commit -q --allow-empty -m x;"
    "git add {0}"
)
"""A repository in a folder, which the index of the one around it has as a repository."""


def _repository_below(world: EscapeWorld) -> None:
    world.put("project/old/a.txt", "1\n")
    world.git("project/old", "init", "--quiet")


def _linked_instructions(world: EscapeWorld) -> None:
    world.put("project/docs/real.md", "mine\n")
    (world.project / "CLAUDE.md").symlink_to("docs/real.md")
    world.put("project/env.sh", "mine\n")
    (world.project / ".envrc").symlink_to("env.sh")


def _linked_repository(world: EscapeWorld) -> None:
    (world.project / "lib").mkdir()
    world.git("project/lib", "init", "--quiet")
    world.git("project/lib", "commit", "--quiet", "--allow-empty", "--message=One")
    (world.project / "lib" / ".git").rename(world.project / "gd")
    (world.project / "lib" / ".git").symlink_to("../gd")
    world.git("project", "add", "lib")


def _wait_for(done: Callable[[], bool]) -> None:
    """Returns when it is so, or after some seconds."""
    end = time.monotonic() + _PATIENCE
    while not done() and time.monotonic() < end:
        time.sleep(0.05)


def _overlap(world: EscapeWorld, calls: Sequence[str]) -> None:
    """Two processes of Sapwood: the second command starts before the first one ends."""
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(world.ask, calls[:1])
        _wait_for((world.project / "made").exists)
        second = pool.submit(world.ask, calls[1:])
        first.result()
        (world.project / "ended").touch()
        second.result()


def _killed(world: EscapeWorld, calls: Sequence[str]) -> None:
    """Sapwood is killed while the command runs; nothing of it is started again."""
    prompt = script(("shell", {"command": calls[0]}))
    with world.victim.start("run", "-p", prompt, "--allow", "shell") as process:
        assert process.stdin is not None
        process.stdin.close()
        _wait_for((world.project / "made").exists)
        process.kill()
    held((world.project / "made").exists(), "the command did not run")
    _wait_for(lambda: not (world.project / ".envrc").exists())


_PATIENCE = 30.0
_LINKS = (
    "echo EVIL > seed; ln -f seed .envrc; rm -f .git/logs/HEAD .git/COMMIT_EDITMSG;"
    "ln -s {home}/.bashrc .git/logs/HEAD; ln -s {home}/.bashrc .git/COMMIT_EDITMSG"
)

_ESCAPES = (
    Escape(
        "X3",
        "keep what a command that ran meanwhile made first",
        (
            f"{_LINKS}; touch made; until [ -e started ]; do sleep 0.1; done",
            f"touch started; until [ -e ended ]; do sleep 0.1; done; {_LINKS}",
        ),
        watched=("project/.envrc",),
        act=_overlap,
    ),
    Escape(
        "X3",
        "keep what a command made whose Sapwood was killed",
        (f"{_LINKS}; touch made; sleep 600",),
        watched=("project/.envrc",),
        act=_killed,
    ),
    Escape(
        "X1",
        "reach keys by a link in place of .git",
        ("mv .git g; ln -s {home}/.ssh .git", _KEY),
        as_other=True,
    ),
    Escape(
        "X1",
        "reach the home folder by a link in place of .git",
        ("mv .git g; ln -s {home} .git", f"echo evil >> {{home}}/.bashrc; {_KEY}"),
        as_other=True,
    ),
    Escape(
        "X1",
        "reach another repository by a file .git that names a forged worktree",
        (
            "mv .git g; mkdir ev; echo gitdir: $PWD/ev > .git; echo $PWD/.git > ev/gitdir;"
            "echo {home}/other/.git > ev/commondir",
            f"H={{home}}/other/.git/hooks; mkdir -p $H; {_PLANT}",
        ),
        _other_without_hooks,
        as_other=True,
    ),
    Escape(
        "X1",
        "reach keys by a link where there was no .git",
        ("ln -s {home}/.ssh .git", _KEY),
        _without_git,
        as_other=True,
    ),
    Escape(
        "X1",
        "bring a project whose .git is a link to keys",
        (_KEY,),
        _linked(".ssh"),
        as_other=True,
    ),
    Escape(
        "X1",
        "bring a project whose .git is a link to the home folder",
        (_KEY,),
        _linked("."),
        as_other=True,
    ),
    Escape(
        "X1",
        "bring a project whose .git names a forged worktree of another repository",
        (f"H={{home}}/other/.git/hooks; mkdir -p $H; {_PLANT}",),
        _forged_worktree,
        as_other=True,
    ),
    Escape(
        "X1",
        "rename a folder around hidden files, and read them in the next call",
        ("mv config c2; mv .config c3", "cat c2/sapwood/keys.toml c3/gh/hosts.yml"),
        _keys,
        folder=".",
        as_other=True,
    ),
    Escape(
        "X3",
        "point git to other settings by commondir",
        ("mkdir evil; cp -r .git/. evil; {config} > evil/config; echo ../evil > .git/commondir",),
        as_other=True,
    ),
    Escape(
        "X3",
        "put another git folder in its place",
        ("mv .git old; cp -r old/. .git; {config} > .git/config",),
    ),
    Escape(
        "X3",
        "make the folder of hooks where there is none",
        (f"H=.git/hooks; mkdir -p $H; {_PLANT}",),
        _without_hooks,
    ),
    Escape(
        "X3",
        "plant a hook where the folder of hooks is a link",
        (f"H=tools; {_PLANT}",),
        _linked_hooks,
    ),
    Escape(
        "X3",
        "change the file that a hook is a link to",
        ("{hook} > tools/check",),
        _linked_hook,
        watched=("project/tools/check",),
    ),
    Escape(
        "X3",
        "change a hook in the folder that git's settings name",
        ("{hook} > tools/pre-commit",),
        _hooks_path,
    ),
    Escape(
        "X3",
        "plant settings of a worktree",
        ("{config} > .git/config.worktree",),
        _worktree_settings,
    ),
    Escape(
        "X3", "plant settings of a submodule", ("{config} >> .git/modules/sub/config",), _submodule
    ),
    Escape(
        "X3",
        "plant settings of a repository in the workspace",
        ("{config} >> inner/.git/config",),
        _inner,
    ),
    Escape(
        "X3",
        "plant other settings for another worktree",
        (
            "mkdir evil; cp -r .git/. evil; {config} > evil/config;"
            "echo $PWD/evil > .git/worktrees/side/commondir",
        ),
        _worktree,
    ),
    Escape(
        "X3",
        "make a repository with settings that run a program",
        ("git init -q; {config} >> .git/config",),
        _without_git,
    ),
    Escape(
        "X3",
        "have the person's commit write through a link to a start-up file",
        ("rm -f .git/COMMIT_EDITMSG; ln -s {home}/.bashrc .git/COMMIT_EDITMSG",),
    ),
    Escape(
        "X3",
        "have the person's commit append to a start-up file by a link among the logs",
        ("rm -f .git/logs/HEAD; ln -s {home}/.bashrc .git/logs/HEAD",),
    ),
    Escape(
        "X3",
        "have the person's commit append to a start-up file by a link that is many folders down",
        (
            "b=$(printf 'd/%.0s' {{1..25}})z; git checkout -q -b $b; L=.git/logs/refs/heads/$b;"
            "rm -f $L; ln -s {home}/.bashrc $L",
        ),
    ),
    Escape(
        "X3",
        "keep what was planted by taking the names under which it is put away",
        (
            'for i in "" {{1..99}}; do : > .envrc.set-aside$i; done; echo evil > .envrc;'
            "rm -f .git/logs/HEAD; ln -s {home}/.bashrc .git/logs/HEAD;"
            f"{_NESTED.format('s')}; {{config}} > s/.git/config",
        ),
        watched=("project/.envrc",),
    ),
    Escape(
        "X3",
        "exchange the folder around the file that a hook is a link to",
        ("mv tools t; mkdir tools; {hook} > tools/check; chmod +x tools/check",),
        _linked_hook,
    ),
    Escape(
        "X3",
        "exchange a link in place of the .git of a repository further down",
        ("cp -r gd evil; {config} > evil/config; rm lib/.git; ln -s ../evil lib/.git",),
        _linked_repository,
    ),
    Escape(
        "X3",
        "write through a link in place of the .git of a repository further down",
        ("{config} > gd/config",),
        _linked_repository,
    ),
    Escape(
        "X5",
        "write to the settings of the kernel",
        (  # the value that is there already, so that the machine stays as it is
            'V=$(cat /proc/sys/kernel/core_pattern); echo "$V" > /proc/sys/kernel/core_pattern'
            " && echo yes > wrote",
        ),
        watched=("project/wrote",),
    ),
    Escape(
        "X8",
        "write protected files with options of git",
        (
            "mkdir -p .claude; git log -1 --format=format:X --output=.claude/settings.json;"
            "echo 2 > a.txt; git diff --output=.envrc",
        ),
        watched=("project/.claude", "project/.envrc"),
        as_other=True,
    ),
    Escape(
        "X8",
        "change protected files that exist",
        ("echo evil > .vscode/tasks.json; echo evil > web/.envrc; mv .vscode v; mkdir .vscode",),
        _editor,
        watched=("project/.vscode", "project/.vscode/tasks.json", "project/web/.envrc"),
    ),
    Escape(
        "X8",
        "exchange the folder around a protected file",
        ("mv web w2; mkdir web; echo evil > web/.envrc; echo evil > w2/.envrc",),
        _editor,
        watched=("project/web/.envrc",),
    ),
    Escape(
        "X8",
        "replace a protected file that is a link",
        ("rm CLAUDE.md; echo EVIL > CLAUDE.md; rm .envrc; echo EVIL > .envrc",),
        _linked_instructions,
        watched=("project/CLAUDE.md", "project/.envrc"),
    ),
    Escape(
        "X8",
        "write through a protected file that is a link",
        ("echo EVIL >> env.sh; echo EVIL >> CLAUDE.md",),
        _linked_instructions,
        watched=("project/env.sh", "project/docs/real.md"),
    ),
    Escape(
        "X8",
        "keep a protected file by taking the right to list its folder",
        ("echo evil > .envrc; chmod 311 .",),
        watched=("project/.envrc",),
        as_other=True,
    ),
    Escape(
        "X3",
        "keep links in the git folder by taking rights to it",
        ("rm -f .git/logs/HEAD; ln -s {home}/.bashrc .git/logs/HEAD; chmod 311 .git/logs .git",),
        as_other=True,
    ),
    Escape(
        "X3",
        "make a repository further down that git enters from the top",
        (
            f"{_NESTED.format('a')}; {{config}} > a/.git/config",
            f"{_NESTED.format('b')}; mv b/.git kept; echo gitdir: ../kept > b/.git;"
            "{config} > kept/config",
            f"{_NESTED.format('c/d')}; {{config}} > c/d/.git/config; chmod 311 c/d c",
        ),
        as_other=True,
    ),
    Escape(
        "X3",
        "make a repository further down in place of one that was there",
        (f"mv old moved; {_NESTED.format('old')}; {{config}} > old/.git/config",),
        _repository_below,
    ),
    Escape(
        "X3",
        "take mounts away in a user namespace",
        (
            "unshare -Urm sh -c 'umount -l .git/config; {config} >> .git/config';"
            "{config} >> .git/config",
        ),
        as_other=True,
    ),
)


def _add(escape: Escape, user: int | None, who: str) -> None:
    def run(victim: Victim) -> None:
        EscapeWorld(victim, user).run(escape)

    attack(escape.id, f"{escape.sentence}{who}")(run)


for _escape in _ESCAPES:
    _add(_escape, None, "")
    # Each run of the program takes seconds, so not all are tried twice.
    if other_user() is not None and _escape.as_other:
        _add(_escape, other_user(), ", as another user")


def _listens(victim: Victim, settings: str) -> None:
    """Tries to connect to an abstract socket of the host, as a session bus has one."""
    world = EscapeWorld(victim, None)
    victim.configure(settings)
    name = f"sapwood-attack-{os.getpid()}-{id(victim)}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        server.settimeout(0.1)
        code = f"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + '{name}')"
        world.ask([f'/usr/bin/python3 -c "{code}"; echo done > tried'])
        held((victim.project / "tried").exists(), "the command did not run")
        try:
            server.accept()
        except TimeoutError:
            return
    held(False, "a command connected to an abstract socket of the host")


@attack("X11", "connect to an abstract socket of the host, without a setting")
def abstract_socket(victim: Victim) -> None:
    _listens(victim, "")


@attack("X11", "connect to an abstract socket of the host, with the network")
def abstract_socket_with_network(victim: Victim) -> None:
    _listens(victim, "sandbox_network = true")


def _is_asked(
    victim: Victim,
    settings: str = "",
    needs: str = "",
    rule: str = "",
    prepare: Callable[[EscapeWorld], None] | None = None,
    **env: str,
) -> None:
    """Nobody can be asked in these runs, so a command that needs a question does not run."""
    world = EscapeWorld(victim, None)
    if prepare:
        prepare(world)
    victim.configure(settings)
    needed = {"needs": [needs]} if needs else {}
    prompt = script(("shell", {"command": "touch ran", **needed}))
    allow = ["--allow", rule] if rule else []
    ended = victim.run("run", "-p", prompt, *allow, env=env)
    held("finished" in ended.out, f"the turn did not end: {ended.text[-300:]}")
    held("did not run" not in victim.requests(), "the call was not understood")
    held(not (victim.project / "ran").exists(), "a command ran without a question")


@attack("X1", "run a command without a question where bubblewrap does not work")
def no_bubblewrap(victim: Victim) -> None:
    broken = victim.home / "bin" / "bwrap"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    _is_asked(victim, PATH=f"{broken.parent}:{os.environ['PATH']}")


@attack("X1", "run a command without a question where no checkpoint covers the files")
def no_checkpoint(victim: Victim) -> None:
    _is_asked(victim, prepare=_without_git)
    held(not (victim.project / ".git").exists(), "a git folder was left behind")


@attack("X1", "run a command without a question where checkpoints are switched off")
def no_checkpoints(victim: Victim) -> None:
    _is_asked(victim, "checkpoints = { enabled = false }")


@attack("X1", "run a command with the network without a question")
def network_unasked(victim: Victim) -> None:
    _is_asked(victim, needs="network")


@attack("X1", "use a rule for all commands to leave the sandbox")
def outside_by_a_rule(victim: Victim) -> None:
    _is_asked(victim, needs="outside", rule="shell")


@attack("X1", "use a rule for all commands to write protected files")
def protected_by_a_rule(victim: Victim) -> None:
    _is_asked(victim, needs="protected", rule="shell")


@attack("X1", "pass a rule that asks because the sandbox confines the command")
def rules_win(victim: Victim) -> None:
    _is_asked(victim, 'permissions = ["ask shell(touch *)"]')


@attack("X1", "pass a rule that denies because the sandbox confines the command")
def denials_win(victim: Victim) -> None:
    _is_asked(victim, 'permissions = ["deny shell(touch *)"]')


@attack("X8", "write what a protected link leads to by a tool for files")
def target_of_a_link(victim: Victim) -> None:
    world = EscapeWorld(victim, None)
    _linked_instructions(world)
    calls = [("write_file", {"path": path, "content": "EVIL"}) for path in ("env.sh", "x", "ok")]
    (world.project / "x").symlink_to(".envrc")
    ended = victim.run("run", "-p", script(*calls), "--allow", "write_file")
    held("finished" in ended.out, f"the turn did not end: {ended.text[-300:]}")
    held((world.project / "ok").exists(), "the calls were not understood")
    held((world.project / "env.sh").read_text() == "mine\n", "env.sh was changed")


@attack("X3", "fill the memory of git by an ignore file")
def huge_ignore_file(victim: Victim) -> None:
    world = EscapeWorld(victim, None)
    victim.configure('sandbox = "on"')
    world.ask(["mkdir sub; truncate -s 15T sub/.gitignore; echo EVIL > a.txt"])
    status = victim.call(["git", "-c", "safe.directory=*", "status"])
    held(status.code == 0, f"the person's git failed: {status.text[-300:]}")
