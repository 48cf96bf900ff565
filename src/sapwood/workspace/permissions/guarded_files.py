"""The files that are private, and the files that make programs run: two tables, and their match.

A line names files and the program that reads them. `name/` is a folder with everything in it, a
pattern without a slash at its end is a file, and `*` stays within a name. A pattern holds at every
depth and in every case, because file systems may ignore case, and a home folder, a container or a
backup can be anywhere.

Files that somebody starts on purpose (a makefile, `package.json`, a test) are not in the second
table. It names what a program runs or obeys by itself: at login, at a commit, when a folder is
opened, when another agent starts.
"""

import re
from collections.abc import Mapping
from functools import cache

PRIVATE_FILES: Mapping[str, str] = {
    "ssh": ".ssh/ id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk *.ppk "
    "etc/ssh/ssh_host_*_key",
    "GnuPG": ".gnupg/ secring.gpg",
    "OpenSSL and Java": "*.p12 *.pfx *.jks *.keystore *.pkcs12",
    "age and sops": ".config/sops/ .config/age/ *.agekey",
    "curl and other programs": ".netrc _netrc",
    "git": ".git-credentials .config/git/credentials",
    "GitHub, GitLab and Gitea": ".config/gh/hosts.yml .config/hub .config/glab-cli/ .config/tea/",
    "AWS": ".aws/ .boto .s3cfg .passwd-s3fs",
    "Google Cloud": ".config/gcloud/ application_default_credentials.json client_secret*.json "
    "service-account*.json service_account*.json .config/configstore/",
    "Azure": ".azure/",
    "other clouds": ".oci/ .aliyun/ .config/doctl/ .config/hcloud/ .config/scw/ .config/linode-cli "
    ".fly/ .config/netlify/ .railway/ .supabase/ .wrangler/ .config/.wrangler/ .cloudflared/ "
    ".local/share/com.vercel.cli/ .config/ngrok/ .ngrok2/ rclone.conf",
    "Kubernetes": ".kube/ kubeconfig *.kubeconfig run/secrets/",
    "Docker and Podman": ".docker/config.json .dockercfg .dockerconfigjson containers/auth.json",
    "Terraform and Pulumi": ".terraformrc .terraform.d/ *.tfstate *.tfstate.backup "
    "terraform.tfvars *.auto.tfvars .pulumi/",
    "Vault and Ansible": ".vault-token .vault_pass .vault_pass.txt .vault-password",
    "package managers": ".npmrc .yarnrc.yml .pypirc .cargo/credentials .cargo/credentials.toml "
    ".gem/credentials .composer/auth.json .config/composer/auth.json .nuget/NuGet/NuGet.Config "
    ".m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .pip/pip.conf "
    ".config/pip/ .config/pypoetry/auth.toml .hex/ .conan/ .conan2/",
    "databases": ".pgpass pgpass.conf .my.cnf .mylogin.cnf .databrickscfg .snowsql/ .snowflake/ "
    ".dbt/profiles.yml .mongodb/ .config/redis/",
    "password managers": ".password-store/ *.kdbx .config/op/ .op/ .config/Bitwarden*/ "
    ".local/share/keyrings/ .local/share/kwalletd/ Library/Keychains/ *.keychain *.keychain-db",
    "browsers": ".mozilla/ .thunderbird/ .config/google-chrome*/ .config/chromium/ "
    ".config/BraveSoftware/ .config/microsoft-edge*/ .config/vivaldi/ .config/opera/ "
    "snap/firefox/ snap/chromium/ Library/Cookies/ Library/Safari/ .zen/ .librewolf/ "
    "Application Support/Google/Chrome/ Application Support/Firefox/ "
    "Application Support/BraveSoftware/ .config/Slack/ .config/discord/ .config/Signal/",
    "agents": ".claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json "
    ".gemini/google_accounts.json .gemini/mcp-oauth-tokens.json .qwen/oauth_creds.json "
    ".config/github-copilot/ .copilot/ .local/share/opencode/auth.json .config/goose/secrets.yaml "
    ".config/io.datasette.llm/keys.json .aider.conf.yml .amazonq/cache/ .kiro/auth/ "
    "Code/User/globalStorage/ Cursor/User/globalStorage/",
    "model providers": ".huggingface/ .cache/huggingface/token "
    ".cache/huggingface/stored_tokens .kaggle/ .config/wandb/ .openai/ .anthropic/ "
    ".config/anthropic/ .config/openai/ "
    ".modal.toml .replicate/",
    "other services": ".sentryclirc .config/stripe/ .twilio-cli/ .config/configstore/ .htpasswd "
    ".rediscli_auth .config/tailscale/ .wireguard/ etc/wireguard/ *.ovpn",
    "shells, which record what was typed": ".bash_history .zsh_history .sh_history .history "
    ".local/share/fish/fish_history .python_history .node_repl_history .psql_history "
    ".mysql_history .rediscli_history .sqlite_history",
    "applications, which read their passwords from it": ".env .env.* *.env secrets.yml "
    "secrets.yaml secrets.json secrets.toml credentials.json credentials.yml.enc master.key",
    "the system": "etc/shadow etc/gshadow etc/sudoers etc/sudoers.d/ proc/*/environ proc/*/mem "
    "etc/krb5.keytab krb5cc_*",
    "Sapwood": ".config/sapwood/keys.toml .config/sapwood/config.toml mcp-logins.json "
    "server-tokens.json",
}
"""The program that keeps secrets there, and the files. Reading them asks."""

_NOT_PRIVATE = (
    "*.pub .ssh/config .ssh/known_hosts .ssh/known_hosts.old .ssh/authorized_keys "
    ".env.example .env.sample .env.template .env.dist .env.defaults .env.schema "
    "example.env sample.env template.env"
)

PROGRAM_FILES: Mapping[str, str] = {
    "git runs programs that it names": ".git .git/ .gitconfig .gitmodules .config/git/",
    "git runs its files as hooks": ".githooks/ .husky/ .git-hooks/",
    "it names programs that run on every commit": ".pre-commit-config.yaml .pre-commit-hooks.yaml "
    "lefthook.* .lefthook.* lefthook-local.* .lefthook-local.* .lefthook/ .overcommit.yml "
    ".lintstagedrc .lintstagedrc.* lint-staged.config.*",
    "Mercurial, Jujutsu or Subversion runs programs that it names": ".hg/ .hgrc .jj/ .svn/",
    "ssh reads keys and commands from it, and it decides who may log in": ".ssh/",
    "it holds private keys": ".gnupg/",
    "a shell or a login runs it": ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases "
    ".profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login "
    ".logout .xprofile .xinitrc .xsession .xsessionrc .xserverrc .inputrc .pam_environment "
    ".bashrc.d/ .zshrc.d/ .oh-my-zsh/ .bash_completion .forward .procmailrc",
    "its files run at login or on a timer": "Library/LaunchAgents/ Library/LaunchDaemons/ "
    "etc/cron*/ etc/crontab var/spool/cron/ etc/systemd/ etc/profile etc/profile.d/ etc/init.d/ "
    "etc/rc.local etc/ld.so.preload etc/ld.so.conf.d/ etc/sudoers etc/sudoers.d/ etc/pam.d/",
    "programs read settings from it, and many of them name programs": ".config/ .local/share/",
    "its files are run as commands": ".local/bin/ .cargo/bin/ .npm-global/bin/",
    "direnv, mise or asdf runs it when someone enters its folder": ".envrc .mise.toml mise.toml "
    ".mise.local.toml mise.local.toml mise.*.toml .mise.*.toml .mise/ mise/config.toml .direnv/ "
    ".tool-versions .autoenv .autoenv.zsh",
    "the editor runs tasks that it names": ".vscode/ .vscode-server/ .idea/ .fleet/ .zed/ .vs/ "
    ".helix/ .devcontainer/ .devcontainer.json devcontainer.json .gitpod.yml .idx/ "
    "*.code-workspace *.sublime-project",
    "the editor runs it": ".vimrc .gvimrc .nvimrc .nvim.lua .exrc _vimrc .vim/ .lvimrc .emacs "
    ".emacs.d/ .dir-locals.el .dir-locals-2.el .ideavimrc .spacemacs .doom.d/ .nanorc .kakrc",
    "an agent reads its permissions, programs or instructions from it": ".claude/ .claude.json "
    "CLAUDE.md CLAUDE.local.md .codex/ AGENTS.md AGENTS.override.md AGENT.md .agents/ .agent/ "
    ".gemini/ GEMINI.md .cursor/ .cursorrules .windsurf/ .windsurfrules .codeium/ .roo/ .roomodes "
    ".roorules .clinerules .clinerules/ .cline/ .kiro/ .amazonq/ .aider.conf.yml .continue/ "
    ".continuerc.json opencode.json opencode.jsonc .opencode/ .goosehints .mcp.json mcp.json "
    ".github/copilot-instructions.md .github/instructions/ .github/prompts/ .github/agents/ "
    ".github/chatmodes/ .github/hooks/ .copilot/ .junie/ .augment/ .augment-guidelines .qwen/ "
    "QWEN.md crush.json .crush.json .crush/ CRUSH.md .factory/ .trae/ .warp/ WARP.md .rules "
    ".zencoder/ .tabnine/ .openhands/ .openhands_instructions .ampcode/ .pi/ .grok/ .devin/",
    "it is reserved for use by Sapwood": ".sapwood/",
    "a CI service runs the programs that it names": ".github/workflows/ .github/actions/ "
    ".gitlab-ci.yml .gitlab/ci/ .circleci/ .travis.yml .drone.yml .woodpecker.yml .woodpecker/ "
    "azure-pipelines.yml .azure-pipelines/ bitbucket-pipelines.yml Jenkinsfile .buildkite/ "
    "appveyor.yml .appveyor.yml .forgejo/ .gitea/ .semaphore/ .teamcity/ cloudbuild.yaml "
    "buildspec.yml .cirrus.yml",
    "the package manager runs or downloads what it names": ".npmrc .yarnrc .yarnrc.yml .yarn/ "
    ".pnpmfile.cjs .pnpmfile.mjs pnpmfile.js bunfig.toml .bundle/ .gemrc .pip/ pip.conf .pypirc "
    ".condarc .mvn/ .mavenrc .m2/settings.xml .gradle/ gradle-wrapper.properties "
    "gradle-wrapper.jar .sbtopts .jvmopts .composer/ .nuget/",
    "cargo or rustup runs programs that it names": ".cargo/config .cargo/config.toml "
    ".cargo/credentials .cargo/credentials.toml rust-toolchain rust-toolchain.toml",
    "Python runs it at every startup": "sitecustomize.py usercustomize.py *.pth .pythonrc "
    ".pythonrc.py .pythonstartup .pdbrc .pdbrc.py .ipython/ .jupyter/",
    "the debugger runs it": ".gdbinit .gdbearlyinit .lldbinit .perldb",
    "an interpreter runs it at startup": ".irbrc .pryrc .Rprofile .Renviron .ghci .ocamlinit "
    ".guile .noderc .sqliterc .psqlrc .juliarc.jl .octaverc .lisprc .sbclrc .iex.exs",
    "the program that reads it runs commands from it": ".tmux.conf .screenrc .wezterm.lua "
    ".lesskey .lessfilter .mailcap .mailrc .muttrc .wgetrc .curlrc .my.cnf .ansible.cfg "
    "ansible.cfg .ansible/ .terraformrc .terraform.d/ .hammerspoon/ .nixpkgs/ .ackrc .rgignore "
    ".ripgreprc .xbindkeysrc .fetchmailrc",
    "it holds credentials, and names programs that provide them": ".aws/ .kube/ .docker/ .azure/ "
    ".netrc .pgpass .git-credentials",
}
"""Why a file makes a program run, and the files. Writing them asks."""


def why_private(path: str) -> str:
    """The program that keeps secrets in this file; '' if none is known.

    >>> why_private("/srv/ada/.config/gcloud/access_tokens.db")
    'Google Cloud'
    >>> why_private("src/environment.py"), why_private(".env.example")
    ('', '')
    """
    found = _matcher("private").search(path)
    if found is None or _matcher("public").search(path):
        return ""
    return _reason(PRIVATE_FILES, path)


def why_runs_programs(path: str) -> str:
    """What makes a program run or obey this file; '' if nothing that is known.

    >>> why_runs_programs("web/.husky/pre-commit")
    'git runs its files as hooks'
    >>> why_runs_programs("src/main.py")
    ''
    """
    return _reason(PROGRAM_FILES, path) if _matcher("programs").search(path) else ""


def private_files_of_homes() -> tuple[str, ...]:
    """The private files and folders with a fixed place, from a home folder on.

    >>> ".ssh" in private_files_of_homes()
    True
    """
    return tuple(
        each.removesuffix("/")
        for patterns in PRIVATE_FILES.values()
        for each in _patterns(patterns)
        if "*" not in each
    )


@cache
def _matcher(table: str) -> re.Pattern[str]:
    match table:
        case "private":
            return _regex(" ".join(PRIVATE_FILES.values()))
        case "programs":
            return _regex(" ".join(PROGRAM_FILES.values()))
        case _:
            return _regex(_NOT_PRIVATE)


@cache
def _regex(patterns: str) -> re.Pattern[str]:
    """Matches a path that is one of the patterns or in one of their folders."""
    files = "|".join(_glob(each) for each in _patterns(patterns) if not each.endswith("/"))
    files = files or "(?!)"
    folders = "|".join(_glob(each[:-1]) for each in _patterns(patterns) if each.endswith("/"))
    folders = f"|(?:{folders})(?:/|$)" if folders else ""
    return re.compile(f"(?:^|/)(?:(?:{files})/?${folders})", re.IGNORECASE)


def _reason(table: Mapping[str, str], path: str) -> str:
    return next(why for why, patterns in table.items() if _regex(patterns).search(path))


def _glob(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", "[^/]*")


def _patterns(patterns: str) -> list[str]:
    """The patterns of a line. `Application Support` is the one name with a space in it."""
    joined = patterns.replace("Application Support", "Application\0Support")
    return [each.replace("\0", " ") for each in joined.split()]
