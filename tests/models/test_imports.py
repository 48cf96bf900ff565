"""The public names, and that importing them is cheap."""

import subprocess
import sys

from sapwood import models

HEAVY = ("pydantic", "pydantic_ai", "httpx2", "anthropic", "openai", "google", "genai_prices")


def test_the_public_names_are_these() -> None:
    assert models.__all__ == [
        "Models",
        "Money",
        "RetryPolicy",
        "Timeouts",
        "fits",
        "price_of",
        "window_of",
    ]


def test_importing_and_making_models_loads_no_providers_library() -> None:
    code = f"""
import sys
from sapwood.models import Models
Models({{"anthropic": "key"}})
print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_call_loads_only_its_providers_library() -> None:
    code = """
import asyncio, sys
from sapwood.models import Models
asyncio.run(Models({"google": "key"}).warm("gemini-3.8-flash"))
print([name for name in ("anthropic", "openai") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
