"""The site has every page, and its checks find what they look for."""

from pathlib import Path

from tools.site.built_site import broken_links, loaded_from_elsewhere
from tools.site.source_pages import ROOT, llms_text, navigation, unlisted


def test_every_page_is_in_the_navigation_and_exists() -> None:
    assert unlisted() == []
    assert [path for _, path in navigation() if not (ROOT / path).is_file()] == []


def test_llms_txt_introduces_every_page() -> None:
    lines = [line for line in llms_text().splitlines() if line.startswith("- ")]
    assert len(lines) == len(navigation())
    assert [line for line in lines if line.endswith(": ")] == []


def test_what_leads_nowhere_or_comes_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="#top"></a><a href="b.html#no"></a><a href="c.html"></a>'
        '<a href="https://example.org"></a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<a href="a.html#top"></a>')
    assert list(broken_links(tmp_path)) == ["a.html: b.html#no", "a.html: c.html"]
    assert list(loaded_from_elsewhere(tmp_path)) == ["a.html: https://example.org/x.js"]
