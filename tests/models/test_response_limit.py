"""Bytes of a response are read up to a limit: in one line, and in all."""

from collections.abc import AsyncGenerator

import pytest

from sapwood.core.model_calls import Failure
from sapwood.models import response_limit
from sapwood.models.response_limit import limited_bytes


async def chunks(*given: bytes) -> AsyncGenerator[bytes]:
    for chunk in given:
        yield chunk


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_limit, "MAX_LINE_BYTES", 10)
    monkeypatch.setattr(response_limit, "MAX_BYTES", 30)


@pytest.mark.parametrize(
    "given", [[b"x" * 11], [b"x" * 6] * 2, [b"ok\n" + b"x" * 8, b"xxx"], [b"short\n"] * 6]
)
async def test_more_than_the_limit_is_not_read(given: list[bytes]) -> None:
    with pytest.raises(Failure, match="more than Sapwood reads"):
        [each async for each in limited_bytes(chunks(*given))]


@pytest.mark.parametrize("given", [[b"x" * 10], [b"x" * 9 + b"\n"] * 3, [b"a\nb", b"c\n"]])
async def test_what_is_within_the_limit_arrives_whole(given: list[bytes]) -> None:
    assert [each async for each in limited_bytes(chunks(*given))] == given
