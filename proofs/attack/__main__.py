"""`python -m proofs.attack`: every known attack, on the built program. Fails when one succeeds."""

import argparse
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proofs.attack import (
    approvals,
    bounds,
    escapes,
    files,
    outputs,
    programs,
    reuse,
    rules,
    secrets,
    servers,
)
from proofs.attack.registry import ATTACKS, Attack, Broken
from proofs.attack.victim import Victim
from scripted_model import ScriptedModel

_AT_ONCE = 3
_ROOT = Path(__file__).parents[2]
_MODULES = (approvals, bounds, escapes, files, outputs, programs, reuse, rules, secrets, servers)
"""Each fills the list of attacks."""


def main() -> int:
    """Runs the attacks and returns the exit code."""
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    parser.add_argument("ids", nargs="*", help="only these, such as S1 S13")
    parser.add_argument("-k", default="", metavar="WORDS", help="only with these words")
    parser.add_argument(
        "--of", type=Path, default=_ROOT, metavar="FOLDER", help="attack the program of this folder"
    )
    options = parser.parse_args()
    only = set(options.ids)
    named = [attack for attack in ATTACKS if not only or attack.id in only]
    chosen = [attack for attack in named if options.k in attack.sentence]
    if not chosen:
        parser.error(f"no such attack; there are {', '.join(sorted({a.id for a in ATTACKS}))}")
    succeeded: list[str] = []
    with tempfile.TemporaryDirectory(prefix="sapwood-attack-") as place:
        folder = Path(place)
        folder.chmod(0o755)  # another user must be able to look for what is inside
        wheel = _build(options.of.resolve(), folder)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            tries = [
                (attack, pool.submit(_try, attack, folder / str(number), wheel))
                for number, attack in enumerate(chosen)
            ]
            for attack, future in tries:
                fault, took = future.result()
                print(f"  {attack.id:4} {took:5.1f} s  {attack.sentence}", flush=True)
                if fault:
                    succeeded.append(attack.id)
                    print(f"       SUCCEEDED: {fault}", flush=True)
    print(f"attacks: {len(chosen)} tried, {len(chosen) - len(succeeded)} held")
    if succeeded:
        print(f"attacks that succeeded: {', '.join(succeeded)}")
    return 1 if succeeded else 0


def _try(attack: Attack, folder: Path, wheel: Path) -> tuple[str, float]:
    """Why the attack succeeded, or an empty text; and how many seconds it took."""
    began, fault = time.monotonic(), ""
    with ScriptedModel() as server:
        try:
            attack.run(Victim(folder, wheel, server))
        except Broken as broken:
            fault = str(broken)
        except Exception:  # an attack that cannot be judged has not been held
            fault = f"it could not be judged:\n{traceback.format_exc()}"
    return fault, time.monotonic() - began


def _build(root: Path, folder: Path) -> Path:
    """The wheel of a working copy, built and unpacked."""
    wheels, target = folder / "wheels", folder / "program"
    build = ["uv", "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", str(wheels)]
    subprocess.run([*build, str(root)], check=True)
    install = ["uv", "pip", "install", "--quiet", "--no-deps", "--compile-bytecode"]
    install += ["--target", str(target)]
    subprocess.run([*install, *map(str, wheels.glob("*.whl"))], check=True)
    return target


if __name__ == "__main__":
    sys.exit(main())
