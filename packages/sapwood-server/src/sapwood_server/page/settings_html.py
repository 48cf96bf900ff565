"""The page of settings as HTML: every row of the one table of settings, with its value."""

from collections.abc import Iterable, Sequence

from sapwood.config.config_file import Config
from sapwood.config.editor import KnownSetting, Setting, known_settings, shown_value
from sapwood_server.page.html_text import attribute, line

_CHOICES = {"true or false": ("true", "false")}
_GROUP_TITLES = {"": "General"}


def settings_html(
    settings: Iterable[Setting] | None, config: Config, at_start: Sequence[str]
) -> str:
    """The settings of this browser, then those of the configuration, by group, if they are given.

    Those whose name begins with one of `at_start` need a restart.
    """
    return (
        '<div class="page settings"><header class="row-x"><h1 class="h1 grow">Settings</h1>'
        f"{'' if settings is None else _SETUP}</header>{_BROWSER}"
        f"{'' if settings is None else _configuration(settings, config, at_start)}</div>"
    )


_SETUP = '<a class="btn" href="/setup">Models and API keys</a>'
_BROWSER = (
    '<section class="card"><header><h2>This browser</h2></header><table class="tbl set"><tbody>'
    '<tr><th scope="row">Colours</th><td><select class="inp" id="colours" aria-label="Colours">'
    '<option value="">as the system</option>'
    "<option value=dark>dark</option><option value=light>light</option>"
    "<option value=contrast>high contrast</option></select></td></tr>"
    '<tr><th scope="row">Notifications<p>When a tool call needs you or a turn ends, while a '
    'Sapwood tab is open in the background.</p></th><td><button class="btn" id="notify" '
    'aria-pressed="false">Switch on</button><p class="said" role="status"></p></td></tr>'
    '<tr><th scope="row">Pair a phone<p>A code signs in one other browser as you, without settings '
    "and API keys. It works once, within two minutes.</p></th><td>"
    '<button class="btn" id="pair">Show a code</button><div role="status"><p id="code" class="big">'
    '</p><p id="where" class="said"></p></div></td></tr></tbody></table></section>'
)


def _configuration(settings: Iterable[Setting], config: Config, at_start: Sequence[str]) -> str:
    groups: dict[str, list[str]] = {}
    for each in settings:
        known = next((one for one in known_settings() if one.path_in(each.name)), None)
        if known is None:
            continue
        group = each.name.partition(".")[0] if "." in each.name else ""
        restart = each.name.partition(".")[0] in at_start
        row = _row(each, known, shown_value(each, config), restart=restart)
        groups.setdefault(group, []).append(row)
    cards = "".join(
        f'<section class="card"><header><h2>{_GROUP_TITLES.get(name, line(name))}</h2></header>'
        f'<table class="tbl set"><tbody>{"".join(rows)}</tbody></table></section>'
        for name, rows in groups.items()
    )
    return (
        '<p class="faint tools">The configuration of this machine, as <code>sapwood config</code> '
        "shows it. Changes apply to new conversations at once.</p>"
        '<p class="tools"><input class="inp" id="setting-filter" placeholder="Filter settings" '
        f'aria-label="Filter settings" autocomplete="off"></p><div id="settings">{cards}</div>'
    )


def _row(setting: Setting, known: KnownSetting, shown: str, *, restart: bool) -> str:
    name = attribute(setting.name)
    origin = f'<span class="chip">{_origin(setting)}</span>' if setting.origin else ""
    later = '<span class="chip warn">needs a restart</span>' if restart else ""
    fixed = setting.origin.startswith("SAPWOOD_") or shown != setting.typed
    unset = ""
    if setting.origin and not fixed:
        unset = '<button class="btn bare sm" type="button" data-unset>Reset</button>'
    field = f'<span class="mono">{line(shown)}</span>' if fixed else _field(setting, known)
    return (
        f'<tr data-setting><th scope="row"><code>{line(setting.name)}</code> {origin} {later}'
        f"<p>{line(known.help)}</p></th><td>"
        f'<form data-name="{name}">{field}{unset}</form>'
        '<p class="said" role="status"></p></td></tr>'
    )


def _origin(setting: Setting) -> str:
    return line(setting.origin) if setting.origin.startswith("SAPWOOD_") else "changed"


def _field(setting: Setting, known: KnownSetting) -> str:
    label = f'aria-label="{attribute(setting.name)}"'
    if words := _choices(known):
        options = "".join(
            f"<option{' selected' if word == setting.typed else ''}>{line(word)}</option>"
            for word in words
        )
        return f'<select class="inp" name="value" {label}>{options}</select>'
    return (
        f'<input class="inp" name="value" {label} value="{attribute(setting.typed)}" '
        f'placeholder="{attribute(known.values)}" title="{attribute(known.values)}" '
        'autocomplete="off" spellcheck="false"><button class="btn">Save</button>'
    )


def _choices(known: KnownSetting) -> Sequence[str]:
    """The words that a setting takes; none if it takes others too."""
    if known.values == "true or false":
        return _CHOICES[known.values]
    words = known.values.replace(" or ", ", ").split(", ")
    return words if len(words) > 1 and all(" " not in word for word in words) else ()
