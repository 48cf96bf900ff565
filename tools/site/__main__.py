"""`python -m tools.site`: builds the site into dist/site, checks its links and asks its search."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tools.browser import NO_CHROMIUM, find_chromium
from tools.site.built_site import broken_links, html_pages, loaded_from_elsewhere
from tools.site.search_check import ask_questions
from tools.site.source_pages import CONFIG, ROOT, copy_pages, llms_text, navigation, unlisted

_WORK = ROOT / "dist" / "site-source"
_SITE = ROOT / "dist" / "site"
_GENERATOR = ("uv", "run", "--quiet", "--isolated", "--no-project", "--with-requirements")


def main(arguments: list[str]) -> int:
    """Builds and checks; returns 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="just site", description=__doc__)
    parser.add_argument("--pictures", type=Path, help="write pictures of pages to this folder")
    options = parser.parse_args(arguments)
    _build()
    faults = [
        *(f"not in the navigation: {path}" for path in unlisted()),
        *(f"leads nowhere: {link}" for link in broken_links(_SITE)),
        *(f"from another origin: {link}" for link in loaded_from_elsewhere(_SITE)),
    ]
    chromium = find_chromium()
    if chromium is None:
        faults.append(NO_CHROMIUM)
        answered, asked = 0, 0
    else:
        found, foreign = ask_questions(_SITE, chromium, options.pictures)
        for each in found:
            print(f"  {'ok' if each.is_answered else 'NO'}  {each.question}")
            print(f"      {', '.join(each.pages)}")
        faults += [f"requested from another origin: {url}" for url in foreign]
        faults += [f"not answered: {each.question}" for each in found if not each.is_answered]
        answered, asked = sum(each.is_answered for each in found), len(found)
    for fault in faults:
        print(f"  NO  {fault}")
    print(
        f"site: {len(html_pages(_SITE))} pages in {_SITE.relative_to(ROOT)}; {answered} of {asked} "
        f"questions answered by the first results; {len(faults)} faults"
    )
    return int(bool(faults))


def _build() -> None:
    shutil.rmtree(_WORK, ignore_errors=True)
    copy_pages(_WORK / "pages")
    shutil.copy(CONFIG, _WORK)
    requirements = ROOT / "requirements" / "site.txt"
    command = [*_GENERATOR, str(requirements), "zensical", "build", "--clean", "--strict"]
    subprocess.run(command, cwd=_WORK, check=True)
    shutil.rmtree(_SITE, ignore_errors=True)
    shutil.move(_WORK / "site", _SITE)
    for _, path in navigation():
        shutil.copy(ROOT / path, _SITE / path)  # llms.txt names the pages as Markdown
    (_SITE / "llms.txt").write_text(llms_text(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
