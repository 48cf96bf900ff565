"""What every file must be after a revert, and after the revert was taken back."""

from msgspec import Struct

from proofs.revert.snapshot import Entry, Snapshot


class Findings(Struct):
    """What was found. Each problem is one line."""

    lost: list[str]
    modes: list[str]
    outside: list[str]
    other: list[str]
    histories: int = 0
    turns: int = 0
    reverts: int = 0
    killed: int = 0
    finished: int = 0
    files: int = 0

    @property
    def problems(self) -> list[str]:
        """All problems."""
        return [*self.lost, *self.modes, *self.outside, *self.other]

    def add(self, other: "Findings") -> None:
        """Adds what another part found."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def check_revert(
    findings: Findings, where: str, then: Snapshot, now: Snapshot, got: Snapshot
) -> None:
    """Compares the files after a revert with those before the turn and before the revert."""
    for path in sorted({*then.files, *now.files, *got.files}):
        findings.files += 1
        found = got.files.get(path)
        allowed = _allowed(path, then, now)
        if found not in allowed:
            _report(findings, f"{where}: {path!r}", found, allowed)


def _allowed(path: str, then: Snapshot, now: Snapshot) -> list[Entry | None]:
    """What the file may be after the revert; usually one thing."""
    before, present = then.files.get(path), now.files.get(path)
    if before == present:
        return [present]
    was, is_ = then.covered(path), now.covered(path)
    if before is not None and present is not None:
        if was and is_:
            return [before]
        return [present] if was is False or is_ is False else [before, present]
    if before is not None:
        blocked = now.blocked(path)
        if was and not blocked:
            return [before]
        return [None] if was is False else [before, None]
    if is_ is False:
        return [present]
    return [None] if is_ and not then.may_hold(path) else [None, present]


def check_same(findings: Findings, where: str, then: Snapshot, got: Snapshot) -> None:
    """Everything must be as it was, with the permissions of folders that hold files."""
    for path in sorted({*then.files, *got.files}):
        findings.files += 1
        if path not in then.files and then.may_hold(path):
            continue  # nobody recorded what was in a folder that is not covered
        if then.files.get(path) != got.files.get(path):
            _report(findings, f"{where}: {path!r}", got.files.get(path), [then.files.get(path)])
    holding = {path.rpartition("/")[0] for path in then.files}
    for folder in sorted(holding & then.folders.keys()):
        if then.folders[folder] != got.folders.get(folder):
            modes = f"{then.folders[folder]:o} became {got.folders.get(folder, 0):o}"
            findings.modes.append(f"{where}: folder {folder!r} {modes}")


def _report(
    findings: Findings, where: str, found: Entry | None, wanted: list[Entry | None]
) -> None:
    contents = [each.content if each else None for each in wanted]
    if found is not None and found.content in contents:
        findings.modes.append(f"{where}: {_shown(found)} and not {_shown(wanted[0])}")
    else:
        findings.lost.append(f"{where}: {_shown(found)} and not {_shown(wanted[0])}")


def _shown(entry: Entry | None) -> str:
    return f"{entry.kind} {entry.content[:12]!r} {entry.mode:o}" if entry else "nothing"
