"""Bearer tokens of a real OpenID Connect issuer: who is let in, as whom, and who is not."""

import asyncio
import hashlib
import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

from sapwood.app.connection import Connection
from sapwood.config.config_file import Config
from sapwood.config.serve_settings import ServeConfig, parse_rule
from sapwood.config.server_tokens import FileTokens, TokenStore
from sapwood.core.errors import SapwoodError
from sapwood_server.access.identity import Identities
from sapwood_server.access.oidc import IssuerKeys, IssuerTokens, spaces_of
from sapwood_server.application import create_application
from sapwood_server.served_space import ServedSpaces
from tests.engine.eventually import eventually
from tests.server.serving import ADDRESS, record
from tools.oidc_issuer.issuer_process import Issuer, NodeMissing, issuer

RULES = ("groups=engineering -> local: read, write", "org=* -> {org}: read")


@pytest.fixture(scope="module")
def authority() -> Generator[Issuer]:
    """A running issuer."""
    try:
        with issuer() as running:
            yield running
    except NodeMissing as missing:
        pytest.skip(str(missing))


class Door:
    """A server that trusts an issuer, as an application in this process."""

    def __init__(self, connection: Connection, issuer: str, folder: Path, **settings: Any) -> None:
        config = ServeConfig(oidc_issuer=issuer, oidc_audience="sapwood", **settings)
        self.keys = IssuerKeys(issuer, pause=0.0)
        tokens = IssuerTokens(config, "local", self.keys, leeway=0.0)
        self.spaces = ServedSpaces(connection, Config(), {}, drives=False, own=True)
        identities = Identities(FileTokens(TokenStore(folder / "tokens.json")), "local", tokens)
        self.app = create_application(self.spaces, identities, ("127.0.0.1",))

    async def get(
        self,
        token: str,
        path: str = "/v1/agents",
        space: str = "",
        method: str = "GET",
        args: str = "A",
    ) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {token}"} | ({"Sapwood-Space": space} if space else {})
        transport = httpx2.ASGITransport(app=self.app)
        async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as client:
            if method == "POST":
                return await client.post(path, headers=headers, json={"args": args})
            return await client.get(path, headers=headers)


@pytest.fixture
async def door(connection: Connection, authority: Issuer, tmp_path: Path) -> Door:
    """A server without rules of its own."""
    return Door(connection, authority.address, tmp_path)


@pytest.mark.parametrize("alg", ["RS256", "ES256", "EdDSA"])
async def test_a_token_of_the_issuer_is_taken(door: Door, authority: Issuer, alg: str) -> None:
    answer = await door.get(authority.token(alg=alg))
    assert answer.status_code == 200, answer.text


async def test_the_scopes_of_the_token_decide(
    door: Door, authority: Issuer, connection: Connection
) -> None:
    agent = await record(connection, ("Hello.", "Hi."))
    path = f"/v1/agents/{agent}/commands/mark"
    reader = authority.token(scope="sapwood:read")
    assert (await door.get(reader, path, method="POST")).status_code == 403
    assert (await door.get(authority.token(), path, method="POST")).status_code == 200
    nobody = await door.get(authority.token(scope=""))
    assert nobody.status_code == 403
    assert "serve.oidc_rules" in nobody.json()["detail"]


async def test_the_person_is_the_actor_by_a_verified_address_only(
    door: Door, authority: Issuer, connection: Connection
) -> None:
    agent = await record(connection, ("Hello.", "Hi."))
    path = f"/v1/agents/{agent}"
    for client in ("ada", "bob"):
        await door.get(authority.token(client), f"{path}/commands/mark", method="POST", args=client)
    events = (await door.get(authority.token(), f"{path}/log?after=2")).json()["events"]
    assert [each["actor"] for each in events] == ["human:ada@example.org", "human:bob"]


async def test_rules_give_people_their_spaces(
    connection: Connection, authority: Issuer, tmp_path: Path
) -> None:
    door = Door(connection, authority.address, tmp_path, oidc_rules=RULES)
    here = await record(connection, ("Hello.", "Hi."))
    there = await record(connection, ("Hello.", "Hi."), space="acme")
    ada, bob, mallory = (authority.token(each) for each in ("ada", "bob", "mallory"))

    async def agents(token: str, space: str = "") -> list[str]:
        found = await door.get(token, space=space)
        return [each["agent"] for each in found.json()["agents"]]

    assert await agents(ada) == [here]
    assert await agents(ada, "acme") == [there]
    assert await agents(bob) == []  # of the space globex
    assert (await door.get(bob, space="acme")).status_code == 403
    assert (await door.get(bob, f"/v1/agents/{there}")).status_code == 404
    assert (await door.get(mallory)).status_code == 403
    assert (
        await door.get(ada, f"/v1/agents/{there}/commands/mark", "acme", "POST")
    ).status_code == 403


async def test_a_token_of_this_server_is_for_its_own_space(door: Door, tmp_path: Path) -> None:
    value, _ = TokenStore(tmp_path / "tokens.json").create("bob", "local", ("read",))
    assert (await door.get(value)).status_code == 200
    assert (await door.get(value, space="acme")).status_code == 403


async def test_a_token_of_the_issuer_signs_a_browser_in_until_it_expires(
    door: Door, authority: Issuer, tmp_path: Path
) -> None:
    token = authority.token(scope="sapwood:read", seconds=600)
    transport = httpx2.ASGITransport(app=door.app)
    headers = {"Origin": ADDRESS}
    async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS, headers=headers) as page:
        bad = await page.post("/sign-in", json={"token": token[:-4] + "AAAA"})
        good = await page.post("/sign-in", json={"token": token})
        assert (bad.status_code, good.status_code) == (401, 200)
        assert (await page.get("/v1/agents")).status_code == 200
    [record_] = TokenStore(tmp_path / "tokens.json").records()
    assert (record_.name, record_.scopes) == ("ada@example.org", ("read",))
    assert record_.expires <= time.time() + 600


# Attacks.


def encoded(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


async def refused(door: Door, token: str) -> str:
    answer = await door.get(token)
    assert answer.status_code == 401, answer.text
    assert "invalid_token" in answer.headers["www-authenticate"]
    return answer.json()["detail"]


async def test_a_token_without_a_signature_is_refused(door: Door, authority: Issuer) -> None:
    head, body, _ = authority.token().split(".")
    kid = jwt.get_unverified_header(authority.token())["kid"]
    for alg in ("none", "None", "NONE", ""):
        await refused(door, f"{encoded({'alg': alg, 'typ': 'JWT', 'kid': kid})}.{body}.")
    await refused(door, f"{head}.{body}.")
    await refused(door, f"{head}.{body}.AAAA")


async def test_a_token_whose_claims_were_changed_is_refused(door: Door, authority: Issuer) -> None:
    head, _, signature = authority.token().split(".")
    claims = jwt.decode(authority.token(), options={"verify_signature": False})
    await refused(door, f"{head}.{encoded({**claims, 'sub': 'root'})}.{signature}")


async def test_a_public_key_is_no_secret_of_a_signature(door: Door, authority: Issuer) -> None:
    token = authority.token()
    claims = jwt.decode(token, options={"verify_signature": False})
    [key] = [each for each in authority.public_keys() if each["alg"] == "RS256"]
    public = jwt.PyJWK(key).key
    for secret in (
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(key).encode(),
        key["n"].encode(),
    ):
        for alg, digest in (("HS256", hashlib.sha256), ("HS512", hashlib.sha512)):
            signed = f"{encoded({'alg': alg, 'typ': 'JWT', 'kid': key['kid']})}.{encoded(claims)}"
            signature = hmac.new(secret, signed.encode(), digest).digest()
            forged = f"{signed}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}"
            assert "signature algorithm is not supported" in await refused(door, forged)


async def test_the_algorithm_must_be_that_of_the_key(door: Door, authority: Issuer) -> None:
    [key] = [each for each in authority.public_keys() if each["alg"] == "ES256"]
    own = rsa.generate_private_key(65537, 2048)
    claims = jwt.decode(authority.token(), options={"verify_signature": False})
    await refused(door, jwt.encode(claims, own, "RS256", {"kid": key["kid"]}))


async def test_a_key_in_the_header_of_a_token_is_not_used(door: Door, authority: Issuer) -> None:
    own = rsa.generate_private_key(65537, 2048)
    claims = jwt.decode(authority.token(), options={"verify_signature": False})
    public = json.loads(RSAAlgorithm.to_jwk(own.public_key()))
    for extra in ({"jwk": public}, {"jku": "http://127.0.0.1:9/"}, {"kid": "../../dev/null"}):
        await refused(door, jwt.encode(claims, own, "RS256", {"kid": "mine", **extra}))


async def test_a_token_for_another_audience_is_refused(door: Door, authority: Issuer) -> None:
    assert "udience" in await refused(door, authority.token(audience="other"))


async def test_a_token_of_another_issuer_is_refused(door: Door, authority: Issuer) -> None:
    with issuer() as other:
        await refused(door, other.token())
        own = rsa.generate_private_key(65537, 2048)
        claims = jwt.decode(other.token(), options={"verify_signature": False})
        claims["iss"] = authority.address
        await refused(
            door, jwt.encode(claims, own, "RS256", {"kid": other.public_keys()[0]["kid"]})
        )


async def test_a_token_expires_though_it_was_taken_before(door: Door, authority: Issuer) -> None:
    token = authority.token(seconds=2)
    assert (await door.get(token)).status_code == 200
    async with asyncio.timeout(20):
        while (answer := await door.get(token)).status_code == 200:  # noqa: ASYNC110 # of another process
            await asyncio.sleep(0.1)  # until the clock of the server has passed it
    assert "xpired" in answer.json()["detail"]


async def test_a_new_key_is_found_and_an_old_one_forgotten(door: Door) -> None:
    with issuer() as rotating:
        keys = IssuerKeys(rotating.address, pause=0.0)
        before = jwt.get_unverified_header(rotating.token())["kid"]
        assert await keys.find(before)
        rotating.rotate()
        after = jwt.get_unverified_header(rotating.token())["kid"]
        assert await keys.find(before), "it is kept while it is fresh"
        assert await keys.find(after), "an unknown key is looked up"
        assert await keys.find(before) is None


async def test_unknown_keys_do_not_make_the_server_ask_again_and_again(authority: Issuer) -> None:
    keys = IssuerKeys(authority.address)
    asked = 0
    fetch = keys.fetch

    async def counted() -> None:
        nonlocal asked
        asked += 1
        await fetch()

    keys.fetch = counted
    for number in range(50):
        assert await keys.find(f"key {number}") is None
    assert asked == 1


async def test_known_keys_are_used_while_the_issuer_is_away() -> None:
    with issuer() as leaving:
        keys = IssuerKeys(leaving.address, pause=0.0)
        kid = leaving.public_keys()[0]["kid"]
        assert await keys.find(kid)
    now = time.monotonic()
    keys.clock = lambda: now + 600
    assert await keys.find(kid)
    keys.clock = lambda: now + 4000
    with pytest.raises(SapwoodError, match="is not responding"):
        await keys.find(kid)


class LeavingIssuer:
    """Publishes one key until it is away. Then each request is lost after six seconds."""

    def __init__(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
        self._key = {**RSAAlgorithm.to_jwk(key, as_dict=True), "kid": "known"}
        self.address = ""
        self.is_away = False
        self.asked = 0
        self.now = 10_000.0
        self.answers = asyncio.Event()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        self.asked += 1
        if self.is_away:
            await self.answers.wait()
            self.now += 6
        else:
            found = {"issuer": self.address, "jwks_uri": f"{self.address}/keys"}
            body = json.dumps({"keys": [self._key]} if b"/keys" in line else found).encode()
            writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + body)
            await writer.drain()
        writer.close()

    @asynccontextmanager
    async def keys(self) -> AsyncGenerator[IssuerKeys]:
        async with await asyncio.start_server(self._answer, "127.0.0.1", 0) as server:
            self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            keys = IssuerKeys(self.address)
            keys.clock = lambda: self.now
            yield keys
            self.answers.set()


async def test_requests_wait_together_for_an_issuer_that_hangs_and_only_once() -> None:
    leaving = LeavingIssuer()
    async with asyncio.timeout(20), leaving.keys() as keys:
        assert await keys.find("known")
        leaving.is_away, leaving.asked = True, 0
        leaving.now += 400
        waiting = [asyncio.ensure_future(keys.find("known")) for _ in range(20)]
        await eventually(lambda: leaving.asked)
        leaving.answers.set()
        assert all(await asyncio.gather(*waiting))
        assert leaving.asked == 1
        leaving.answers.clear()
        for _ in range(20):
            leaving.now += 6
            assert await keys.find("known"), "it waits for an issuer that was away a moment ago"
        await eventually(lambda: leaving.asked == 2)


async def test_an_issuer_must_be_encrypted_or_on_this_machine() -> None:
    for address in ("http://id.example", "ftp://127.0.0.1", "id.example", "file:///etc/passwd"):
        with pytest.raises(SapwoodError, match="must start with https"):
            IssuerKeys(address)


async def test_an_issuer_must_be_the_one_that_it_says(authority: Issuer) -> None:
    keys = IssuerKeys(authority.address.replace("127.0.0.1", "localhost"))
    with pytest.raises(SapwoodError, match="identifies itself as the issuer"):
        await keys.fetch()


def test_rules_read_paths_lists_and_words() -> None:
    claims = {"realm_access": {"roles": ["dev"]}, "scope": "a b", "admin": True, "n": 7}
    for text, matches in (
        ("realm_access.roles=dev -> x: read", True),
        ("realm_access.roles=de -> x: read", False),
        ("scope=b -> x: read", True),
        ("admin=true -> x: read", True),
        ("n=7 -> x: read", True),
        ("missing=* -> x: read", False),
        ("scope=a -> {missing}: read", False),
    ):
        assert bool(spaces_of([parse_rule(text)], claims)) == matches, text


@pytest.mark.parametrize("text", ["", "groups -> x: read", "a=b -> x", "a=b -> x: everything"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(SapwoodError, match="is not a valid"):
        parse_rule(text)


@pytest.mark.parametrize(
    ("rule", "claims"),
    [
        ("groups=admins", {"groups": "not admins"}),
        ("groups=admins", {"groups": ["not admins", "admins not"]}),
        ("department=Finance", {"department": "Not Finance"}),
        ("name=Ada", {"name": "Mallory Ada"}),
        ("email=root", {"email": "root @evil.example"}),
        ("realm_access.roles=admin", {"realm_access": {"roles": ["no admin"]}}),
        ("scope=sapwood:read", {"scope": ["not sapwood:read"]}),
        ("roles=admin", {"roles": [["admin x"]]}),
        ("groups=a", {"groups": "a\tb"}),
    ],
)
def test_a_word_of_a_claim_is_not_the_claim(rule: str, claims: dict[str, Any]) -> None:
    assert not spaces_of([parse_rule(f"{rule} -> team: read")], claims)


@pytest.mark.parametrize(
    ("rule", "claims"),
    [
        ("scope=sapwood:read", {"scope": "openid sapwood:read"}),
        ("scp=sapwood:read", {"scp": "openid sapwood:read"}),
        ("scp=sapwood:read", {"scp": ["openid", "sapwood:read"]}),
        ("groups=not admins", {"groups": ["not admins"]}),
        ("department=Not Finance", {"department": "Not Finance"}),
    ],
)
def test_whole_values_and_words_of_scopes_match(rule: str, claims: dict[str, Any]) -> None:
    assert spaces_of([parse_rule(f"{rule} -> team: read")], claims) == {"team": ("read",)}
