"""The public names, and that importing them is cheap."""

import subprocess
import sys

from sapwood import models
from tests.models.conversation import MODELS

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


def test_a_call_loads_the_http_client_and_no_providers_library() -> None:
    code = f"""
import asyncio, sys
from sapwood.core.content import Text
from sapwood.core.model_calls import Failure
from sapwood.core.view import Message, Request
from sapwood.models import Models, RetryPolicy

async def ask(model):
    request = Request(model, (), (Message("user", (Text("hi"),)),))
    urls = dict.fromkeys(("anthropic", "openai", "google"), "http://127.0.0.1:1")
    keys = dict.fromkeys(urls, "none")
    async with Models(keys, urls=urls, retry=RetryPolicy(max_attempts=1)) as models:
        try:
            async for _ in models.stream(request):
                pass
        except Failure as failure:
            assert failure.kind == "no_network", failure

for model in {[*MODELS.values()][:4]}:
    asyncio.run(ask(model))
print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['httpx2']"
