"""Checks of the session service with the real ADK: state by its prefixes, lists, deletion."""

import asyncio
from typing import Any

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events import Event, EventActions
from google.genai.types import Content, Part

from sapwood_frameworks.google_adk import SapwoodSessionService

ADA = {"app_name": "app", "user_id": "ada"}
STATE = {"k": 1, "user:u": 2, "app:a": 3, "temp:t": 4}


def expect(what: str, holds: bool) -> None:
    """Prints one check."""
    print("ok" if holds else "NO", what)


def said(author: str, text: str, **state: Any) -> Event:
    """An event of a run; one without a text only changes the state."""
    role = "user" if author == "user" else "model"
    content = Content(role=role, parts=[Part(text=text)]) if text else None
    actions = EventActions(state_delta=state)
    return Event(author=author, invocation_id="1", content=content, actions=actions)


async def main() -> None:
    """Runs the checks."""
    service = SapwoodSessionService(":memory:")
    first = await service.create_session(**ADA, session_id="x", state=STATE)
    expect("state without temp: is kept", first.state == {"k": 1, "user:u": 2, "app:a": 3})
    second = await service.create_session(**ADA, session_id="y")
    expect("user: and app: are shared", second.state == {"user:u": 2, "app:a": 3})
    other = await service.create_session(app_name="app", user_id="bob", session_id="x")
    expect("another user shares app: alone", other.state == {"app:a": 3})
    await service.append_event(first, said("user", "Hello", k=5))
    partial = said("guide", "Hel")
    partial.partial = True
    await service.append_event(first, partial)
    await service.append_event(first, said("guide", "Hello to you."))
    found = await service.get_session(**ADA, session_id="x")
    assert found is not None
    expect("a change of state is kept", found.state["k"] == 5)
    authors = [event.author for event in found.events]
    expect("partial events are not kept", authors == ["user", "guide"])
    bobs = await service.get_session(app_name="app", user_id="bob", session_id="x")
    expect("a session of another user is another one", bobs is not None and not bobs.events)
    assert bobs is not None
    await service.append_event(bobs, said("user", "Hello"))
    await service.append_event(bobs, said("critic", "Hm."))
    await service.fork("app", "ada", "x", "z")
    for name in ("x", "z"):
        found = await service.get_session(**ADA, session_id=name)
        assert found is not None
        authors = [event.author for event in found.events]
        expect(f"{name} keeps who spoke in it", authors == ["user", "guide"])
    await asyncio.gather(
        *(service.append_event(second, said("user", "", **{f"user:{n}": n})) for n in range(9))
    )
    state = await service.get_user_state(app_name="app", user_id="ada")
    expect("state is kept that changes at once", state == {"u": 2, **{str(n): n for n in range(9)}})
    try:
        await service.create_session(**ADA, session_id="x")
        expect("an id that is taken is refused", False)
    except AlreadyExistsError:
        expect("an id that is taken is refused", True)
    listed = (await service.list_sessions(**ADA)).sessions
    expect("the sessions of a user are listed", {each.id for each in listed} == {"x", "y", "z"})
    await service.delete_session(**ADA, session_id="x")
    expect("a deleted session is gone", await service.get_session(**ADA, session_id="x") is None)
    again = await service.create_session(**ADA, session_id="x")
    expect("its id can be used again, afresh", not again.events and "k" not in again.state)
    await service.delete_session(**ADA, session_id="x")
    await service.create_session(app_name="app", user_id="org/ada", session_id="x", state=STATE)
    taken = await service.get_session(app_name="app", user_id="org", session_id="ada/x")
    expect("a slash in a name opens no session of another user", taken is None)
    orgs = (await service.list_sessions(app_name="app", user_id="org/ada")).sessions
    expect("a user with a slash has a list", [each.id for each in orgs] == ["x"])
    await service.delete_session(app_name="app", user_id="org/ada", session_id="x")
    everybody = (await service.list_sessions(app_name="app")).sessions
    expect(
        "and is listed no more",
        {(each.user_id, each.id) for each in everybody}
        == {("ada", "y"), ("ada", "z"), ("bob", "x")},
    )
    await service.close()


asyncio.run(main())
