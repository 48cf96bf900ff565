"""The events of a log, to be told apart with `isinstance` or `match`.

>>> import sapwood
>>> from sapwood.events import ReplyAdded, TurnStarted
>>> with sapwood.open_sync(":memory:") as db:
...     agent = db.start("demo")
...     with agent.turn("Hello!") as turn:
...         turn.reply("Hello to you.")
...     for recorded in agent.events():
...         match recorded.event:
...             case TurnStarted(prompt=prompt):
...                 print("asked:", prompt[0].text)
...             case ReplyAdded(parts=parts):
...                 print("replied:", parts[0].text)
...             case _:
...                 pass
asked: Hello!
replied: Hello to you.
"""

from sapwood.core.events import *  # noqa: F403 # this module is the public name of that one
from sapwood.core.events import __all__ as __all__
