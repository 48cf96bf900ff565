"""A phrasebook of short decisions and questions, and of sentences that only look like them.

Each entry is the last sentence of the model and the answer of the user.
"""

import pytest

from tests.analysis.ledger.dialogue.dialogues import conversation_ledger

DECIDES = [
    ("Which database should I target?", "Postgres 16 please."),
    ("Do you want the CLI in Go or Rust?", "Rust, the team knows it better."),
    ("I'd put the retry logic into a decorator.", "Hmm, no. Put it in the client class."),
    (
        "I could write a small queue or use cron. What do you prefer?",
        "Neither. We already have a job queue, reuse that one.",
    ),
    ("I'd create one table for this.", "Fine with me, but name the table audit_log."),
    ("1. poll\n2. push\nWhich one?", "Option 2 sounds best."),
    (
        "There are two approaches: a cache or a view. Which do you want?",
        "The second approach please.",
    ),
    ("ok", "Let's do A but keep the old flag around."),
    ("ok", "I think a plain dict is enough here."),
    ("ok", "We only support Python 3.11+."),
    ("ok", "From now on every endpoint returns JSON errors."),
    ("ok", "No migrations in this PR."),
    ("Where should the check live?", "That should live in the service layer, not in the view."),
    ("ok", "Default to dark mode."),
    ("ok", "Let's call the package 'quill'."),
    ("ok", "Please don't use ORMs here, raw SQL only."),
    ("I'd roll it out slowly.", "Good idea, let's do it with a feature flag."),
    ("ok", "The config belongs in pyproject.toml."),
    ("ok", "Ok so we settle for eventual consistency."),
    ("ok", "I want this to be opt-in."),
    ("ok", "It has to work offline."),
    ("How long should tokens live?", "15 minutes, and refresh tokens 30 days"),
    ("ok", "We'd better use UTC everywhere."),
    ("Do you want an index and a trigger?", "Yes to the index, no to the trigger."),
    ("Metrics or logs?", "Both, behind a flag."),
    ("Should the limit be per user or per tenant?", "Per tenant."),
    ("ok", "Forget the websocket, polling every 10s will do."),
    ("ok", "Just hardcode it for now."),
    ("ok", "Stay on Node 18 until the LTS date."),
    ("I'd move the tests beside the code.", "Nope, keep the tests where they are."),
    ("ok", "Reuse the existing logger."),
    ("ok", "we go with gRPC"),
    ("ok", "decided: monorepo"),
    ("ok", "I prefer composition over inheritance here."),
    ("ok", "Make retries opt-in."),
    ("ok", "Make the cache size configurable."),
    ("ok", "Turn off telemetry by default."),
    ("ok", "All timestamps in UTC."),
    ("ok", "English only for the error messages."),
    ("ok", "Not SQLite, Postgres."),
    ("ok", "lets use the simple version"),
    ("ok", "we want strict mode on by default"),
    ("I'd rather have one big file.", "No, split it by feature."),
    ("Do you want soft deletes?", "no, hard deletes are fine"),
    ("Should errors be returned or raised?", "raise them"),
    ("ok", "I'd like the IDs to be UUIDs."),
    ("What should the command be called?", "tend"),
    ("ok", "This must never block the main thread."),
    ("ok", "Leave the public API untouched."),
    ("Which port?", "8443"),
    ("ok", "OK let's standardize on pnpm across all packages."),
    ("ok", "Alright, final answer: two services, one database."),
    ("I'd recommend Kafka here.", "Kafka is too heavy for us, RabbitMQ then."),
    ("ok", "We're going to support only Linux and macOS in the first release."),
    ("Should we version the API in the URL or a header?", "URL versioning, like /v1/."),
    ("ok", "I've decided we won't do multi-region."),
    ("ok", "Let's hold off on caching until we have numbers."),
    ("ok", "Please use async everywhere, no blocking calls."),
    ("ok", "The feature flag stays off until Monday."),
    ("ok", "Store amounts in cents."),
    ("Do you want me to use a class or plain functions?", "plain functions"),
    ("ok", "Instead of polling we should listen to events."),
    ("ok", "We agreed with legal to keep logs for 90 days."),
    ("ok", "Let's go back to the first design."),
    ("ok", "I'd prefer if the job ran nightly."),
    ("ok", "use snake_case for the columns"),
    ("How should I handle duplicates?", "ignore them, last write wins"),
    ("ok", "Let's agree on this: no shared state between workers."),
    ("ok", "We won't support IE."),
    ("ok", "Keep backwards compatibility with 1.x."),
    ("I propose a monthly partition.", "weekly is better"),
    ("ok", "ditch the ORM, plain SQL"),
    ("ok", "Let's just make it a 404."),
    ("ok", "The minimum password length is 12."),
    ("ok", "Go with the cheaper instance type."),
    ("Which log level by default?", "warn"),
    ("ok", "I don't think we need Redis, an in-process cache is fine."),
    ("ok", "We need to avoid vendor lock-in, so no Lambda."),
    ("ok", "Let's rename it to Harbor."),
    ("ok", "Treat warnings as errors in CI."),
    ("I'd split this into two PRs.", "ok two PRs"),
    ("ok", "Tailwind, not Bootstrap."),
    ("ok", "Stick to the standard library."),
    ("ok", "we'll do feature branches, squash merge"),
    ("ok", "Let's limit uploads to 10 MB."),
    ("Postgres or MySQL?", "pg"),
    ("ok", "No retries for POST."),
    ("ok", "The default theme should be light."),
    (
        "ok",
        "Thanks. I looked at it with Ana and we think the worker should own the retries. "
        "Please move the code there.",
    ),
    (
        "ok",
        "Hm ok. The thing is, we can't add Redis because ops won't run it, so sessions "
        "go into Postgres. Can you redo the store?",
    ),
    ("ok", "I talked to security. Passwords get hashed with argon2id, bcrypt is out."),
    ("ok", "Please go ahead with the first part only, we'll skip the admin UI for this release."),
    ("ok", "looks good but I'd like the endpoint at /api/v2/orders not /orders/v2"),
    ("ok", "Can you fix the flaky test? I don't care how, just don't add sleeps."),
    (
        "ok",
        "After discussing with the team: the public API stays synchronous, we'll offer "
        "async later.",
    ),
    ("ok", "ok cool. what about logging? let's do structured logs, json to stdout"),
    ("ok", "No. The IDs must be stable across restarts."),
    ("ok", "Let's keep it boring: cron + a shell script."),
    ("ok", "We don't need pagination yet. Add a limit parameter though."),
]
DECIDES_NOTHING = [
    ("ok", "Now add the endpoint for orders."),
    ("ok", "The page takes 12 seconds to load after login."),
    ("ok", "It breaks after 10 minutes."),
    ("ok", "Can you explain how the scheduler works?"),
    ("ok", "Tests are green, let's commit."),
    ("ok", "I get a 500 when I post an empty body."),
    ("ok", "Update the README and bump the version."),
    ("Done. Which file is next?", "open src/main.rs"),
    ("ok", "What happens if the queue is full?"),
    ("ok", "Please review my last commit."),
    ("ok", "run it again with debug on"),
    ("ok", "hmm that's weird"),
    ("ok", "I'm not sure this is right."),
    ("ok", "The import job ran for two hours last night."),
    ("ok", "Add a test for the empty case too."),
    ("ok", "show me the diff"),
    ("Should it be sync or async?", "wait, why is the test failing now?"),
    ("ok", "thanks, works now"),
    ("ok", "It should print 5 but prints 6."),
    ("ok", "Look at the logs in var/log first."),
    ("ok", "Where do we use the legacy client?"),
    ("I fixed the typo.", "great, next one is the login form"),
    ("ok", "The customer wants to see a total per month."),
    ("ok", "commit this and open a PR"),
    ("ok", "I'll be away for ten minutes"),
    ("ok", "hold on, phone"),
    ("ok", "Is there a way to only run the failed tests?"),
    ("ok", "You changed the wrong file."),
    ("ok", "don't worry about it"),
    ("ok", "Our users are complaining about slow search."),
    ("ok", "Could you run the migration on staging?"),
    ("ok", "The deploy is stuck at step 3."),
    ("ok", "I pushed a fix, pull again."),
    ("ok", "Why did you choose a list here?"),
    ("ok", "Add logging around the retry loop."),
    ("ok", "Check whether the index is used."),
    ("ok", "The tests only fail on CI."),
    ("ok", "My colleague says the API is slow."),
    ("ok", "I see two failures in test_orders.py."),
    ("ok", "Nice, that was quick."),
    ("ok", "Let's look at the auth module first."),
    ("ok", "continue"),
    ("ok", "Give me a short summary of what changed."),
    ("ok", "What's the status?"),
    ("ok", "The button should be blue but it's grey."),
    ("ok", "I think there's a race condition somewhere."),
    ("ok", "Try with a smaller batch."),
    ("ok", "Rebase onto main and resolve the conflicts."),
    ("ok", "Is it possible to use webhooks instead of polling?"),
    ("ok", "I only have ten minutes left today."),
    ("ok", "Remove the debug prints."),
    ("ok", "That didn't work, same error."),
    ("ok", "Explain the difference between the two."),
    ("ok", "We had this problem last year too."),
    ("ok", "Let's write the tests now."),
    ("ok", "The invoice number is missing in the PDF."),
    ("ok", "Please translate the page to German."),
    ("ok", "Show me all places where we parse dates."),
    ("I've updated the docs.", "perfect, thanks"),
    ("ok", "It works on my machine."),
    ("ok", "Do the same for the other three handlers."),
    ("ok", "Here's the stack trace, it happens every second request."),
    ("ok", "The spec says the header is optional, so handle the missing case."),
    ("ok", "I ran it locally and got the same result as you. Any other ideas?"),
    ("ok", "First read the docs folder, then tell me what is outdated."),
    ("ok", "My branch is called feature/login, use that as the base."),
    ("ok", "It's friday, let's wrap up. Commit what you have."),
    ("ok", "Could be a caching issue. Clear the cache and try again."),
    ("ok", "Great work! The page loads in 300 ms now."),
    ("ok", "There are two users who reported this, both on Safari."),
    ("ok", "We have about 2 million rows in that table."),
    ("ok", "Generate 50 fake customers for the demo."),
    ("ok", "Is Rust a good choice for this, or would Go be simpler?"),
    ("ok", "Explain why you used a mutex there instead of a channel."),
    ("ok", "The old code did it in one query. Yours needs three. Can you improve that?"),
    ("ok", "I need the report by 5 pm, so please be quick."),
    ("ok", "Let me know when you're done."),
]
CONVERSATIONS = [
    (("Add quotas.", "Done. One open question: should drafts count towards the quota?"), 1),
    (("Add quotas.", "Done. What's the retention period for audit logs?"), 1),
    (("Add quotas.", "Done. Let me know whether the old endpoint can go."), 1),
    (("Add quotas.", "Done. Let me know if you need anything else."), 0),
    (("Add quotas.", "Done. Let me know if you'd like me to add tests."), 0),
    (("Add quotas.", "Done. Please confirm which region the bucket should be in."), 1),
    (
        (
            "Add quotas.",
            "Done. Do the mobile clients still call the old endpoint?",
            "Next, fix the typo in the footer.",
            "Fixed.",
        ),
        0,
    ),
    (
        (
            "Add quotas.",
            "Done. Do the mobile clients still call the old endpoint?",
            "No, they moved last year.",
            "Great.",
        ),
        0,
    ),
    (
        (
            "Add quotas.",
            "Done. Do the mobile clients still call the old endpoint?",
            "I don't know, need to check with the mobile team. Go on with the docs.",
            "Docs done.",
        ),
        1,
    ),
    (
        (
            "We still need to decide how long to keep backups. For now write the script.",
            "Script written.",
        ),
        1,
    ),
    (
        (
            "How do we deal with refunds? Let's leave that open for now and do payments first.",
            "Payments done.",
        ),
        1,
    ),
    (("Is there a limit on attachments?", "Yes, 25 MB."), 0),
    (
        (
            "Is there a limit on attachments?",
            "I couldn't find one in the code; it may be enforced by the proxy.",
        ),
        1,
    ),
    (("Why is it slow?", "Because the index is missing. I added it."), 0),
    (
        (
            "What should we name it?",
            "How about 'quill'? Short and free on PyPI.",
            "quill is nice, take it",
            "ok",
        ),
        0,
    ),
    (("Fix it.", "Fixed. Should I also update the changelog?"), 0),
    (("Fix it.", "Fixed. Want me to open a PR?", "later", "ok"), 0),
    (
        (
            "Plan the rollout.",
            "Two things: (1) who approves the release, and (2) do we need a maintenance window?",
            "Tom approves it.",
            "Noted.",
        ),
        0,
    ),
    (
        (
            "Plan it.",
            "Do you want daily or weekly digests?",
            "what is a digest?",
            "A summary mail.",
        ),
        1,
    ),
    (
        (
            "Plan it.",
            "Do you want daily or weekly digests?",
            "what is a digest?",
            "A summary mail.",
            "weekly then",
            "ok",
        ),
        0,
    ),
    (("Do we need to support Windows? I'm not sure yet.", "Then I'd leave it out for now."), 1),
    (
        (
            "TODO: find out which license the fonts have. Continue with the layout please.",
            "Layout done.",
        ),
        1,
    ),
]


@pytest.mark.parametrize(("asked", "answer"), DECIDES)
def test_a_decision_is_found(asked: str, answer: str) -> None:
    assert {
        d.turn for d in conversation_ledger("Let me see.", asked, answer, "Done.").decisions
    } == {2}


@pytest.mark.parametrize(("asked", "answer"), DECIDES_NOTHING)
def test_other_sentences_are_no_decisions(asked: str, answer: str) -> None:
    assert conversation_ledger("Let me see.", asked, answer, "Done.").decisions == ()


@pytest.mark.parametrize(("said", "left"), CONVERSATIONS)
def test_the_number_of_open_questions(said: tuple[str, ...], left: int) -> None:
    assert len(conversation_ledger(*said).questions) == left


@pytest.mark.parametrize(
    "reply",
    [
        "I decided to store the blobs on disk, because the table would grow too fast.",
        "I went with SQLite for the tests.",
        "I chose UUIDv7 over v4 so that the index stays compact.",
        "I'll go with the decorator approach.",
        "We'll use a single transaction rather than one per row.",
    ],
)
def test_a_model_may_decide(reply: str) -> None:
    assert [d.by for d in conversation_ledger("Do it.", reply).decisions] == ["model"]


@pytest.mark.parametrize(
    "reply",
    [
        "I'll use ripgrep to find the callers.",
        "I'll add a test for that first.",
        "The function now returns early instead of raising.",
        "I've replaced the loop with a comprehension.",
        "Let's look at the failing test.",
        "I used sed to rename it everywhere.",
        "This uses a heap rather than sorting each time.",
        "Next I'll write the migration.",
    ],
)
def test_a_report_of_a_model_is_no_decision(reply: str) -> None:
    assert conversation_ledger("Do it.", reply).decisions == ()
