"""The patterns of the masker are compiled when a text is masked for the first time, not before."""

import subprocess
import sys

import pytest

_CODE = """
import sys
import sapwood.{module}
from sapwood.redaction import find_masks, mask_secrets
find_masks("a text without masks")
print("sapwood.redaction.masks" in sys.modules)
mask_secrets("a text without secrets")
print("sapwood.redaction.masks" in sys.modules)
"""


@pytest.mark.parametrize(
    "module", ["tui.app", "cli.root", "app.assembly", "workspace.workspace_toolbox", "hooks.runner"]
)
def test_the_patterns_are_compiled_when_a_text_is_masked(module: str) -> None:
    code = _CODE.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
