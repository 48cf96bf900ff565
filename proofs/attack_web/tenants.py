"""Attacks of a tenant on the files of the server, and on sessions of browsers.

Each function raises `AssertionError` if it succeeds.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer

from playwright.sync_api import Browser, sync_playwright

from proofs.attack_web.hosted import SECRET, Hosted
from proofs.attack_web.raw_http import send
from sapwood.config.serve_settings import parse_rule
from sapwood.config.server_tokens import SCOPES
from sapwood_server.access.oidc import spaces_of
from tools.browser import NO_CHROMIUM, find_chromium

_SCRIPT_SECONDS = 2.0
"""For how long a script of the page may try to sign in."""


def _reads(site: Hosted, token: str, agent: str, path: str = "secret.txt") -> None:
    log = site.ask(token, agent, "read_file", path=path)
    assert SECRET not in log, f"read_file {path}: {log[-300:]}"


def default_folder(site: Hosted) -> None:
    """A tenant without a folder reads the folder of the server (X2)."""
    token = site.token(space="bare")
    agent = json.loads(site.post(token, "/v1/agents", {"has_prompt": True}).body)["agent"]
    _reads(site, token, agent)


def default_search(site: Hosted) -> None:
    """A tenant without a folder searches and lists the folder of the server (X2)."""
    token = site.token(space="bare")
    agent = json.loads(site.post(token, "/v1/agents", {"has_prompt": True}).body)["agent"]
    assert SECRET not in site.ask(token, agent, "search_files", pattern="heron")


def default_instructions(site: Hosted) -> None:
    """The instructions in the server's folder reach the conversation of a tenant (X2)."""
    token = site.token(space="bare")
    agent = json.loads(site.post(token, "/v1/agents", {"has_prompt": True}).body)["agent"]
    assert SECRET not in site.ask(token, agent, "list_files")


def default_pin(site: Hosted) -> None:
    """A tenant pins a file of the server's folder and reads the pin (X2)."""
    token = site.token(space="bare")
    agent = json.loads(site.post(token, "/v1/agents", {"has_prompt": False}).body)["agent"]
    site.post(token, f"/v1/agents/{agent}/commands/pin", {"args": "p @secret.txt"})
    log = send(site.target, "GET", f"/v1/agents/{agent}/log", token=token).body
    assert SECRET not in log


def submitted_pin(site: Hosted) -> None:
    """The same by a submission, as a person types it (X2)."""
    token = site.token(space="bare")
    agent = json.loads(site.post(token, "/v1/agents", {"has_prompt": False}).body)["agent"]
    site.post(token, f"/v1/agents/{agent}/submissions", {"text": "/pin p @AGENTS.md"})
    log = send(site.target, "GET", f"/v1/agents/{agent}/log", token=token).body
    assert SECRET not in log


def worktree_of_start(site: Hosted) -> None:
    """A worktree at the root of the machine, for a new conversation (X2)."""
    token = site.token()
    site.start(token, "w1", folder=str(site.folders / "acme"), worktree="/")
    site.start(token, "w1", folder=str(site.work), worktree="/")
    _reads(site, token, "w1", f"{site.work}/secret.txt".lstrip("/"))


def worktree_of_fork(site: Hosted) -> None:
    """A worktree at the root of the machine, for a fork (X2)."""
    token = site.token()
    site.post(token, "/v1/agents", {"has_prompt": True})
    site.start(token, "w2")
    workspaces = [{"folder": str(each), "worktree": "/"} for each in (site.folders, site.work)]
    for each in (*workspaces, {"worktree": "/"}):
        site.give(token, "Fork", agent="w2", child="w3", workspace=each)
    _reads(site, token, "w3", f"{site.work}/secret.txt".lstrip("/"))


def worktree_of_own_space(site: Hosted) -> None:
    """A writer in the operator's own space leaves the current folder by a worktree (X2)."""
    token = site.token(space="local")
    site.start(token, "w4", folder=str(site.work), worktree=str(site.folders / "bolt"))
    _reads(site, token, "w4")


def worktree_without_folder(site: Hosted) -> None:
    """The same with a worktree alone (X2)."""
    token = site.token(space="local")
    site.start(token, "w5", worktree=str(site.folders / "bolt"))
    _reads(site, token, "w5")


def folder_of_other_tenant(site: Hosted) -> None:
    """The folder of another tenant, with every scope of one's own space (X2)."""
    token = site.token(*SCOPES)
    site.start(token, "f1", folder=str(site.folders / "bolt"))
    _reads(site, token, "f1")


def folder_by_link(site: Hosted) -> None:
    """A link in one's own folder that leads into that of another tenant (X2)."""
    link = site.folders / "acme/link"
    if not link.is_symlink():
        link.symlink_to(site.folders / "bolt")
    token = site.token(*SCOPES)
    site.start(token, "f2", folder=str(link))
    _reads(site, token, "f2")


def folder_by_dots(site: Hosted) -> None:
    """Dots, relative paths, doubled slashes and files of the process as folders (X2)."""
    token = site.token(*SCOPES)
    bolt, pid = site.folders / "bolt", os.getpid()
    for number, path in enumerate(
        (
            f"{site.folders}/acme/../bolt",
            f"//{str(bolt).lstrip('/')}",
            f"/proc/self/root{bolt}",
            f"/proc/{pid}/root{bolt}",
            os.path.relpath(bolt, site.work),
        )
    ):
        site.post(token, "/v1/agents", {"folder": path, "has_prompt": False})
        site.start(token, f"d{number}", folder=path)
        _reads(site, token, f"d{number}")


def folder_of_route(site: Hosted) -> None:
    """Another folder by the route that starts conversations (X2)."""
    token = site.token(*SCOPES)
    body = {"folder": str(site.folders / "bolt"), "has_prompt": False}
    answer = site.post(token, "/v1/agents", body)
    if answer.status == 201:
        _reads(site, token, json.loads(answer.body)["agent"])


def approved_path(site: Hosted) -> None:
    """A tenant approves its own question about a file outside of its folder (X2)."""
    token = site.token("read", "write", "approve")
    agent = json.loads(site.post(token, "/v1/agents", {"has_prompt": True}).body)["agent"]
    _reads(site, token, agent, str(site.folders / "bolt/secret.txt"))


def approved_command(site: Hosted) -> None:
    """A tenant approves its own command, which reads the folder of another tenant (X2)."""
    token = site.token("read", "write", "approve")
    agent = json.loads(site.post(token, "/v1/agents", {"has_prompt": True}).body)["agent"]
    command = f"cat {site.folders}/bolt/secret.txt {site.work}/secret.txt | rev"
    log = site.ask(token, agent, "shell", command=command)
    assert SECRET[::-1] not in log, log[-300:]


def queued_command(site: Hosted) -> None:
    """A writer has the queue run a command that it may not run itself."""
    token = site.token()
    agent = json.loads(site.post(token, "/v1/agents", {"has_prompt": False}).body)["agent"]
    path = f"/v1/agents/{agent}"
    for text in ("/permissions all", "/config budget_cost 100000", "/none\n/permissions all"):
        site.post(token, f"{path}/queue", {"text": text})
        site.give(token, "QueuePrompt", agent=agent, entry=text, text=text)
        site.post(token, f"{path}/queue/next", {})
        site.post(token, f"{path}/submissions", {"text": "Hello.", "waits": True})
    log = send(site.target, "GET", f"{path}/log", token=token).body
    assert "Hello." in log, log[-300:]
    assert "settings.changed" not in log, log[-300:]


def transcript_as_origin(site: Hosted) -> None:
    """A transcript of the machine, named as the origin of a conversation (X2)."""
    file = site.work / "rollout.jsonl"
    rows = [
        {"type": "user", "uuid": "u1", "sessionId": "s1", "parentUuid": None}
        | {"message": {"role": "user", "content": f"Remember {SECRET}"}},
    ]
    file.write_text("".join(json.dumps(each) + "\n" for each in rows))
    for space in ("acme", "local"):
        token = site.token(space=space)
        origin = {"source": "claude-code", "session": "s1", "path": str(file)}
        started = site.give(token, "StartAgent", agent=f"t-{space}", origin=origin)
        assert started.status == 403, (space, started.status)


def sessions_of_the_machine(site: Hosted) -> None:
    """The administrator of a tenant lists the sessions of the operator's own programs (X2)."""
    answer = send(site.target, "GET", "/v1/sessions", token=site.token(*SCOPES))
    assert answer.status == 403, answer.status


def metrics_of_others(site: Hosted) -> None:
    """The administrator of a tenant reads the metrics, which name all spaces."""
    answer = send(site.target, "GET", "/metrics", token=site.token(*SCOPES))
    assert answer.status == 403, answer.status
    own = send(site.target, "GET", "/metrics", token=site.token("admin", space="local"))
    assert own.status == 200, own.status


def program_as_model(site: Hosted) -> None:
    """A tenant runs Claude Code as the operator (X2)."""
    programs = site.home / ".local/bin"
    programs.mkdir(parents=True, exist_ok=True)
    token = site.token()
    started = site.give(token, "StartAgent", agent="p1", settings={"model": "claude-code"})
    assert started.status in (200, 403), started.status
    answer = site.post(token, "/v1/agents/p1/turns", {"text": "Hello."})
    assert "only for the person at this machine" in answer.body, answer.body[-300:]


def branch_of_other_tenant(site: Hosted) -> None:
    """A file `.git` in one's own folder names the repository of another tenant (X2)."""
    git = site.folders / "bolt/.git"
    git.mkdir(exist_ok=True)
    (git / "HEAD").write_text(f"ref: refs/heads/{SECRET}\n")
    (site.folders / "acme/.git").write_text(f"gitdir: {git}\n")
    token = site.token(*SCOPES)
    site.start(token, "g1", folder=str(site.folders / "acme"))
    log = site.ask(token, "g1", "list_files")
    assert SECRET not in log, "the branch is shown"
    assert "turn.completed" in log, log[-300:]


def relative_folder(site: Hosted) -> None:
    """A relative folder, which a worker in another folder would look for there (X2)."""
    for space in ("local", "acme"):
        answer = site.start(site.token(space=space), f"r-{space}", folder="etc")
        assert answer.status == 403, (space, answer.status)


def _signed_in(site: Hosted, token: str) -> dict[str, str]:
    origin = {"Origin": f"http://127.0.0.1:{site.target.port}"}
    body = json.dumps({"token": token}).encode()
    answer = send(site.target, "POST", "/sign-in", headers=origin, body=body)
    while answer.status == 429:
        time.sleep(1)
        answer = send(site.target, "POST", "/sign-in", headers=origin, body=body)
    cookie = answer.head.lower().partition("sapwood_session=")[0]
    value = answer.head[len(cookie) :].partition("=")[2].partition(";")[0]
    return {"Cookie": f"sapwood_session={value}", **origin}


def cookie_after_revoking(site: Hosted) -> None:
    """A cookie is used after its token was revoked by its id (X4)."""
    value, record = site.store.create("thief", "local", ("read", "write"))
    cookie = _signed_in(site, value)
    assert send(site.target, "GET", "/v1/agents", headers=cookie).status == 200
    site.run("token", "revoke", record.id)
    assert send(site.target, "GET", "/v1/agents", token=value).status == 401
    assert send(site.target, "GET", "/v1/agents", headers=cookie).status == 401


def cookie_writes_after_revoking(site: Hosted) -> None:
    """The same cookie starts a conversation (X4)."""
    value, record = site.store.create("thief", "local", ("read", "write"))
    cookie = _signed_in(site, value)
    site.run("token", "revoke", record.id)
    body = b'{"has_prompt": false}'
    assert send(site.target, "POST", "/v1/agents", headers=cookie, body=body).status == 401


def stream_after_revoking(site: Hosted) -> None:
    """An event stream that a cookie opened goes on after its token was revoked (X4)."""
    value, record = site.store.create("thief", "local", ("read",))
    cookie = _signed_in(site, value)["Cookie"]
    with socket.create_connection(("127.0.0.1", site.target.port), timeout=30) as link:
        link.sendall(
            f"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{site.target.port}\r\n"
            f"Cookie: {cookie}\r\n\r\n".encode()
        )
        assert b" 200 " in link.recv(4096)
        site.run("token", "revoke", record.id)
        began = time.monotonic()
        while not link.recv(4096).endswith(b"0\r\n\r\n"):
            assert time.monotonic() - began < 20, "the stream goes on"


def word_of_a_claim(site: Hosted) -> None:
    """A claim that contains the wanted word among others (X6)."""
    for rule, claims in (
        ("groups=admins", {"groups": "not admins"}),
        ("department=Finance", {"department": "Not Finance"}),
        ("name=Ada", {"name": "Mallory Ada"}),
    ):
        assert not spaces_of([parse_rule(f"{rule} -> team: admin")], claims), rule


def word_of_a_listed_claim(site: Hosted) -> None:
    """A member of a list that contains the wanted word among others (X6)."""
    for claims in ({"groups": ["not admins"]}, {"groups": ["x", "admins emeriti"]}):
        assert not spaces_of([parse_rule("groups=admins -> team: admin")], claims), claims


def malformed_hosts(site: Hosted) -> None:
    """Host headers that no parser reads, before any token is checked (X12)."""
    for host in ("[::1", "[", "]", "[::1]]:80", "]["):
        for path in ("/healthz", "/sign-in", "/v1/agents"):
            answer = send(site.target, "GET", path, host=host)
            assert answer.status == 400, (host, path, answer.status)


def guessed_tokens(site: Hosted) -> None:
    """Guesses of tokens on the sign-in page, without end (X13)."""
    origin = {"Origin": f"http://127.0.0.1:{site.target.port}"}
    for number in range(120):
        body = json.dumps({"token": f"sw_{number}"}).encode()
        answer = send(site.target, "POST", "/sign-in", headers=origin, body=body)
        if answer.status == 429:
            assert "retry-after" in answer.head.lower()
            return
    raise AssertionError("120 guesses were all answered")


def session_flood(site: Hosted) -> None:
    """A token for reading makes sessions without end (X13)."""
    value, record = site.store.create("flood", "local", ("read",))
    origin = {"Origin": f"http://127.0.0.1:{site.target.port}"}
    body = json.dumps({"token": value}).encode()
    for _ in range(40):
        send(site.target, "POST", "/sign-in", headers=origin, body=body)
    stored = [each for each in site.store.records() if each.name == record.name]
    assert len(stored) <= 21, f"{len(stored)} records of one token"


def link_signs_in(site: Hosted) -> None:
    """A link of another site signs the browser in as the attacker (X14)."""
    token = site.token("read", space="local")
    navigation = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
    for where in ("cross-site", "same-site", "none"):
        headers = {**navigation, "Sec-Fetch-Site": where}
        answer = send(site.target, "GET", f"/sign-in?token={token}", headers=headers)
        assert "set-cookie" not in answer.head.lower(), where


def link_in_a_browser(site: Hosted) -> None:
    """The same in chromium, by links, redirections and windows of another site (X14)."""
    chromium = find_chromium()
    assert chromium, NO_CHROMIUM
    own = f"http://127.0.0.1:{site.target.port}"
    with sync_playwright() as player, _OtherSite() as (evil, leads_to):
        browser = player.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            for form in ("?token=", "#token="):
                for way in ("link", "redirect", "refresh", "window"):
                    leads_to["url"] = f"{own}/sign-in{form}{site.token('read', space='local')}"
                    signed = _follow(browser, f"{evil}/{way}", own)
                    assert not signed, (form, way)
            context = browser.new_context()
            page = context.new_page()
            page.goto(site.printed)
            page.wait_for_url(f"{own}/")
            page.wait_for_selector("#message")
            assert _cookies(context.cookies(own)), "the printed address does not sign in"
        finally:
            browser.close()


def _follow(browser: Browser, address: str, own: str) -> bool:
    """Whether a browser that follows the page of another site is signed in at the end."""
    context = browser.new_context()
    try:
        page = context.new_page()
        with context.expect_event(
            "response", lambda answer: answer.url.startswith(f"{own}/sign-in"), timeout=30_000
        ):
            page.goto(address, wait_until="commit")
        page.wait_for_load_state("load")
        began = time.monotonic()
        while time.monotonic() - began < _SCRIPT_SECONDS:
            if _cookies(context.cookies(own)):
                return True
            page.wait_for_timeout(100)
        return False
    finally:
        context.close()


def _cookies(found: object) -> bool:
    return "sapwood_session" in str(found)


class _OtherSite:
    """A site on another host name, whose pages lead to an address."""

    def __enter__(self) -> tuple[str, dict[str, str]]:
        leads_to = {"url": ""}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = leads_to["url"]
                if self.path == "/redirect":
                    self.send_response(302)
                    self.send_header("Location", url)
                    self.end_headers()
                    return
                pages = {
                    "/link": f"<a id=a href='{url}'>x</a><script>a.click()</script>",
                    "/refresh": f"<meta http-equiv=refresh content='0;url={url}'>",
                    "/window": f"<script>location.replace('{url}')</script>",
                }
                body = pages.get(self.path, "").encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://localhost:{self._server.server_port}", leads_to

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


TENANT_ATTACKS: tuple[Callable[[Hosted], None], ...] = (
    default_folder,
    default_search,
    default_instructions,
    default_pin,
    submitted_pin,
    worktree_of_start,
    worktree_of_fork,
    worktree_of_own_space,
    worktree_without_folder,
    folder_of_other_tenant,
    folder_by_link,
    folder_by_dots,
    folder_of_route,
    approved_path,
    approved_command,
    queued_command,
    transcript_as_origin,
    sessions_of_the_machine,
    metrics_of_others,
    program_as_model,
    branch_of_other_tenant,
    relative_folder,
    cookie_after_revoking,
    cookie_writes_after_revoking,
    stream_after_revoking,
    word_of_a_claim,
    word_of_a_listed_claim,
    malformed_hosts,
    link_signs_in,
    link_in_a_browser,
    session_flood,
    guessed_tokens,
)
"""The last ones leave the sign-in page busy."""
