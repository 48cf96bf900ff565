"""Masking: time on the worst texts, the event loop meanwhile, and which secrets are found.

`just bench mask` masks one megabyte of each of the worst texts, and prints the CPU time as
measured, the best of three. On a slow machine the limit is higher by the factor that it prints. It
also prints the time of ordinary texts: the files of this repository, and their lines. It records
turns with such a prompt, reply, argument and result in an SQLite file, while a task measures how
long the event loop waits: the longest wait of each turn, minus the longest wait of the same task
while nothing was done, just before. It masks more than 200 forms of secrets in five forms of text,
and searches the files of this repository. It prints every figure and fails if one is short.
"""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

import sapwood
from bench import QUICK_CPU_SLACK
from bench.machine_speed import python_start_ms, slowness_by
from bench.mask_inputs import MEGABYTE, worst_inputs
from bench.ordinary_texts import ORDINARY
from bench.secret_dressings import DRESSINGS, is_masked
from bench.secret_forms import samples, tuned_forms
from bench.secret_forms_by_place import BY_PLACE
from bench.secret_forms_held_out import HELD_OUT
from bench.texts_of_strangers import ordinary_of_strangers, secrets_of_strangers
from sapwood.redaction import find_secrets, mask_secrets

_LIMIT = 0.25
"""Seconds of CPU for one megabyte."""
_ROUNDS = 3
"""A busy machine may need several rounds; the best counts."""
_MAX_WAIT = 0.050
_SHARE = 0.95
_HELD_OUT_SHARE = 0.70
"""Of forms that no rule was made for. A first list had 63 %, and this one has 75 %. Most misses are
tokens without a name beside them, which no rule can tell from an id. The limit guards against a
loss; it does not promise 95 % of unknown forms."""
_MAX_LEAKS = 5
_FORMS = 200
_FALSE_MASKS = 1.0
"""False masks per 10,000 lines."""
_ROOT = Path(__file__).parents[1]
_CORPORA = ("src", "docs", "tests", "bench", "evals", "proofs", "tools", "packages")
_SUFFIXES = frozenset({".py", ".md", ".jsonl", ".json", ".toml", ".txt", ".svg", ".tcss", ".sql"})
_DATA = ("secret_form", "ordinary_texts")
_SAMPLES = (
    *("hunter2024", "geheim", "pass-word", "Pa$$w0rd99", "winter-is-long-99", "p%40ss"),
    *("sk-ant-api03-", "0aB1cD2eF3gH4iJ5kL6mN7", "sk-secret", "bWU6aHVudGVyMjAyNA=="),
    *("-----BEGIN", "ghp_"),
)
"""Values in this repository that are samples of secrets, and masked rightly."""


def main(argv: list[str]) -> int:
    """Prints the figures. Returns 1 if one is short."""
    quick = "--quick" in argv
    misses = [*_times(quick), *asyncio.run(_waits(quick)), *_shares(), *_leaks(), *_false_masks()]
    for miss in misses:
        print(f"short: {miss}")
    print(f"mask: {f'{len(misses)} figures are short' if misses else 'all figures hold'}")
    return min(len(misses), 1)


def _times(quick: bool) -> Iterator[str]:
    size = MEGABYTE // 5 if quick else MEGABYTE
    slowness = slowness_by([python_start_ms() for _ in range(_ROUNDS)])
    print(f"machine: {slowness:.2f} times slower than the one that the limits were set for")
    limit = _LIMIT * slowness * size / MEGABYTE * (QUICK_CPU_SLACK if quick else 1)
    slowest, count = 0.0, 0
    for name, text in worst_inputs(size):
        best = _best([text], limit)
        slowest, count = max(slowest, best), count + 1
        print(f"{name:28} {best * 1000:5.0f} ms of CPU for {len(text):,} characters")
        if best > limit:
            yield f"{name}: {best:.3f} s of CPU, at most {limit:.3f} s"
    print(f"slowest of {count} texts: {slowest:.3f} s of CPU, at most {limit:.3f} s")
    _print_ordinary(size)


def _print_ordinary(size: int) -> None:
    """Prints the time of ordinary texts, long and short, whole files until the size is reached."""
    files: list[str] = []
    for file in _files():
        if sum(map(len, files)) >= size:
            break
        files.append(file.read_text(encoding="utf-8", errors="replace"))
    lines = [line for file in files for line in file.split("\n") if line]
    for name, texts in (("files", files), ("lines of files", lines)):
        best, count = _best(texts, 0.0), sum(map(len, texts))
        print(f"{name:28} {best * MEGABYTE / count * 1000:5.0f} ms of CPU for each megabyte")


def _best(texts: Sequence[str], limit: float) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        before = time.process_time()
        for text in texts:
            mask_secrets(text)
        best = min(best, time.process_time() - before)
        if best <= limit:
            break
    return best


async def _waits(quick: bool) -> list[str]:
    """Records turns of long texts in a database, and measures how long the event loop waits."""
    size = MEGABYTE // 4 if quick else MEGABYTE
    limit = _MAX_WAIT * (QUICK_CPU_SLACK if quick else 1)
    texts = list(worst_inputs(size))
    misses: list[str] = []
    with TemporaryDirectory() as folder:
        async with sapwood.open(Path(folder) / "wood.db") as db:
            for name, text in texts[::6] if quick else texts:
                best = await _longest_wait(db, text, limit)
                print(f"event loop, {name:28} {best}")
                if best.more > limit:
                    misses.append(f"the event loop, {name}: {best}, limit {limit * 1000:.0f} ms")
    return misses


class _Wait(Struct, frozen=True, order=True):
    """The longest wait while a turn was recorded, and how much longer than at rest it was.

    `cpu` is the CPU time of the whole process during this wait: the rest of it, other programs had
    the processor.
    """

    more: float
    whole: float
    cpu: float

    def __str__(self) -> str:
        return (
            f"{max(0.0, self.more) * 1000:4.0f} ms more than at rest "
            f"(waited {self.whole * 1000:.0f} ms, CPU time in it {self.cpu * 1000:.0f} ms)"
        )


async def _longest_wait(db: sapwood.Sapwood, text: str, limit: float) -> _Wait:
    """Records a turn of such texts; the best of a few rounds."""
    args = json.dumps({"command": text})
    ticker = _Ticker()
    ticking = asyncio.create_task(ticker.run())
    best = _Wait(float("inf"), float("inf"), 0.0)
    for _ in range(_ROUNDS):
        ticker.longest = 0.0
        await asyncio.sleep(_REST)
        idle, ticker.longest = ticker.longest, 0.0
        agent = await db.start("masking")
        async with agent.turn(text) as turn:
            await turn.reply(text, calls=[sapwood.ToolCall("1", "shell", args)])
            await turn.result("1", text)
            await turn.reply("done")
        best = min(best, _Wait(ticker.longest - idle, ticker.longest, ticker.cpu))
        if best.more <= limit:
            break
    ticking.cancel()
    return best


_REST = 0.5


class _Ticker:
    """A task that wakes every few milliseconds and notes the longest delay."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.cpu = 0.0

    async def run(self) -> None:
        """Runs until it is cancelled."""
        pause = 0.002
        while True:
            before, cpu = time.perf_counter(), time.process_time()
            await asyncio.sleep(pause)
            waited = time.perf_counter() - before - pause
            if waited > self.longest:
                self.longest, self.cpu = waited, time.process_time() - cpu


def _shares() -> Iterator[str]:
    forms = tuned_forms()
    if len(forms) < _FORMS:
        yield f"{len(forms)} forms of secrets, at least {_FORMS}"
    for title, given, limit in (
        ("forms", forms, _SHARE),
        ("forms held out", HELD_OUT, _HELD_OUT_SHARE),
    ):
        for dressing in DRESSINGS:
            found = [is_masked(sample, dressing) for sample in samples(given)]
            share = sum(found) / len(found)
            print(f"{title}, {dressing}: {sum(found)} of {len(found)} masked, {share:.1%}")
            if share < limit:
                yield f"{title}, {dressing}: {share:.1%}, at least {limit:.0%}"


def _leaks() -> Iterator[str]:
    """Counts secrets by their place that stay visible, and ordinary texts that are masked."""
    for title, given, limit in (
        ("forms by place", list(samples(BY_PLACE)), _MAX_LEAKS),
        ("texts of strangers", list(secrets_of_strangers()), _MAX_LEAKS),
    ):
        visible = [sample for sample in given if not is_masked(sample, "plain")]
        print(f"{title}: {len(visible)} of {len(given)} left visible, at most {limit}")
        if len(visible) > limit:
            yield f"{title}: {len(visible)} of {len(given)} left visible, at most {limit}"
    ordinary = [*ORDINARY, *ordinary_of_strangers()]
    masked = [text for text in ordinary if find_secrets(text)]
    print(f"ordinary texts: {len(masked)} of {len(ordinary)} masked, at most 0")
    yield from (f"an ordinary text is masked: {text!r}" for text in masked)


def _false_masks() -> Iterator[str]:
    lines, wrong = 0, 0
    for file in _files():
        text = file.read_text(encoding="utf-8", errors="replace")
        lines += text.count("\n") + 1
        for secret in find_secrets(text):
            value = text[secret.start : secret.end]
            if not any(sample in value for sample in _SAMPLES):
                wrong += 1
                print(f"false mask in {file.relative_to(_ROOT)}: {secret.kind} {value[:40]!r}")
    rate = wrong * 10_000 / lines
    print(f"false masks: {wrong} in {lines:,} lines, {rate:.2f} per 10,000, limit {_FALSE_MASKS}")
    if rate > _FALSE_MASKS:
        yield f"{rate:.2f} false masks per 10,000 lines"


def _files() -> Iterator[Path]:
    for name in _CORPORA:
        for file in sorted((_ROOT / name).rglob("*")):
            # Environments of the proofs hold the code of others.
            others = any(part.startswith(".") for part in file.relative_to(_ROOT).parts)
            if file.suffix in _SUFFIXES and not others and not file.name.startswith(_DATA):
                yield file
