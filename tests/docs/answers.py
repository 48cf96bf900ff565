"""What the scripted model answers to the prompts of the pages, one step for each request."""

from collections.abc import Sequence

from scripted_model import Message, ModelRequest, Reply, ReplyLike, Text, call, fail


def slash(command: str, args: str = "") -> ReplyLike:
    """The model gives a slash command."""
    return call("slash", command=command, args=args)


ANSWERS: dict[str, Sequence[ReplyLike]] = {
    "What is 6 x 7?": ["42"],
    "Where do herons nest?": ["In tall trees."],
    "And storks?": ["On roofs."],
    "Write that down.": [
        call("write_file", path="birds.txt", content="Storks nest on roofs.\n"),
        "It is in birds.txt.",
    ],
    "Review this change.": ["It takes a return away."],
    "Run the tests.": [call("shell", command="pytest --version"), "All green."],
    "Count to a million.": [Reply.of("One, two, three,", stall=60)],
    "Is anybody there?": [fail(529)],
    "We look after the roof of a barn.": ["Good to know."],
    "Find the leak.": ["It is the gutter on the north side."],
    "Look at the north side.": ["North: the gutter leaks."],
    "Look at the south side.": ["South: dry."],
    "Have both sides looked at.": [
        slash("fork", "-- Look at the north side."),
        slash("fork", "-- Look at the south side."),
        slash("wait", "30"),
        slash("check-mail"),
        "North: the gutter leaks. South: dry.",
    ],
    "What did they find?": ["The gutter leaks."],
    "What is in settings.ini?": [
        call("read_file", path="settings.ini"),
        "The name of a database, and a password.",
    ],
    "Remember that the barn has 42 rafters.": ["42 rafters, noted."],
    "How many rafters are there?": ["42."],
    "Write a page about larch shingles.": ["Larch shingles last long. " * 200],
}
SUMMARY = "The barn has 42 rafters. A page about larch shingles was written; nothing is open."


def answer(asked: ModelRequest) -> ReplyLike | None:
    """The next step of the answer to the last prompt."""
    first = asked.prompt.splitlines()[0]
    if first.startswith("Summarise"):
        return SUMMARY
    if first.startswith("[Mail from"):
        return "Thank you."
    steps = ANSWERS[first]
    said = _since_the_prompt(asked.messages)
    return steps[min(said, len(steps) - 1)]


def _since_the_prompt(messages: Sequence[Message]) -> int:
    """How often the model has spoken since."""
    spoken = 0
    for message in reversed(messages):
        if message.role == "assistant":
            spoken += 1
        elif any(isinstance(part, Text) for part in message.parts):
            break
    return spoken
