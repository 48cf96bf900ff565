"""What was pasted is told from what was typed by its form, in linear time."""

import time

import pytest

from sapwood.analysis.language.pasted_text import typed_text

ENOUGH = 5.0
"""Seconds of processor time; a quadratic rule would take far longer."""

PASTES = {
    "service log": "2026-02-06T11:38:00.185Z  [GET] /a status=304\n"
    "2026-02-06T11:38:05.459Z  use the cache instead\n    at f (/var/task/x.js:1:2)",
    "syslog": "Mar 02 10:14:07 web3 gunicorn[811]: let's keep 2 workers\n"
    "Mar 02 10:14:08 web3 gunicorn[811]: never use 4",
    "build log": "Run cargo build --locked\n  Compiling a v0.4.2 (/srv/r/a)\n"
    "error[E0433]: use of undeclared crate\n  --> src/log.rs:12:5\n   |\n"
    "help: you should use the `b` crate instead of `log`\nnote: we will only support 2021",
    "stack trace": 'Traceback (most recent call last):\n  File "/a.py", line 8, in <module>\n'
    "    main()\nValueError: use --version instead of TAG",
    "table": "name;day;note\nAda;Mo 15:00;keep the old one\nBob;Di 14:00;no mail\nEve;Mi 9:00;",
    "csv": "job,started,seconds,note\nlint,09:00,312,use the cached image\nunit,09:01,1422,keep 4",
    "chat": "maren  14:02\nthe job died again\njo  14:03\nlet's just disable it\njo  14:05\n"
    "then retry it three times",
    "chat on one line": "#finance-ops\nLeonie  01:31  reminder: we keep the last 24h",
    "mail": "From: Dana\nDate: Sun, 8 Feb 2026 16:02\nSubject: Re: pricing\n\nLooks great!\n\n"
    "Let's do yearly for schools only.\n\nD.",
    "letter": "Hello dear, a small thing. The mail says 16:00.\n"
    "Should I tell everyone to ignore it?\nGreetings from Lagos, F. Okafor",
    "diff": "diff --git a/x.py b/x.py\n@@ -1,2 +1,2 @@\n-use(a)\n+use(b)  # let's use b",
    "shell": "$ npm test\n> jest\nPASS src/a.test.ts\n1 passed",
    "alert": "[FIRING:1] KafkaDiskUsage (critical)\ndata-0 97% of 480Gi, full in 1h12m\n"
    "[FIRING:1] ConsumerLag 1.98M and rising",
    "code": "```\n# let's use the cache\nuse(x)\n```",
}


@pytest.mark.parametrize("kind", PASTES)
@pytest.mark.parametrize("end", ["", "\n\nuse the second one"])
def test_a_paste_is_left_out_and_what_is_around_it_stays(kind: str, end: str) -> None:
    typed = typed_text(f"what is this, from the server:\n\n{PASTES[kind]}{end}")
    assert typed.split() == f"what is this, from the server: {end}".split()


@pytest.mark.parametrize(
    "prompt",
    [
        "Use Redis.\nKeep the old endpoint.\n\n- no new dependencies\n- tests first",
        "Two things:\n1. rename it to Harbor\n2. drop XML\n\nThanks, and don't touch the API.",
        "Hello,\n\nplease use tabs.\nnote: the default stays 10\n\nThanks",
        "drain tomorrow at 10:00\nleave it schedulable until then",
        "Sizes: system 1..3, general 4..24\nmandate = member number",
        "brauch pdf rechnungen\nflask app, schau app/billing.py an",
        "https://app.example/oauth/callback\nuse that",
        "Decision: SQLite\nReason: one user\nOpen: backups",
    ],
)
def test_what_was_typed_stays(prompt: str) -> None:
    assert typed_text(prompt) == prompt


@pytest.mark.parametrize(
    "text",
    [
        "x" * 3_000_000,
        "x" * 100_000 + "\n" + "y" * 100_000,
        "a " * 1_500_000,
        "word word, word\n" * 200_000,
        "2026-01-01 10:00:00 x\n" * 200_000,
        "(" * 100_000 + "\nb",
        "a=b " * 300_000 + "\n",
        " " * 1_000_000 + "\nx",
        "From: a\nTo: b\n" * 100_000,
        "name  10:00\n" * 100_000,
    ],
)
def test_it_takes_linear_time(text: str) -> None:
    started = time.process_time()
    typed_text(text)
    assert time.process_time() - started < ENOUGH
