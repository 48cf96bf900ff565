"""Forged, foreign and expired tokens of an issuer, against a server that trusts that issuer."""

import hashlib
import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

from bench.served import ServedProcess
from proofs.attack_web.raw_http import Target, send
from tools.oidc_issuer.issuer_process import Issuer, NodeMissing, issuer

_LEEWAY = 30


def forged_tokens(target: Target) -> None:
    """Forged, foreign, changed and expired tokens of an issuer, and keys that were rotated."""
    try:
        with issuer() as authority, issuer() as other:
            options = ("--oidc-issuer", authority.address, "--oidc-audience", "sapwood")
            folder = target.tokens.parent / "oidc"
            folder.mkdir(exist_ok=True)
            with ServedProcess(folder, options=options) as served:
                _try_all(_reach(served), authority, other)
    except NodeMissing as missing:
        print(f"       left out: {missing}", flush=True)


def _reach(served: ServedProcess) -> Callable[[str], int]:
    target = Target(served.port, "", "", "", "", "", "", "", "", Path())

    def status(token: str) -> int:
        return send(target, "GET", "/v1/agents", token=token).status

    return status


def _try_all(status: Callable[[str], int], authority: Issuer, other: Issuer) -> None:
    soon_expired, began = authority.token(seconds=1), time.monotonic()
    token = authority.token()
    assert status(token) == 200, "a good token is taken"
    held = 0
    for forged in _forged(authority, other, token):
        assert status(forged) == 401, forged
        held += 1
    unused = authority.token()
    authority.rotate()
    fresh = authority.token()
    while status(fresh) != 200:
        assert time.monotonic() - began < 60, "a new key is not found"
        time.sleep(1)
    assert status(unused) == 401, "a key that was taken back is trusted"
    while time.monotonic() - began < _LEEWAY + 3:
        time.sleep(0.5)
    assert status(soon_expired) == 401, "an expired token is taken"
    print(f"       {held + 2} tokens refused", flush=True)


def _forged(authority: Issuer, other: Issuer, token: str) -> list[str]:
    head, body, signature = token.split(".")
    header = jwt.get_unverified_header(token)
    claims = jwt.decode(token, options={"verify_signature": False})
    own = rsa.generate_private_key(65537, 2048)
    [key] = [each for each in authority.public_keys() if each["alg"] == "RS256"]
    public = jwt.PyJWK(key).key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    embedded = json.loads(RSAAlgorithm.to_jwk(own.public_key()))
    return [
        *(f"{_part({**header, 'alg': alg})}.{body}." for alg in ("none", "None", "NONE", "")),
        *(f"{_part({**header, 'alg': alg})}.{body}.{signature}" for alg in ("none", "ES256")),
        *(_signed(secret, header, claims) for secret in (public, key["n"].encode(), b"")),
        f"{head}.{body}.",
        f"{head}.{_part({**claims, 'sub': 'root'})}.{signature}",
        f"{head}.{_part({**claims, 'exp': claims['exp'] + 10**6})}.{signature}",
        jwt.encode(claims, own, "RS256", {"kid": header["kid"]}),
        jwt.encode(claims, own, "RS256", {"kid": "mine", "jwk": embedded}),
        jwt.encode(claims, own, "RS256", {"kid": "mine", "jku": "http://127.0.0.1:9/keys"}),
        jwt.encode(claims, own, "RS256", {"kid": "../../../../dev/null"}),
        authority.token(audience="other"),
        other.token(),
        jwt.encode({**claims, "iss": other.address}, own, "RS256", {"kid": header["kid"]}),
        "a.b.c",
        "..",
        "x" * 20_000 + ".y.z",
    ]


def _part(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _signed(secret: bytes, header: dict[str, object], claims: dict[str, object]) -> str:
    """A token that is signed with the public key as if it were a secret."""
    text = f"{_part({**header, 'alg': 'HS256'})}.{_part(claims)}"
    signature = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return f"{text}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}"
