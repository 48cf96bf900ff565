"""Asks a judge: a model of a provider, or the model of an agent program that is installed here."""

import os
from collections.abc import Mapping

from sapwood.config.config_file import Config
from sapwood.context_actions.session_judge import JudgeReply
from sapwood.core.content import Text, Usage
from sapwood.core.model_calls import Answer, Failure
from sapwood.core.view.request import Block, Message, Request
from sapwood.programs.registry import program_executor

_SYSTEM = "You judge records of an agent's work. You answer with one JSON object and use no tool."
_MAX_OUTPUT = 4_000
"""Tokens of an answer."""
_SECONDS = 120.0


async def ask_judge(
    config: Config,
    prompt: str,
    keys: Mapping[str, str],
    environ: Mapping[str, str] = os.environ,
) -> JudgeReply:
    """Asks the judge of the configuration once. Raises `Failure` if it does not answer."""
    judge = config.tending.judge
    executor = program_executor(judge)
    if executor is not None:
        from sapwood.programs.single_answer import single_answer

        dollars = config.tending.judge_cost
        answer = await single_answer(
            executor, prompt, environ, system=_SYSTEM, dollars=dollars, seconds=_SECONDS
        )
        return JudgeReply(answer.text, answer.usage)
    return await _ask_model(config, judge, prompt, keys)


async def _ask_model(
    config: Config, model: str, prompt: str, keys: Mapping[str, str]
) -> JudgeReply:
    from sapwood.models import Models

    system = (Block("system", "", _SYSTEM),)
    request = Request(model, system, (Message("user", (Text(prompt),)),))
    async with Models(keys, urls=config.base_urls) as models:
        pieces = models.stream(request, params={"max_tokens": _MAX_OUTPUT})
        async for piece in pieces:
            if isinstance(piece, Answer):
                texts = [part.text for part in piece.parts if isinstance(part, Text)]
                return JudgeReply("\n".join(texts), piece.usage or Usage(0))
    raise Failure("cut", f"{model} did not finish its answer.")
