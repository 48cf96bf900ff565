"""A code pairs another browser: once, soon, without `admin`, and it cannot be guessed."""

import pytest
from starlette.requests import Request

from sapwood_server.access.identity import COOKIE
from sapwood_server.access.pairing import SECONDS, PairingCodes
from sapwood_server.access.principal import Principal
from sapwood_server.access.rate_limit import client_address, parse_proxies
from sapwood_server.problems import Problem
from tests.server.serving import ADDRESS, Served

ADA = Principal("1a", "ada", "local", frozenset({"read", "write", "admin"}))
BOB = Principal("2b", "bob", "local", frozenset({"read"}))


async def test_a_code_signs_one_browser_in_with_the_makers_rights_but_admin(
    served: Served,
) -> None:
    async with served.client() as maker, served.plain_client() as phone:
        made = (await maker.post("/v1/pairing", json={})).json()
        assert made["names"] == [], "only this machine reaches the server"
        code = made["code"]
        origin = {"Origin": ADDRESS}
        by_link = {"token": code, "link": True}
        assert (await phone.post("/sign-in", json=by_link, headers=origin)).status_code == 401
        typed = f" {code.lower()} "
        signed = await phone.post("/sign-in", json={"token": typed}, headers=origin)
        assert signed.status_code == 200
        cookie = {"Cookie": f"{COOKIE}={signed.cookies[COOKIE]}"}
        assert (await phone.get("/v1/agents", headers=cookie)).status_code == 200
        assert (await phone.get("/v1/settings", headers=cookie)).json()["scope"] == "admin"
        for typed_there in ("!touch ran", "/goal Rest. --check 'touch ran'"):
            body = {"text": typed_there}
            refused = await phone.post("/v1/agents", json=body, headers=cookie | origin)
            assert refused.json()["refusal"] in ("ShellNotHere", "GoalNotHere")
        again = await phone.post("/sign-in", json={"token": code}, headers=origin)
        assert again.status_code == 401
        served.tokens.revoke("ada")
        assert (await phone.get("/v1/agents", headers=cookie)).status_code == 401


def test_a_code_ends_with_its_time_and_with_the_next_one() -> None:
    codes = PairingCodes()
    first, second = codes.create(ADA, now=0), codes.create(ADA, now=1)
    assert codes.take(first, now=2) is None
    assert codes.take(second, now=2) is not None
    assert codes.take(second, now=2) is None
    third = codes.create(ADA, now=3)
    assert codes.take(third, now=3 + SECONDS) is None


@pytest.mark.parametrize(
    "typed", ["", "sw_abc", "AAAA-AAA", "AAAA-AAAAA", "ÀÀÀÀ-ÀÀÀÀ", "0000-0000"]
)
def test_what_is_no_code_counts_as_no_try(typed: str) -> None:
    codes = PairingCodes()
    code = codes.create(ADA, now=0)
    for _ in range(50):
        assert codes.take(typed, now=1) is None
    assert codes.take(code, now=1) is not None


def test_an_address_that_guesses_stops_only_itself() -> None:
    codes = PairingCodes()
    mine = codes.create(ADA, now=0)
    wrong = next(each for each in ("2222-2222", "3333-3333") if each != mine)
    for _ in range(10):
        assert codes.take(wrong, "10.0.0.1", now=1) is None
    with pytest.raises(Problem, match="Try again in"):
        codes.take(mine, "10.0.0.1", now=1)
    assert codes.take(mine, "10.0.0.2", now=1) is not None


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("10.0.0.1", "made up, 192.0.2.7, 10.0.0.9", "192.0.2.7"),
        ("192.0.2.8", "192.0.2.7", "192.0.2.8"),
        ("10.0.0.1", "2001:db8::5", "2001:db8::/64"),
    ],
)
def test_only_a_proxy_of_the_setting_says_whom_it_forwards(
    peer: str, forwarded: str, address: str
) -> None:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    request = Request({"type": "http", "client": (peer, 1), "headers": headers})
    assert client_address(request, parse_proxies(["10.0.0.0/8"])) == address
    assert client_address(request) == peer
