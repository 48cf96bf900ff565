# Every task of the project. `just` alone runs the check of a change; `just --list` shows the rest.
# To have `just` before there is a `.venv`: pip install rust-just

set positional-arguments

# The tools are those of `.venv`, whatever else is installed.
export PATH := justfile_directory() / ".venv/bin:" + env("PATH")
export VIRTUAL_ENV := justfile_directory() / ".venv"
# Pyright comes with its own node and must not ask a registry for a newer self.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := "1"
# Start-up times are judged with compiled modules.
unexport PYTHONDONTWRITEBYTECODE

compile := "uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header"

# Distributions of this repository are installed from it, and never pinned.
others := "--no-emit-package sapwood --no-emit-package sapwood-acp --no-emit-package sapwood-frameworks --no-emit-package sapwood-server --no-emit-package sapwood-temporal"

audit_tools := "uv run --quiet --isolated --no-project --with-requirements requirements/audit.txt"

# The check of a change; the tests come last so that their closing line does
[group('check')]
check: check-static web-test test-parallel

# The part of it that runs no test but doctests: `.ci/run` runs it next to the tests
[group('check')]
check-static: fmt-check lint contracts types doctest

# Format, lint, contracts, types, and the tests of what changed, in at most 3 minutes
[group('check')]
quick *ARGS:
    python -m tools.quick "$@"

# The long checks, one line each: `just night`, or `just night attack e2e` for some
[group('check')]
night *ARGS:
    python -m tools.night "$@"

# Make `.venv` with every extra and group from the hashed requirements
[group('release')]
setup:
    [ -x .venv/bin/python ] || python3 -m venv .venv
    command -v uv > /dev/null || python -m pip install --quiet --require-hashes -r requirements/boot.txt
    uv pip sync --quiet --require-hashes requirements/dev.txt
    for each in . packages/*; do uv pip install --quiet --no-deps --no-build-isolation --editable "$each" || exit 1; done

# Format the code and sort its imports
[group('check')]
fmt:
    ruff check --quiet --select I --fix
    ruff format

# Is everything formatted?
[group('check')]
fmt-check:
    ruff format --check

# Lint; `just lint --fix` repairs what it can
[group('check')]
lint *ARGS:
    ruff check "$@"

# With its default space for new objects, node collects garbage for a sixth of the time that this takes
# Types, strict
[group('check')]
types *ARGS:
    NODE_OPTIONS="${NODE_OPTIONS:-} --max-semi-space-size=64" pyright "$@"

# The layers, as import contracts
[group('check')]
contracts:
    lint-imports --no-logo

# Tests; arguments go to pytest
[group('check')]
test *ARGS:
    python -m pytest "$@"

# The tests of the check but those of the page, several at a time; durations go to dist/tests.xml
[group('check')]
test-parallel *ARGS:
    python -m tools.postgres --volatile -- python -m pytest -n 3 --dist worksteal -m 'not night' \
        --ignore tests/web --durations 20 --junitxml dist/tests.xml "$@"

# The tests that are too long for the check of a change, and all property tests with more examples
[group('check')]
test-night *ARGS:
    HYPOTHESIS_PROFILE=night python -m tools.postgres --volatile -- \
        python -m pytest -n 3 --dist worksteal -m 'night or hypothesis' "$@"

# The examples in docstrings
[group('check')]
doctest *ARGS:
    python -m pytest -q --doctest-modules src packages/*/src \
        --ignore packages/sapwood-frameworks/src/sapwood_frameworks/google_adk.py \
        --ignore packages/sapwood-frameworks/src/sapwood_frameworks/langgraph.py "$@"

# One benchmark; prints its figure last and fails when it is short
[group('measure')]
bench NAME *ARGS:
    python -m bench "$@"

# The size of `pip install sapwood` and of each extra: `just sizes`, `just sizes all`
[group('measure')]
sizes *ARGS:
    python -m tools.sizes "$@"

# Lines, files and names used more than once, by distribution; `--names` lists the names
[group('measure')]
lines *ARGS:
    python -m tools.lines "$@"

# Every benchmark, small
[group('measure')]
bench-quick:
    python -m bench all --quick

# How well ledger, chapters, recap, needs, search or offers do on labelled sessions: `just eval ledger`
[group('measure')]
eval NAME *ARGS:
    python -m evals "$@"

# Everything end to end, in four wire formats against a scripted model
[group('prove')]
e2e *ARGS:
    python -m proofs.e2e "$@"

# A fork bomb and a rewind loop of a scripted model end by the default budgets; prints the counts
[group('prove')]
bounds:
    python -m pytest -q -rP tests/cli/test_bounds.py

# The laws, on generated histories
[group('prove')]
prove *ARGS:
    python -m proofs.laws "$@"

# The Python face, called with wrong, odd and hostile arguments
[group('prove')]
prove-gate *ARGS:
    python -m proofs.gate "$@"

# Generated histories of a workspace with reverts, some of them killed: nothing is lost
[group('prove')]
prove-revert *ARGS:
    python -m proofs.revert "$@"

# Generated histories with forks, mail and shared texts, then erasures, some killed: nothing is left
[group('prove')]
prove-erase *ARGS:
    python -m proofs.erase "$@"

# Writers killed at random moments
[group('prove')]
crash *ARGS:
    python -m proofs.crash "$@"

# Workers killed at random moments while agents work
[group('prove')]
crash-runtime *ARGS:
    python -m proofs.crash_runtime "$@"

# Workers of an older version and of this one on one database under load: `just rolling-upgrade --old v0.1.0`
[group('prove')]
rolling-upgrade *ARGS:
    python -m proofs.rolling_upgrade "$@"

# A service with 3 workers for all spaces and 100 tenants, and twelve faults: `just service --fault failover --turns 200`
[group('prove')]
service *ARGS:
    python -m proofs.service "$@"

# Spaces that move between three cells behind the router, some movers killed: `just cells --spaces 30 --moves 6 --kills 2`
[group('prove')]
cells *ARGS:
    python -m proofs.cells "$@"

# Kills of a screen that works on a goal with prompts in its queue: `just crash-screen --rounds 2`; needs tmux
[group('prove')]
crash-screen *ARGS:
    python -m proofs.crash_screen "$@"

# Answers interrupted while they stream to a screen: `just crash-stream --interruptions 20`; needs tmux
[group('prove')]
crash-stream *ARGS:
    python -m proofs.crash_stream "$@"

# The screen: every key and command, its geometry, and pictures of every kind of row
[group('check')]
tui-test *ARGS:
    python -m pytest tests/tui "$@"

# The web page in a real chromium, against the scripted model: stories, geometry, pictures
[group('check')]
web-test *ARGS:
    python -m pytest tests/web -m 'not night' --junitxml dist/web-tests.xml "$@"

# The stories of the page with each answer 300 ms late: finds what acts before the script or an answer is there
[group('prove')]
web-slow *ARGS:
    SAPWOOD_WEB_SLOW=300 python -m pytest tests/web -m 'not night' --ignore tests/web/test_accessibility.py "$@"

# The screen in a real terminal, against the scripted model; needs tmux
[group('prove')]
tui-tmux *ARGS:
    python -m proofs.tui_tmux "$@"

# The first minute of a new user, from the built wheel: six ways in and the dead ends; needs tmux, chromium
[group('prove')]
first-minute *ARGS:
    python -m proofs.first_minute "$@"

# Make the pictures in docs/images from scripted conversations; look at them before you commit
[group('write')]
screenshots *ARGS:
    python -m tools.pictures "$@"

# Make docs/images/web.png, the picture of the web page; look at it before you commit
[group('write')]
web-picture:
    python -m tools.pictures.web_page

# Record the real Claude Code and Codex for docs/images; `--frames FOLDER` also writes stills to look at
[group('real programs')]
recordings *ARGS:
    python -m tools.pictures.program_recording "$@"

# Draw the pictures of tests/tui/snapshots anew; look at them before you commit
[group('check')]
tui-pictures:
    SAPWOOD_WRITE_SNAPSHOTS=1 python -m pytest tests/tui/test_snapshots.py tests/tui/test_dialogs.py

# Every tool called with hostile arguments, through the runtime
[group('prove')]
fuzz-tools *ARGS:
    python -m proofs.fuzz_tools "$@"

# Transcripts damaged at random
[group('prove')]
fuzz-sources *ARGS:
    python -m proofs.fuzz_sources "$@"

# The real Claude Code and Codex, tended from end to end; fetches them on first use
[group('real programs')]
agents-e2e *ARGS:
    python -m proofs.agents_e2e "$@"

# `just providers-e2e codex --act clip`, `just providers-e2e --act generated --sessions 60 --seed 0`
# Every act on the real sessions of all programs; `--act clip` tries one, `--write` writes the guide
[group('real programs')]
providers-e2e *ARGS:
    python -m proofs.providers_e2e "$@"

# The probe with released versions of all programs, and their own compactions; `--last 15` tries more
[group('real programs')]
versions *ARGS:
    python -m proofs.versions "$@"

# The web page drives the real Claude Code and Codex, with a trim in the middle; needs chromium
[group('real programs')]
web-scene *ARGS:
    python -m proofs.web_scene "$@"

# The real AG-UI client and the OpenAI Agents SDK against `sapwood serve`; fetches them on first use
[group('prove')]
protocols *ARGS:
    python -m proofs.protocols "$@"

# Write what is promised of Python and `/v1` from now on: `just promise --because "REASON"`
[group('release')]
promise *ARGS:
    python -m tools.promise "$@"

# The API as it is described: valid, typed, every answer of the route tests fits it, and generated clients work
[group('prove')]
contract *ARGS:
    python -m pytest -q -rP tests/server/test_contract.py "$@"
    python -m pytest -q tests/server "$@"
    python -m proofs.protocols python typescript

# The deployment files, checked by the real programs that are installed; prints what was not checked
[group('prove')]
deploy-check:
    python -m proofs.deploy

# Two servers behind Caddy, restarted in turn under load: followers miss and double nothing
[group('prove')]
rolling-restart *ARGS:
    python -m proofs.deploy.restart "$@"

# Seven incidents on a real server, workers, PostgreSQL and Prometheus: alert, log line, cure; `just incidents stuck_worker` for one
[group('prove')]
incidents *ARGS:
    python -m proofs.incidents "$@"

# Sessions of the real Claude Code and Codex, changed at rest from the command line
[group('real programs')]
beside-e2e *ARGS:
    python -m proofs.providers_e2e.beside "$@"

# Sapwood and the real programs killed at random moments: `just crash-providers --kills 10`
[group('real programs')]
crash-providers *ARGS:
    python -m proofs.crash_providers "$@"

# Each integration with its real framework; `just integrations openai_agents` tries one
[group('prove')]
integrations *ARGS:
    python -m proofs.integrations "$@"

# Every trap of the real Codex that was found, one by one; fetches it on first use
[group('real programs')]
codex-traps *ARGS:
    python -m proofs.providers_e2e.codex_traps "$@"

# Every act and every trap of the real opencode; `just opencode-e2e --kills 10` kills it around changes
[group('real programs')]
opencode-e2e *ARGS:
    python -m proofs.opencode "$@"

# Every known trap of Claude Code's sessions, with the real program; `just claude-traps rewind` tries one
[group('real programs')]
claude-traps *ARGS:
    python -m proofs.providers_e2e.claude_traps "$@"

# Every known attack, on the built program; `just attack S1` tries one
[group('attack')]
attack *ARGS:
    python -m proofs.attack "$@"

# Hostile and harmless command lines, through the real decision with typical rules; prints both counts
[group('attack')]
attack-commands:
    python -m proofs.attack_commands

# Attacks on the server by HTTP, and on its page in a real chromium; `just attack-web no_token` tries one
[group('attack')]
attack-web *ARGS:
    python -m proofs.attack_web "$@"

# Every sentence that a person can meet, with its place; `just strings --sample 100 --seed 7` for some
[group('write')]
strings *ARGS:
    python -m tools.strings "$@"

# Build the documentation with search into dist/site; check links and origins, ask a newcomer's questions
[group('write')]
site *ARGS:
    python -m tools.site "$@"

# Write docs/reference/ from the code that it describes
[group('write')]
reference *ARGS:
    python -m tools.reference "$@"

# Write the catalogue of models (windows, prices) from the list of genai-prices
[group('write')]
prices:
    python -m tools.catalogue

# Recompile the hashed requirements; `just lock --upgrade` moves to the newest versions
[group('release')]
lock *ARGS:
    {{ compile }} {{ others }} pyproject.toml --extra all --extra meaning --extra temporal --group dev --output-file requirements/dev.txt "$@"
    {{ compile }} --group boot --constraints requirements/dev.txt --output-file requirements/boot.txt
    {{ compile }} --group audit --output-file requirements/audit.txt "$@"
    {{ compile }} --group site --output-file requirements/site.txt "$@"
    for each in proofs/integrations/requirements/*.in; do {{ compile }} "$each" --output-file "${each%.in}.txt" "$@"; done

# Known vulnerabilities of every pinned dependency; needs a network that reaches a database of them
[group('release')]
audit *ARGS:
    {{ audit_tools }} pip-audit --strict --disable-pip --require-hashes -r requirements/dev.txt "$@"

# A bill of materials (CycloneDX) of what `pip install sapwood[all]` brings: dist/sbom.json
[group('release')]
sbom:
    mkdir -p dist
    {{ compile }} {{ others }} pyproject.toml --extra all --constraints requirements/dev.txt > dist/requirements.txt
    {{ audit_tools }} cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
        --output-file dist/sbom.json dist/requirements.txt

# Build the wheels of all distributions into dist/, without a network
[group('release')]
build:
    for each in . packages/*; do uv build --quiet --wheel --no-build-isolation --out-dir dist "$each" || exit 1; done

# The files of a release in dist/release: wheels, bill of materials, changes, checksums
[group('release')]
release *ARGS:
    python -m tools.release "$@"

# Remove what tools left behind; `.venv` stays
[group('release')]
clean:
    rm -rf build dist .hypothesis .import_linter_cache .pytest_cache .ruff_cache
    find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
