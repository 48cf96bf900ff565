"""A script in the pieces that are carried out at once. Pure."""

from collections.abc import Iterator

from sapwood.core.slash import Run, Say, Script

__all__ = ["chunks", "has_prompt"]


def chunks(script: Script) -> Iterator[Script]:
    """Each step alone, but for a goal, which goes before each of its forks.

    >>> from sapwood.core.slash import parse
    >>> script = parse("/mark T\\nFind the leak.\\n/fork T\\n/agents\\n/fork T")
    >>> [len(chunk) for chunk in chunks(script)]
    [1, 2, 1, 2]
    """
    goal: Say | None = None
    for step in script:
        if isinstance(step, Say):
            goal = step if step.goal else None
        if step is not goal:
            forks = isinstance(step, Run) and step.command.name == "fork"
            yield (goal, step) if goal and forks else (step,)


def has_prompt(script: Script) -> bool:
    """Whether a model has to answer something in it."""
    return any(isinstance(step, Say) and not step.goal for step in script)
