"""`python -m proofs.attack_web`: attacks on the server, tried one by one. Fails if one succeeds."""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import sapwood
from bench.served import ServedProcess
from proofs.attack_web.forged_tokens import forged_tokens
from proofs.attack_web.hosted import hosted
from proofs.attack_web.hostile_content import hostile_content, write_hostile_conversation
from proofs.attack_web.raw_http import Target
from proofs.attack_web.requests import ATTACKS
from proofs.attack_web.tenants import TENANT_ATTACKS
from sapwood.config.server_tokens import SCOPES, TokenStore

_Against = TypeVar("_Against")


def main(only: list[str]) -> int:
    """Tries the attacks, or those that are named; returns 1 if one succeeds."""
    succeeded: list[str] = []
    with tempfile.TemporaryDirectory(prefix="sapwood-attack-") as place:
        folder = Path(place)
        attacks = _chosen((*ATTACKS, forged_tokens, hostile_content), only)
        if attacks:
            with ServedProcess(folder) as served:
                succeeded += _try_all(attacks, _target(served))
        by_tenants = _chosen(TENANT_ATTACKS, only)
        if by_tenants:
            with hosted(folder / "hosted") as site:
                succeeded += _try_all(by_tenants, site)
    tried = len(attacks) + len(by_tenants)
    print(f"attacks on the server: {tried} tried, {tried - len(succeeded)} held")
    return 1 if succeeded or not tried else 0


def _chosen(
    attacks: Sequence[Callable[[_Against], None]], only: list[str]
) -> list[Callable[[_Against], None]]:
    return [each for each in attacks if not only or each.__name__ in only]


def _try_all(attacks: Sequence[Callable[[_Against], None]], against: _Against) -> list[str]:
    """Tries attacks one by one. Returns the names of those that succeed."""
    succeeded: list[str] = []
    for attack in attacks:
        began, fault = time.monotonic(), ""
        try:
            attack(against)
        except AssertionError as error:
            fault = str(error) or "an assertion failed"
        sentence = (attack.__doc__ or "").strip()
        print(f"  {attack.__name__:28} {time.monotonic() - began:5.1f} s  {sentence}", flush=True)
        if fault:
            succeeded.append(attack.__name__)
            print(f"       SUCCEEDED: {fault}", flush=True)
    return succeeded


def _target(served: ServedProcess) -> Target:
    tokens = served.folder / "data/sapwood/server-tokens.json"
    store, secret = TokenStore(tokens), "only-the-other-space-says-this"
    with sapwood.open_sync(served.database, space="other") as db:
        hidden = db.start(f"heron {secret}")
        hidden.record(f"The heron is blue: {secret}", f"Heron: {secret}")
    return Target(
        served.port,
        store.create("all", "local", SCOPES)[0],
        store.create("reader", "local", ("read",))[0],
        store.create("expired", "local", SCOPES, seconds=-1)[0],
        store.create("other", "local", SCOPES)[0],
        store.create("", "local", SCOPES, kind="session")[0],
        write_hostile_conversation(served.database),
        hidden.id,
        secret,
        tokens,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
