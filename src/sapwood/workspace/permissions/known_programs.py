"""What the options of common programs do, as far as a `*` in a permission may stand for them. Pure.

Programs that only read are listed with the few options that make them write or run something.
Programs with subcommands are listed with those subcommands, and those of their options, that
neither run another program, nor write elsewhere, nor destroy or publish work. Everything else has
to be spelled out in the rule. For a program that is not known, an option counts as harmful if its
name says so (`TELLING`).
"""

import re
from collections.abc import Mapping, Sequence

PRINTS = frozenset("echo printf true false pwd sleep seq whoami basename dirname".split())
"""Programs that only print their arguments, or ignore them."""
ONLY_READS = frozenset(
    "ls wc du df stat head tail cat nl cut basename dirname cmp comm md5sum sha256sum grep".split()
) | {"git status"}
"""Commands that no option makes write a file or run a program: a prefix is offered for them."""
READS = frozenset(
    "ls wc du df stat head tail cat nl cut basename dirname cmp comm md5sum sha1sum sha256sum "
    "cksum grep egrep fgrep rg fd find tree file diff sort tr tac rev fold column paste join "
    "od "
    "hexdump strings realpath readlink date id uname nproc free uptime ps pgrep lsof which type "
    "whereis jq cd test [ hostname locale nm size ss netstat".split()
)
"""Programs that read, apart from the options below."""
TAKES_EXPRESSION = frozenset("grep egrep fgrep rg jq yq fd tr".split())
"""Programs whose first operand is an expression and not a file."""
_OPTIONS: Mapping[str, str] = {
    "rg": "--pre --hostname-bin -z --search-zip",
    "fd": "-x -X --exec --exec-batch",
    "find": "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from",
    "tree": "-o --output",
    "file": "-C --compile -m --magic-file",
    "diff": "-l --paginate",
    "sort": "-o --output --compress-program -T --temporary-directory --files0-from",
    "date": "-s --set",
    "xxd": "-r",
    "yq": "-i --inplace --in-place -s --split-exp",
    "ss": "-K --kill",
    "hostname": "-F -b",
    "jq": "-L --library-path -f --from-file",
    "pytest": "-p -c -o --config-file --rootdir --confcutdir --override-ini --basetemp --pdbcls "
    "--pastebin --log-file --junit-xml --junitxml --debug --import-mode --pyargs",
    "unittest": "-s -t",
    "mypy": "--config-file --python-executable --shadow-file --install-types --cache-dir "
    "--junit-xml --html-report --xml-report",
    "ruff": "--config --output-file -o",
    "black": "--config",
    "eslint": "-c -o --config --rulesdir --resolve-plugins-relative-to --output-file -f --format "
    "--plugin --parser",
    "prettier": "--config --plugin --plugin-search-dir",
    "tsc": "-p --project --outFile --outDir --plugins --generateTrace --tsBuildInfoFile",
    "jest": "-c --config --globalSetup --runner --testRunner --reporters --setupFiles --outputFile",
    "vitest": "-c --config --outputFile --globalSetup --reporter",
    "make": "-f --file --makefile --eval -E -I --include-dir -C --directory -o -W",
    "just": "-f --justfile -d --working-directory --shell --shell-arg --set --command -c --chooser "
    "--dotenv-path --dotenv-filename -E",
    "cargo": "--config --manifest-path -Z --target-dir --out-dir --artifact-dir -C --index "
    "--registry --git --path --lockfile-path",
    "go": "=-exec =-toolexec =-o =-modfile =-overlay =-C =-w =-u =-vettool =-ldflags =-gcflags "
    "=-asmflags "
    "=-pkgdir =-outputdir =-coverprofile =-cpuprofile",
    "npm": "--prefix --script-shell --node-options --userconfig --globalconfig --registry -C "
    "--global -g --shell --location --cache --ignore-scripts "
    "--use-yarnrc --cwd --modules-folder --dir",
    "docker": "-f --file -v --volume --mount --privileged --host -H --config --env-file --pid "
    "--net "
    "--device --cap-add --security-opt -e --env --entrypoint",
    "kubectl": "--kubeconfig --as --token --server -s --insecure-skip-tls-verify --raw --filename",
    "gh": "--hostname -w --web -R",
    "terraform": "-chdir -var-file -out",
    "git": "-c -C --exec-path --git-dir --work-tree --config-env --upload-pack --receive-pack "
    "--exec --output --ext-diff --textconv --template --force --mirror --all --delete "
    "--force-with-lease",
    "cp": "-S --suffix --target-directory -t --backup -b -l --link -s --symbolic-link",
    "mv": "-S --suffix --target-directory -t --backup -b",
    "ctest": "-S -D --script --build-and-test --build-run-dir --test-dir -O --output-log",
    "tar": "-x -c -r -u -A -I -F -T -C --to-command --checkpoint-action --use-compress-program "
    "--rsh-command --extract --get --create --append --info-script --new-volume-script "
    "--rmt-command",
}
_BAD_OPTIONS: Mapping[str, str] = {
    **_OPTIONS,
    **dict.fromkeys(("pnpm", "yarn", "bun"), _OPTIONS["npm"]),
    "podman": _OPTIONS["docker"],
    "py.test": _OPTIONS["pytest"],
    "gmake": _OPTIONS["make"],
}
"""The options that make a program write a file, run a program or read settings from elsewhere."""
RUNS_ITS_ARGUMENTS = frozenset(
    "ssh scp sftp rsync npx pnpx bunx uvx pipx dd wget nc ncat socat telnet ftp openssl "
    "mail sendmail rm shred mkfs mount umount chmod chown chattr ln install tar unzip zip "
    "7z gzip gunzip kill pkill killall systemctl service launchctl loginctl apt apt-get yum dnf "
    "pacman apk brew snap flatpak nix nix-shell conda gem cpan useradd usermod passwd visudo "
    "iptables "
    "ufw sysctl modprobe insmod ln less more man tmux screen exec source . alias export set unset "
    "declare typeset readonly hash enable complete bind ulimit umask pushd popd disown wait jobs "
    "patch ed dot gcc cc clang ld ar objcopy strip split csplit truncate fallocate mkfifo mknod "
    "mktemp sqlite3 psql mysql mongo redis-cli aws gcloud az gsutil s3cmd rclone vault "
    "ansible ansible-playbook vagrant packer helm argocd flyctl heroku netlify vercel wrangler "
    "base64 base32 dig nslookup host ping traceroute xclip pbcopy wl-copy logger write wall "
    "osascript "
    "open xdg-open security defaults pip pip3 poetry pdm hatch twine composer bundle rake mix "
    "env printenv xargs git-lfs hg svn jj sapwood claude codex gemini".split()
)
"""Programs that run, send, install, delete or change what their arguments name."""
PLAIN_USES: Mapping[str, re.Pattern[str]] = {
    "tar": re.compile(r"-?(?=[a-zA-Z]*t)[tvzjJf]+(?: [^-:\s][^:\s]*)+"),
    "unzip": re.compile(r"-[lv](?: [^-\s]\S*)+"),
    "patch": re.compile(r"(?:-p\d )?--dry-run(?: -p\d)?"),
    **dict.fromkeys(("bundle", "gem", "composer"), re.compile("-v")),
}
"""Arguments of such programs, with a space between, that list an archive, print a version, or try
what would happen.
"""
MODULES = frozenset(
    "pytest unittest mypy ruff black isort flake8 json.tool coverage pyright compileall "
    "build".split()
)
"""Modules of Python that `python -m *` may run."""
GLOBAL_OPTIONS: Mapping[str, Sequence[str]] = {
    "git": ("--no-pager", "-P", "--no-optional-locks"),
    "npm": ("-s", "--silent"),
    "pnpm": ("-r", "-s", "--silent"),
}
_LOG = (
    "-p -u -s -n -i -w -b -z -q -S -G -L -M -C -R -U -c -m -t -a -v -E -F -P -l -h -W -r -e "
    "--patch --no-patch --stat "
    "--name-only --name-status --oneline --graph --all --decorate --no-decorate --author --since "
    "--until --after --before --grep --max-count --skip --follow --format --pretty "
    "--abbrev-commit --abbrev --date --cached --staged --word-diff --color-words --color "
    "--no-color "
    "--ignore-all-space --ignore-space-change --ignore-blank-lines --shortstat --numstat --dirstat "
    "--summary --diff-filter --reverse --merges --no-merges --first-parent --unified --check "
    "--exit-code --quiet --minimal --no-renames --find-renames --branches --tags --remotes "
    "--topo-order --date-order --left-right --cherry-pick --cherry --no-ext-diff --no-textconv "
    "--raw --cc --merge-base --relative --patience --histogram --compact-summary --pickaxe-regex "
    "--line-prefix --source --count --no-index --submodule --full-index --no-walk --not "
    "--function-context --line-number --ignore-case --files-with-matches --untracked --sort "
    "--reverse --numbered --email --porcelain --show-signature --notes --text --full-history "
    "-A -B -D -H -I -g --after-context --before-context --context --and --or --max-depth --heading "
    "--break --show-function --word-regexp --fixed-strings --extended-regexp --perl-regexp "
    "--only-matching --column --no-abbrev-commit --no-notes --stat-width --stat-count "
    "--color-moved --ancestry-path --simplify-by-decoration --ignore-submodules --no-prefix "
    "--committer "
    "--author-date-order --walk-reflogs --ignore-cr-at-eol --ignore-space-at-eol --find-copies "
    "--find-copies-harder --pickaxe-all --line-porcelain --show-name --show-number --show-email "
    "--root --exclude --glob --max-parents --min-parents --boundary --cherry-mark --left-only "
    "--right-only --parents --children --no-abbrev --summary"
)
_GIT: Mapping[str, str] = {
    "status": "*",
    **dict.fromkeys(("log", "show", "diff", "shortlog", "blame", "annotate", "grep"), _LOG),
    **dict.fromkeys(("whatchanged", "diff-tree", "diff-index", "range-diff", "cherry"), _LOG),
    "branch": "-a -r -v -l -q --list --all --remotes --show-current --contains --merged "
    "--no-merged "
    "--sort --format --points-at --verbose --no-color --set-upstream-to -u -vv",
    "tag": "-l -n -a -m --list --sort --contains --points-at --merged --message --annotate",
    "rev-parse": "*",
    "rev-list": _LOG + " --objects",
    "ls-files": "*",
    "ls-tree": "*",
    "describe": "*",
    "merge-base": "*",
    "name-rev": "*",
    "show-ref": "--heads --tags --head --verify -s -q",
    "for-each-ref": "--format --sort --count --contains --merged",
    "show-branch": "*",
    "check-ignore": "-v -q -n",
    "count-objects": "-v -H",
    "cat-file": "-p -t -s -e",
    "remote -v": "",
    "remote show": "",
    "remote get-url": "",
    "stash list": _LOG,
    "stash show": _LOG,
    "stash push": "-m -u -k --message --include-untracked --keep-index",
    "stash pop": "-q --index",
    "stash apply": "-q --index",
    "worktree list": "--porcelain -v",
    "submodule status": "",
    "config --get": "!--add",
    "config --list": "--show-origin --local --show-scope",
    "config -l": "",
    "reflog show": _LOG,
    "bisect log": "",
    "reflog": _LOG + " !expire !delete !drop",
    "add": "-A -p -u -n -v -N --all --patch --update --dry-run --verbose --intent-to-add",
    "commit": "-m -a -q -v -s -F --message --all --amend --no-edit --quiet --verbose --signoff "
    "--allow-empty --fixup --squash --dry-run --date",
    "fetch": "-p -v -q -t --all --prune --tags --verbose --quiet --dry-run --depth --unshallow",
    "pull": "-r -v -q --rebase --no-rebase --ff-only --no-ff --quiet --autostash --prune --tags",
    "checkout": "-b -q -t --track --no-track --quiet --detach",
    "switch": "-c -q -d -t --create --quiet --detach --track --guess",
    "restore": "+--staged --staged -q",
    "merge": "-m -q --no-ff --ff-only --ff --squash --abort --continue --no-commit --no-edit",
    "rebase": "-q --abort --continue --skip --onto --autostash --autosquash --no-autosquash",
    "cherry-pick": "-x -n --abort --continue --skip --no-commit",
    "revert": "-n --no-edit --abort --continue --no-commit",
    "reset": "-q --soft --mixed --quiet",
    "mv": "-v -n -k",
    "rm": "+--cached --cached -r -q",
    "version": "",
}
GIT_READS = frozenset(
    "status log show diff shortlog blame annotate grep whatchanged diff-tree diff-index range-diff "
    "cherry rev-parse rev-list ls-files ls-tree describe merge-base add commit branch tag switch "
    "check-ignore stash restore reset fetch pull merge rebase cherry-pick revert".split()
)
"""Subcommands of git that do not write the files they name from what a caller chose."""
GIT_ONLY_READS = frozenset(
    "status log show diff shortlog blame annotate grep whatchanged diff-tree diff-index range-diff "
    "cherry rev-parse rev-list ls-files ls-tree describe merge-base check-ignore".split()
)
"""Subcommands of git that change nothing."""
CHECKS_FILES = frozenset("pytest mypy ruff pyright flake8 pylint shellcheck eslint".split())
"""Programs that check the files they name, and the whole workspace if they name none."""
_RUN = "-r -w -s -C --silent --if-present --workspace --workspaces --filter --recursive --parallel"
_NPM: Mapping[str, str] = {
    **dict.fromkeys(("test", "t", "run", "run-script", "start"), "*"),
    **dict.fromkeys(("ls", "list", "outdated", "why", "explain"), "--depth --all --json -a --prod"),
    "ci": "--silent",
    "audit": "--json --production --omit --audit-level !fix",
    "view": "--json",
    "lint": "*",
    "build": "*",
    "typecheck": "*",
    "format": "*",
    "dev": "*",
}
SUBCOMMANDS: Mapping[str, Mapping[str, str]] = {
    "git": _GIT,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _NPM),
    "cargo": dict.fromkeys(
        "build b test t check c clippy fmt doc bench tree metadata run r nextest --version".split(),
        "*",
    ),
    "go": {
        **dict.fromkeys("build test vet fmt list version doc run".split(), "*"),
        "mod tidy": "-v",
        "mod verify": "",
        "mod graph": "",
        "mod why": "-m",
        "env": "",
    },
    "docker": {
        **dict.fromkeys("ps images version info stats top".split(), "*"),
        "logs": "-t --tail --follow --since --until --timestamps",
        "inspect": "--format -s",
        "image ls": "*",
        "container ls": "*",
        "volume ls": "*",
        "network ls": "*",
        "compose ps": "-a --all --format -q",
        "compose logs": "--tail --follow --since -t --no-color",
        "compose config": "-q --quiet --services",
        "compose up": "-d --detach --build --wait --no-deps",
        "compose down": "",
        "compose build": "--no-cache --pull",
        "compose restart": "",
        "compose stop": "",
    },
    "kubectl": {
        "get": "-n -o -w -A -l --namespace --output --all-namespaces --watch --selector "
        "--show-labels "
        "!secret !secrets",
        "describe": "-n -l -A --namespace !secret !secrets",
        "logs": "-n -f -c -p -l --namespace --tail --since --follow --container --previous",
        "top": "-n --namespace -A",
        "version": "--client",
        "explain": "--recursive",
        "config current-context": "",
        "config get-contexts": "",
        "rollout status": "-n --namespace --timeout",
    },
    "gh": {
        **dict.fromkeys(
            (
                "pr list",
                "pr view",
                "pr status",
                "pr checks",
                "pr diff",
                "issue list",
                "issue view",
                "run list",
                "run view",
                "run watch",
                "repo view",
                "release list",
                "workflow list",
            ),
            "*",
        ),
    },
    "terraform": {"fmt": "*", "validate": "*", "version": "", "show": "-json", "plan": "-no-color"},
    "uv": {"pip list": "", "tree": "", "sync": "", "lock": "--check", "version": ""},
    "ruff": dict.fromkeys(("check", "format", "rule"), "*"),
    "deno": dict.fromkeys("test lint fmt check".split(), ""),
    "rustup": {"show": "", "toolchain list": "", "component list": ""},
}
"""The subcommands that a `*` stands for, with the options that it stands for.

`*` lists all options but those of `_BAD_OPTIONS`, `!word` an operand that has to be spelled out,
and `+option` one without which the subcommand has to be spelled out.
"""
TELLING = re.compile(
    r"(?:^|-)(?:override|exec|eval|command|cmd|shell|pager|editor|hooks?|plugins?|preload|require|import|"
    r"loader|config|output|out|prefix|script|proxy|ssh|pack|rsh|init|rcfile|startup|load|lib|"
    r"library|"
    r"wrapper|interpreter|browser|identity|env|userconfig|registry|index|volume|mount|privileged|"
    r"upload|post|data|form|header|cookie|key|token|password|delete|force|action|program|compress|"
    r"chdir|directory|root|rootdir|file|save|write|log|dump|trace|report|inplace|in-place|"
    r"path)(?:-|$)"
)
"""Names of options that say that a program is run, a file written, or something sent or deleted."""


_MAKE_VARIABLE = re.compile(
    r"(?!(?:V|VERBOSE|Q|N|JOBS|DEBUG|TESTS?|PKGS?)=[\w ./:-]*$|"
    r"[A-Z_]+=(?:\d+|on|off|yes|no|true|false|debug|release|dev|test|all)$)[^-].*="
)
"""Variables of make name programs (SHELL=./program), apart from these."""
_BAD_OPERANDS: Mapping[str, re.Pattern[str]] = {
    "make": _MAKE_VARIABLE,
    "gmake": _MAKE_VARIABLE,
    "bun": re.compile(r"-$"),  # runs what it reads
    "jq": re.compile(r".*\benv\b", re.IGNORECASE),
    "ps": re.compile(r"[a-z]*e"),  # shows the environment of processes
    "kubectl": re.compile(r".*secret", re.IGNORECASE),
}


def is_bad_operand(name: str, word: str) -> bool:
    """Whether a `*` does not stand for this operand of a program."""
    pattern = _BAD_OPERANDS.get(name)
    return pattern is not None and pattern.match(word) is not None


def bad_options(name: str) -> tuple[str, ...]:
    """The options of a program that a `*` does not stand for."""
    return tuple(_BAD_OPTIONS.get(name, "").split())


def any_option(name: str) -> bool:
    """Whether the program stays harmless with every option: file names may look like options."""
    return name in PRINTS or (name in READS and not _BAD_OPTIONS.get(name))
