"""Ways to run a denied command that is not written as the rule has it. `{}` is the command.

`{first}` and `{rest}` are its first word and the others, `{split}` is the command with quotes in
the middle of its first word, `{glob}` has its first word as a pattern of file names.
"""

from collections.abc import Iterator

from proofs.attack_commands.rule_sets import DENIALS

__all__ = ["evasions"]

_TEMPLATES = (
    "{}",
    "/usr/bin/{}",
    "./{}",
    "X=1 {}",
    "env {}",
    "env -S '{}'",
    "env -S'{}'",
    "env -i PATH=/bin {}",
    "echo '{}' | sh",
    "echo '{}' | bash -s",
    "printf '%s' '{}' | sh",
    "sh <<< '{}'",
    "sh <<E\n{}\nE",
    "cat <<'E' | sh\n{}\nE",
    "flock lock {}",
    "flock lock -c '{}'",
    "trap '{}' EXIT",
    "setpriv {}",
    "taskset 1 {}",
    "setsid {}",
    "nohup {} &",
    "timeout 5 {}",
    "nice -n 5 {}",
    "ionice -c 3 {}",
    "stdbuf -oL {}",
    "strace -f {}",
    "unshare -r {}",
    "script -qc '{}' /dev/null",
    "watch -n1 '{}'",
    "parallel ::: '{}'",
    "xargs -a list {}",
    "echo {rest} | xargs {first}",
    "find . -maxdepth 0 -exec {} \\;",
    "find . -maxdepth 0 -exec sh -c '{}' \\;",
    "sh -c '{}'",
    "bash -lc '{}'",
    "bash -c 'sh -c \"{}\"'",
    "busybox sh -c '{}'",
    "busybox {}",
    "eval '{}'",
    "eval {}",
    "command {}",
    "builtin command {}",
    "exec {}",
    "coproc {}",
    "time {}",
    "! {}",
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "for i in 1; do {}; done",
    "f() {{ {}; }}; f",
    "alias a='{}'; a",
    "a={first}; $a {rest}",
    "a='{}'; $a",
    'set -- {}; "$@"',
    "$(echo {first}) {rest}",
    "`echo {first}` {rest}",
    "echo $({})",
    "cat <({})",
    "true && {}",
    "false || {}",
    "ls | {}",
    "ls & {}",
    "ls\n{}",
    "{split}",
    "sh -c '{split}'",
    "\\{}",
    "{glob}",
    "env {glob}",
    "sh -c '{glob}'",
    "python3 -c \"import os; os.system('{}')\"",
    "perl -e 'system \"{}\"'",
    "awk 'BEGIN{{system(\"{}\")}}'",
    'node -e \'require("child_process").execSync("{}")\'',
    "vim -es -c '!{}' -c q",
    "ssh localhost '{}'",
    "su -c '{}'",
    "sudo {}",
    "doas {}",
    "git -c alias.x='!{}' x",
    "make -f - <<E\nx:\n\t{}\nE",
    "at now <<< '{}'",
    "tar cf /dev/null . --checkpoint=1 --checkpoint-action=exec='{}'",
    "man -P '{}' ls",
    "gdb -batch -ex '!{}'",
    "sed '1e {}' notes.txt",
    "systemd-run --user {}",
    "some-unknown-wrapper --opt {}",
    "some-unknown-wrapper --run='{}'",
    "$'\\x65val' '{}'",
    "eval $'{}'",
    "base64 -d <<< Zm9v | sh; {}",
    "echo Zm9v | base64 -d | sh",
    "echo Zm9v | base64 -d | env bash",
    "echo Zm9v | xxd -r -p | python3",
    "echo Zm9v | base64 -d | xargs -I% env %",
    'bash -c "$(echo Zm9v | base64 -d)"',
    "python3 -c 'exec(bytes.fromhex(\"00\"))'",
    "git -c help.autocorrect=immediate statsu",
)


def evasions() -> Iterator[tuple[str, str, str]]:
    """The name of the denial, its rule, and a line that runs the denied command."""
    for name, (command, rule) in DENIALS.items():
        first, _, rest = command.partition(" ")
        split = f'{first[0]}""{first[1:]} {rest}'
        glob = f"/usr/bin/{first[:-1]}? {rest}"
        for template in _TEMPLATES:
            yield (
                name,
                rule,
                template.format(command, first=first, rest=rest, split=split, glob=glob),
            )
