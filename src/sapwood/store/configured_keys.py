"""The master keys that the configuration or the environment names."""

import os
from collections.abc import Mapping
from pathlib import Path

from sapwood.config.config_file import ConfigError, load_config, read_config
from sapwood.core.errors import LogError
from sapwood.store.master_keys import MasterKeys, parse_keys

KEY_VARIABLE = "SAPWOOD_ENCRYPTION_KEY"
_SECTION = "encryption"


def configured_masters(environ: Mapping[str, str] = os.environ) -> MasterKeys | None:
    """The master keys of this program; None if it has none.

    Raises `LogError` if they are named and cannot be used: a space that should be encrypted must
    not be stored as it is.
    """
    variable = environ.get(KEY_VARIABLE, "")
    try:
        if not variable and _SECTION not in read_config(environ):
            return None  # most programs: nothing to parse
        config = load_config(environ).encryption
    except ConfigError as error:
        if not variable and _SECTION not in _text(environ):
            return None
        raise LogError(f"Sapwood cannot tell which spaces are encrypted: {error}") from error
    if variable:
        return MasterKeys(parse_keys(variable, KEY_VARIABLE), config.spaces)
    if not config.key_file:
        return None
    file = Path(config.key_file).expanduser()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise LogError(
            f"The key file for encrypted spaces, {file}, cannot be read: {why}. Nothing was "
            "opened. Restore it, or change the setting encryption.key_file."
        ) from error
    return MasterKeys(parse_keys(text, str(file)), config.spaces)


def _text(environ: Mapping[str, str]) -> str:
    try:
        return read_config(environ)
    except ConfigError:
        return ""
