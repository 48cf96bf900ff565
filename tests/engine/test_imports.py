"""The libraries of the durable engines are imported only when they are used."""

import subprocess
import sys


def test_the_durable_engine_is_imported_only_when_asked_for() -> None:
    code = (
        "import sapwood.engine, sys; print({'dbos', 'sqlalchemy', 'temporalio'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
