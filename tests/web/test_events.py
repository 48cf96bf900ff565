"""The event stream as the page reads it: every word once, also after lost connections."""

import json

from playwright.sync_api import Route, expect

from tests.web.stage import Stage


def delta(text: str, place: str) -> str:
    """A message with words of a reply, as the server sends it."""
    value = json.dumps({"kind": "text", "text": text, "name": "", "version": 0, "size": 0})
    return f"id: {place}\nevent: delta\ndata: {value}\n\n"


def test_words_come_once_also_when_connections_are_lost_in_the_middle_of_a_reply(
    stage: Stage,
) -> None:
    stage.begin(("Hello.", "Hi."))
    stage.page.reload()
    version = int(stage.page.locator("body").get_attribute("data-version") or "")
    queued = {"kind": "prompt.queued", "version": version + 1, "data": {"entry": "e", "text": "?"}}
    streams = [
        delta("one ", f"{version}.9")
        + delta("two ", f"{version}.20")
        + delta("old ", f"{version}.8")
        + delta("three ", f"{version}.120"),
        f"id: {version + 1}\nevent: prompt.queued\ndata: {json.dumps(queued)}\n\n"
        f"id: {version + 1}.120\n\n",
        delta("four", f"{version + 1}.130"),
    ]
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.headers["last-event-id"])
        if len(asked) > len(streams):
            route.continue_()
            return
        body = "retry: 1000\n\n" + streams[len(asked) - 1]
        route.fulfill(body=body, content_type="text/event-stream")

    stage.page.route("**/v1/agents/*/events", answer)
    with stage.page.expect_request(
        lambda request: request.headers.get("last-event-id") == f"{version + 1}.130"
    ):
        stage.page.reload()
    expect(stage.page.locator("#stream .words")).to_have_text("one two three four")
    places = [f"{version}", f"{version}.120", f"{version + 1}.120", f"{version + 1}.130"]
    assert asked == places
