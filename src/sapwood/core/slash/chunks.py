"""A script in the pieces that are carried out at once. Pure."""

from collections.abc import Iterator

from sapwood.core.slash import Run, Say, Script, Step

__all__ = ["chunks", "has_prompt"]


def chunks(script: Script) -> Iterator[Script]:
    """Each step alone, but for a goal, which belongs to the fork after it.

    >>> from sapwood.core.slash import parse
    >>> script = parse("/mark T\\nFind the leak.\\n/fork T\\n/agents")
    >>> [len(chunk) for chunk in chunks(script)]
    [1, 2, 1]
    """
    held: list[Step] = []
    for step in script:
        held.append(step)
        waits = any(isinstance(each, Say) and each.goal for each in held)
        forks = isinstance(step, Run) and step.command.name == "fork"
        if not waits or forks:
            yield tuple(held)
            held = []
    if held:
        yield tuple(held)


def has_prompt(script: Script) -> bool:
    """Whether a model has to answer something in it."""
    return any(isinstance(step, Say) and not step.goal for step in script)
