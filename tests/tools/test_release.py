"""A release has one version, a section of the changelog and checksums."""

from pathlib import Path

import pytest

from tools.release import NotReady, changes, checksums, one_version

CHANGELOG = """# Changelog

## [Unreleased]

- soon

## [0.2.0] - 2026-12-01

### Added

- now

## [0.1.0]

- before

[0.1.0]: somewhere
"""


def test_the_section_of_a_version_ends_at_the_next_one() -> None:
    assert changes(CHANGELOG, "0.2.0") == "### Added\n\n- now"
    assert changes(CHANGELOG, "0.1.0") == "- before"
    with pytest.raises(NotReady, match=r"no section for 0\.3\.0"):
        changes(CHANGELOG, "0.3.0")


def test_distributions_with_different_versions_are_not_released() -> None:
    assert one_version({"a": "1", "b": "1"}) == "1"
    with pytest.raises(NotReady, match="a 1, b 2"):
        one_version({"a": "1", "b": "2"})


def test_every_file_has_a_checksum(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"")
    (tmp_path / "SHA256SUMS").write_text("old")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert checksums(tmp_path) == f"{empty}  a.whl\n"
