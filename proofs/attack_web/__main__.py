"""`python -m proofs.attack_web`: attacks on the server, tried one by one. Fails if one succeeds."""

import sys
import tempfile
import time
from pathlib import Path

import sapwood
from bench.served import ServedProcess
from proofs.attack_web.forged_tokens import forged_tokens
from proofs.attack_web.hostile_content import hostile_content, write_hostile_conversation
from proofs.attack_web.raw_http import Target
from proofs.attack_web.requests import ATTACKS
from sapwood.config.server_tokens import SCOPES, TokenStore


def main(only: list[str]) -> int:
    """Tries the attacks, or those that are named; returns 1 if one succeeds."""
    attacks = [
        each
        for each in (*ATTACKS, forged_tokens, hostile_content)
        if not only or each.__name__ in only
    ]
    succeeded: list[str] = []
    with tempfile.TemporaryDirectory(prefix="sapwood-attack-") as place:
        folder = Path(place)
        with ServedProcess(folder) as served:
            target = _target(served)
            for attack in attacks:
                began, fault = time.monotonic(), ""
                try:
                    attack(target)
                except AssertionError as error:
                    fault = str(error) or "an assertion failed"
                sentence = (attack.__doc__ or "").strip()
                print(
                    f"  {attack.__name__:24} {time.monotonic() - began:5.1f} s  {sentence}",
                    flush=True,
                )
                if fault:
                    succeeded.append(attack.__name__)
                    print(f"       SUCCEEDED: {fault}", flush=True)
    print(f"attacks on the server: {len(attacks)} tried, {len(attacks) - len(succeeded)} held")
    return 1 if succeeded or not attacks else 0


def _target(served: ServedProcess) -> Target:
    tokens = served.folder / "data/sapwood/server-tokens.json"
    store, secret = TokenStore(tokens), "only-the-other-space-says-this"
    with sapwood.open_sync(served.database, space="other") as wood:
        hidden = wood.start(f"heron {secret}")
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
