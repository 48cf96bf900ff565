"""The libraries of the durable engine are imported only when it is used."""

import subprocess
import sys


def test_the_durable_engine_is_imported_only_when_asked_for() -> None:
    code = "import sapwood.engine, sys; print({'dbos', 'sqlalchemy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
