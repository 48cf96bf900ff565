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

audit_tools := "uv run --quiet --isolated --no-project --with-requirements requirements/audit.txt"

# The check of a change; the tests come last so that their closing line does
check: check-static web-test test-parallel

# The part of it that runs no test but doctests: `.ci/run` runs it next to the tests
check-static: fmt-check lint contracts types doctest

# Format, lint, contracts, types, and the tests of what changed, in at most 3 minutes
quick *ARGS:
    python -m tools.quick "$@"

# The long checks, one line each: `just night`, or `just night attack e2e` for some
night *ARGS:
    python -m tools.night "$@"

# Make `.venv` with every extra and group from the hashed requirements
setup:
    [ -x .venv/bin/python ] || python3 -m venv .venv
    command -v uv > /dev/null || python -m pip install --quiet --require-hashes -r requirements/boot.txt
    uv pip sync --quiet --require-hashes requirements/dev.txt
    uv pip install --quiet --no-deps --no-build-isolation --editable .
    uv pip install --quiet --no-deps --no-build-isolation --editable packages/scripted-model

# Format the code and sort its imports
fmt:
    ruff check --quiet --select I --fix
    ruff format

# Is everything formatted?
fmt-check:
    ruff format --check

# Lint; `just lint --fix` repairs what it can
lint *ARGS:
    ruff check "$@"

# Types, strict
types *ARGS:
    pyright "$@"

# The layers, as import contracts
contracts:
    lint-imports --no-logo

# Tests; arguments go to pytest
test *ARGS:
    python -m pytest "$@"

# The tests of the check but those of the page, several at a time, since many wait; durations of all
# go to dist/tests.xml
test-parallel *ARGS:
    python -m tools.postgres --volatile -- python -m pytest -n 4 --dist worksteal -m 'not night' \
        --ignore tests/web --durations 20 --junitxml dist/tests.xml "$@"

# The tests that are too long for the check of a change, and all property tests with more examples
test-night *ARGS:
    HYPOTHESIS_PROFILE=night python -m tools.postgres --volatile -- \
        python -m pytest -n 3 --dist worksteal -m 'night or hypothesis' "$@"

# The examples in docstrings
doctest *ARGS:
    python -m pytest -q --doctest-modules src packages/scripted-model/src \
        --ignore src/sapwood/integrations/google_adk.py --ignore src/sapwood/integrations/langgraph.py "$@"

# One benchmark; prints its figure last and fails when it is short
bench NAME *ARGS:
    python -m bench "$@"

# The size of `pip install sapwood` and of each extra: `just sizes`, `just sizes all`
sizes *ARGS:
    python -m tools.sizes "$@"

# Every benchmark, small
bench-quick:
    python -m bench all --quick

# How well ledger, chapters or recap do on labelled sessions: `just eval ledger`
eval NAME *ARGS:
    python -m evals "$@"

# Everything end to end, in four wire formats against a scripted model
e2e *ARGS:
    python -m proofs.e2e "$@"

# A fork bomb and a rewind loop of a scripted model end by the default budgets; prints the counts
bounds:
    python -m pytest -q -rP tests/cli/test_bounds.py

# The laws, on generated histories
prove *ARGS:
    python -m proofs.laws "$@"

# The Python face, called with wrong, odd and hostile arguments
prove-gate *ARGS:
    python -m proofs.gate "$@"

# Generated histories of a workspace with reverts, some of them killed: nothing is lost
prove-revert *ARGS:
    python -m proofs.revert "$@"

# Generated histories with forks, mail and shared texts, then erasures, some killed: nothing is left
prove-erase *ARGS:
    python -m proofs.erase "$@"

# Writers killed at random moments
crash *ARGS:
    python -m proofs.crash "$@"

# Workers killed at random moments while agents work
crash-runtime *ARGS:
    python -m proofs.crash_runtime "$@"

# Workers of an older version and of this one on one database under load: `just rolling-upgrade --old v0.1.0`
rolling-upgrade *ARGS:
    python -m proofs.rolling_upgrade "$@"

# A service with 3 workers for all spaces and 50 tenants, with kills, a restart and a flood: `just service --turns 200`
service *ARGS:
    python -m proofs.service "$@"

# Answers interrupted while they stream to a screen: `just crash-stream --interruptions 20`; needs tmux
crash-stream *ARGS:
    python -m proofs.crash_stream "$@"

# The screen: every key and command, its geometry, and pictures of every kind of row
tui-test *ARGS:
    python -m pytest tests/tui "$@"

# The web page in a real chromium, against the scripted model: stories, geometry, pictures
web-test *ARGS:
    python -m pytest tests/web -m 'not night' --junitxml dist/web-tests.xml "$@"

# The screen in a real terminal, against the scripted model; needs tmux
tui-tmux *ARGS:
    python -m proofs.tui_tmux "$@"

# Make the pictures in docs/images from scripted conversations; look at them before you commit
screenshots *ARGS:
    python -m tools.pictures "$@"

# Make docs/images/web.png, the picture of the web page; look at it before you commit
web-picture:
    python -m tools.pictures.web_page

# Record the real Claude Code and Codex for docs/images; `--frames FOLDER` also writes stills to look at
recordings *ARGS:
    python -m tools.pictures.program_recording "$@"

# Draw the pictures of tests/tui/snapshots anew; look at them before you commit
tui-pictures:
    SAPWOOD_WRITE_SNAPSHOTS=1 python -m pytest tests/tui/test_snapshots.py tests/tui/test_dialogs.py

# Every tool called with hostile arguments, through the runtime
fuzz-tools *ARGS:
    python -m proofs.fuzz_tools "$@"

# Transcripts damaged at random
fuzz-sources *ARGS:
    python -m proofs.fuzz_sources "$@"

# The real Claude Code and Codex, tended from end to end; fetches them on first use
agents-e2e *ARGS:
    python -m proofs.agents_e2e "$@"

# Every act on the real sessions of Claude Code and Codex: `just providers-e2e codex --act clip`,
# `just providers-e2e --act generated --sessions 60 --seed 0`
providers-e2e *ARGS:
    python -m proofs.providers_e2e "$@"

# The web page drives the real Claude Code and Codex, with a trim in the middle; needs chromium
web-scene *ARGS:
    python -m proofs.web_scene "$@"

# The real AG-UI client and the OpenAI Agents SDK against `sapwood serve`; fetches them on first use
protocols *ARGS:
    python -m proofs.protocols "$@"

# The deployment files, checked by the real programs that are installed; prints what was not checked
deploy-check:
    python -m proofs.deploy

# Two servers behind Caddy, restarted in turn under load: followers miss and double nothing
rolling-restart *ARGS:
    python -m proofs.deploy.restart "$@"

# Sessions of the real Claude Code and Codex, changed at rest from the command line
beside-e2e *ARGS:
    python -m proofs.providers_e2e.beside "$@"

# Sapwood and the real programs killed at random moments: `just crash-providers --kills 10`
crash-providers *ARGS:
    python -m proofs.crash_providers "$@"

# Each integration with its real framework; `just integrations openai_agents` tries one
integrations *ARGS:
    python -m proofs.integrations "$@"

# Every trap of the real Codex that was found, one by one; fetches it on first use
codex-traps *ARGS:
    python -m proofs.providers_e2e.codex_traps "$@"

# Every known trap of Claude Code's sessions, with the real program; `just claude-traps rewind` tries one
claude-traps *ARGS:
    python -m proofs.providers_e2e.claude_traps "$@"

# Every known attack, on the built program; `just attack S1` tries one
attack *ARGS:
    python -m proofs.attack "$@"

# Hostile and harmless command lines, through the real decision with typical rules; prints both counts
attack-commands:
    python -m proofs.attack_commands

# Attacks on the server by HTTP, and on its page in a real chromium; `just attack-web no_token` tries one
attack-web *ARGS:
    python -m proofs.attack_web "$@"

# Every sentence that a person can meet, with its place; `just strings --sample 100 --seed 7` for some
strings *ARGS:
    python -m tools.strings "$@"

# Write docs/reference/ from the code that it describes
reference *ARGS:
    python -m tools.reference "$@"

# Write the catalogue of models (windows, prices) from the list of genai-prices
prices:
    python -m tools.catalogue

# Recompile the hashed requirements; `just lock --upgrade` moves to the newest versions
lock *ARGS:
    {{ compile }} pyproject.toml --extra all --group dev --output-file requirements/dev.txt "$@"
    {{ compile }} --group boot --constraints requirements/dev.txt --output-file requirements/boot.txt
    {{ compile }} --group audit --output-file requirements/audit.txt "$@"
    for each in proofs/integrations/requirements/*.in; do {{ compile }} "$each" --output-file "${each%.in}.txt" "$@"; done

# Known vulnerabilities of every pinned dependency; needs a network that reaches a database of them
audit *ARGS:
    {{ audit_tools }} pip-audit --strict --disable-pip --require-hashes -r requirements/dev.txt "$@"

# A bill of materials (CycloneDX) of what `pip install sapwood[all]` brings: dist/sbom.json
sbom:
    mkdir -p dist
    {{ compile }} pyproject.toml --extra all --constraints requirements/dev.txt > dist/requirements.txt
    {{ audit_tools }} cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
        --output-file dist/sbom.json dist/requirements.txt

# Build the wheels of both distributions into dist/, without a network
build:
    uv build --quiet --wheel --no-build-isolation --out-dir dist .
    uv build --quiet --wheel --no-build-isolation --out-dir dist packages/scripted-model

# Remove what tools left behind; `.venv` stays
clean:
    rm -rf build dist .hypothesis .import_linter_cache .pytest_cache .ruff_cache
    find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
