"""The sandbox of `shell` in the folder of a space: a command sees the system and that folder.

`sandbox.py` confines the commands of the person at the machine, who may see most of it. Here only
what is named below is visible: no home folder, no folder of another space, no settings of services.
"""

import os
from collections.abc import Sequence

from msgspec import Struct

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_SETTINGS = (
    *("alternatives", "ca-certificates", "group", "hosts", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "pki", "protocols"),
    *("services", "ssl/certs", "ssl/openssl.cnf"),
)
"""Files of `/etc` that programs need and that contain no secrets."""


class TenantSandbox(Struct, frozen=True):
    """How commands in one folder are confined. Without `network`, they have none."""

    folder: str
    network: bool = False

    def command(self, arguments: Sequence[str], root: str, folder: str) -> list[str]:
        """The command line that runs `arguments` in `folder`; `root` is inside this sandbox too.

        The whole folder of the space is shown, so that a symlink which is put in place of `folder`
        at the last moment leads nowhere else.
        """
        options: list[str] = []
        for path in _SYSTEM:
            options += _shown(path)
        for name in _SETTINGS:
            options += _shown(f"/etc/{name}")
        names = os.path.realpath("/etc/resolv.conf")
        if self.network and os.path.exists(names):
            options += ["--ro-bind", names, "/etc/resolv.conf"]
        options += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        options += ["--bind", self.folder, self.folder]
        options += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        options += ["--unshare-cgroup-try", *([] if self.network else ["--unshare-net"])]
        for name, value in (("HOME", self.folder), ("TMPDIR", "/tmp")):
            options += ["--setenv", name, value]
        options += ["--cap-drop", "ALL", "--new-session", "--die-with-parent"]
        return ["bwrap", *options, "--chdir", folder, "--", *arguments]


def _shown(path: str) -> list[str]:
    if os.path.islink(path):
        return ["--symlink", os.readlink(path), path]
    return ["--ro-bind", path, path] if os.path.exists(path) else []
