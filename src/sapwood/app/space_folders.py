"""Decides in which folder the agents of a space work, in a server and in a worker."""

import os

from sapwood.config.config_file import Config
from sapwood.config.space_folders import ANY, folder_of, is_made
from sapwood.core.errors import SapwoodError
from sapwood.workspace.space_folder import SpaceFolder


def space_folder(config: Config, space: str, *, own: bool) -> SpaceFolder | None:
    """The only folder of a space; None if its agents may work in any.

    `own`: the space is that of the person who started this process, so its agents work in any
    folder unless the configuration gives it one. Every other space has a folder only if the
    configuration gives it one. Raises `SapwoodError` if that folder cannot be used.
    """
    named = folder_of(config.folders, space)
    if named == ANY or (own and not named):
        return None
    if not named:
        return SpaceFolder()
    path = os.path.realpath(named)
    try:
        if is_made(config.folders, space):
            os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise SapwoodError(
            f"The folder {path} for the space '{space}' could not be created: {error.strerror}."
        ) from error
    if not os.path.isdir(path):
        raise SapwoodError(
            f"The folder {path} for the space '{space}' does not exist. Create it, or choose "
            f"another: --folder {space}=PATH"
        )
    return SpaceFolder(path)
