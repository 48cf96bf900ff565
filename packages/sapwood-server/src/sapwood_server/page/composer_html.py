"""The composer as HTML: the message, and below it folder, model and permission mode.

What is shown before there is a conversation: examples that fill the composer.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.settings import PermissionMode
from sapwood.workspace.permissions.permission_rules import MODES, next_mode
from sapwood_server.page.html_text import attribute, line

_MODE_TITLES: dict[PermissionMode, str] = {
    "ask": "Ask",
    "accept-edits": "Accept edits",
    "plan": "Plan",
    "read-only": "Read only",
    "all": "Allow all",
}
_EXAMPLES = (
    ("Explain this project to me in ten lines.", "reads files, changes nothing"),
    ("Run the tests and tell me what fails first.", "asks before a command leaves the sandbox"),
    ("Find a small bug, show me the cause, then fix it.", "shows each change before it is made"),
)


_LIMIT = (
    '<div class="elsewhere" id="limit" role="status" hidden><span></span><button class="btn sm" '
    'type="button" data-run="/retry">Ask now</button><button class="btn sm" type="button" '
    'id="stop-waiting">Do not ask again</button></div>'
)
"""The row that says when a limit of the provider resets. The page fills it."""
_BUSY = '<div class="elsewhere" id="busy" role="timer" hidden><span></span></div>'
"""The row that counts down to the next attempt of a model call. The page fills it."""


class ComposerFacts(Struct, frozen=True):
    """What the composer shows.

    `folders` are those of other conversations, to choose one for a new conversation. `elsewhere`
    is the program in which an imported conversation continues, `resume` what to type there.
    `sets_up`: the person may choose models and keys for this machine.
    """

    model: str = ""
    mode: PermissionMode = "ask"
    folder: str = ""
    folders: Sequence[str] = ()
    has_agent: bool = False
    elsewhere: str = ""
    resume: str = ""
    may_write: bool = True
    is_archived: bool = False
    is_ended: bool = False
    sets_up: bool = False


_HELD = (
    '<p id="held" class="faint">Not sent yet. Send sends these in order, then your new message. '
    "✕ removes one.</p>"
)
"""Below a queue while no turn is open: the style sheet hides it otherwise."""


def composer_html(facts: ComposerFacts) -> str:
    """The form in which a message is written."""
    hidden = "" if facts.may_write and not facts.is_archived else " hidden"
    read_only = "" if facts.may_write else '<p class="pad warn">This token is read-only.</p>'
    forks = facts.elsewhere or ("a fork" if facts.is_ended else "")
    send = "Fork and send" if forks else "Send"
    accept = "" if facts.mode == "plan" and facts.has_agent else " hidden"
    return (
        '<button class="btn sm" id="work" type="button" data-drawer="side" hidden></button>'
        f'<p id="says" role="status" aria-live="polite"></p>{read_only}'
        f"{_archived(facts)}{_ended(facts)}{_elsewhere(facts)}{_LIMIT}{_BUSY}"
        f'<form class="composer" id="composer" aria-label="Message"{hidden} '
        f'data-elsewhere="{attribute(forks)}">'
        f'<div id="queue"></div>{_HELD}<div class="attached" id="attached" hidden></div>'
        '<ul class="pop" id="choices" role="listbox" aria-label="Commands" tabindex="0" '
        'hidden></ul><div class="write"><textarea id="message" rows="1" '
        'aria-label="Message, or / for commands" '
        'placeholder="Message, / commands, @ files, ! shell" '
        'aria-controls="choices" aria-autocomplete="list" autocomplete="off"></textarea></div>'
        '<div class="opts"><div class="chips"><label class="btn opt plus attach" '
        'title="Attach images, or paste them">'
        '<span aria-hidden="true">+</span><span class="vh">Attach images</span>'
        '<input class="vh" type="file" id="files" accept="image/*" multiple></label>'
        f"{_chip('folder', 'Folder', _short_folder(facts.folder))}"
        f"{_chip('model', 'Model', line(facts.model) or 'choose a model')}"
        f"{_chip('mode', 'Permission mode', _MODE_TITLES[facts.mode], f'm-{facts.mode}')}"
        f'<button class="btn" type="button" id="accept" data-run="/accept-plan"{accept}>Accept the '
        'plan</button></div><span class="grow"></span>'
        '<button class="btn no" type="button" id="interrupt" hidden>■ <span class="wide">'
        'Interrupt</span> <kbd class="wide">esc</kbd></button>'
        f'<button class="btn go" id="send">{send}</button></div>'
        f"{_folder_list(facts)}{_model_list(facts)}{_mode_list(facts)}</form>"
    )


def _short_folder(folder: str) -> str:
    return line(folder.rstrip("/").rpartition("/")[2]) or "no folder"


def _chip(name: str, label: str, value: str, kind: str = "") -> str:
    return (
        f'<button class="btn opt {kind}" type="button" data-opens="{name}" aria-expanded="false" '
        f'aria-controls="pick-{name}"><span class="vh">{label}: </span>'
        f'<span class="ell" id="chip-{name}">{value}</span><span aria-hidden="true">▾</span>'
        "</button>"
    )


def _popover(name: str, label: str, inside: str) -> str:
    return (
        f'<div class="popv" id="pick-{name}" role="group" aria-label="{label}" hidden>{inside}'
        "</div>"
    )


def _folder_list(facts: ComposerFacts) -> str:
    if facts.has_agent:
        return _popover(
            "folder",
            "Folder",
            f'<p class="pad">This conversation works in <code>{line(facts.folder) or "no folder"}'
            "</code>. The folder stays the same for the whole conversation.</p>"
            '<p class="pad"><a class="btn" href="/?new=1">New conversation in another folder</a>'
            "</p>",
        )
    rows = "".join(
        f'<button class="opt-row" type="button" data-folder="{attribute(each)}">'
        f"<b>{_short_folder(each)}</b><span>{line(each)}</span></button>"
        for each in facts.folders
    )
    return _popover(
        "folder",
        "Folder",
        '<label class="pad">Files are read and changed in this folder '
        f'<input class="inp" id="folder" value="{attribute(facts.folder)}" autocomplete="off" '
        f'spellcheck="false"></label>{rows}',
    )


def _model_list(facts: ComposerFacts) -> str:
    setup = '<a class="btn bare sm" href="/setup">Add a key or a server …</a>'
    when = "from the next message" if facts.has_agent else "to this conversation"
    return _popover(
        "model",
        "Model",
        '<label class="pad"><span class="vh">Name of a model</span><input class="inp" '
        'id="model-name" placeholder="Filter, or type another name" autocomplete="off" '
        'spellcheck="false"></label><div id="models" aria-live="polite"></div>'
        f'<p class="pad row-x faint"><span class="grow">Applies {when}.</span>'
        f"{setup if facts.sets_up else ''}</p>",
    )


def _mode_list(facts: ComposerFacts) -> str:
    rows = "".join(
        f'<button class="opt-row" type="button" data-mode="{mode}" '
        f'data-next="{next_mode(mode)}" aria-pressed="{str(mode == facts.mode).lower()}">'
        f'<b class="m-{mode}">'
        f"{_MODE_TITLES[mode]}</b><span>{line(about)}</span></button>"
        for mode, about in MODES.items()
    )
    return _popover(
        "mode", "Permission mode", f'{rows}<p class="pad faint"><kbd>shift tab</kbd> next mode</p>'
    )


def _archived(facts: ComposerFacts) -> str:
    """What stands in place of the composer while the conversation is archived."""
    if not facts.may_write:
        return ""
    hidden = "" if facts.is_archived else " hidden"
    return (
        f'<div class="elsewhere" id="archived"{hidden}><span>This conversation is archived.</span>'
        '<button class="btn sm" type="button" data-run="/unarchive">Unarchive</button></div>'
    )


def _ended(facts: ComposerFacts) -> str:
    """What the composer of an agent that was ended is for."""
    if not facts.has_agent or not facts.may_write:
        return ""
    hidden = "" if facts.is_ended else " hidden"
    return (
        f'<div class="elsewhere" id="ended"{hidden}><span>This agent was ended. A message sent '
        "here goes to a fork, which continues with what is in view.</span></div>"
    )


def _elsewhere(facts: ComposerFacts) -> str:
    """What an imported conversation offers: it continues in its program, or as a fork here."""
    if not facts.elsewhere:
        return ""
    title, resume = line(facts.elsewhere), line(facts.resume)
    there = ""
    if resume:
        there = (
            f'<details class="there"><summary class="btn sm">Go on in {title}</summary>'
            f"<p>Type in a terminal: <code>{resume}</code> "
            f'<button class="btn bare sm" type="button" data-copy="{attribute(facts.resume)}">copy'
            "</button></p></details>"
        )
    return (
        f'<div class="elsewhere"><span>Imported from {title}, which keeps it. A message sent here '
        f"goes to a fork.</span>{there}</div>"
    )


def models_html(rows: Sequence[tuple[str, str, str]], chosen: str) -> str:
    """Models to choose from: name, provider, and what is missing to use it."""
    found = "".join(
        f'<button class="opt-row" type="button" data-model="{attribute(name)}" '
        f'aria-pressed="{str(name == chosen).lower()}"><b>{line(name)}</b>'
        f"<span>{line(title)}</span>"
        f"{f'<span class=warn>{line(missing)}</span>' if missing else ''}</button>"
        for name, title, missing in rows
    )
    return found or '<p class="pad faint">No model is ready.</p>'


def welcome_html(facts: ComposerFacts) -> str:
    """What is shown instead of a conversation: the idea, and examples."""
    examples = "".join(
        f'<li><button class="example" data-fill="{attribute(words)}"><b>{line(words)}</b>'
        f"<span>{line(about)}</span></button></li>"
        for words, about in _EXAMPLES
    )
    folder = line(facts.folder)
    where = f"It works in <code>{folder}</code>." if folder else "It has no folder."
    return (
        '<div class="welcome"><h1 class="h1">Everything is kept; you decide what the model sees.'
        f'</h1><p class="faint">Write a message below: a conversation starts with it. {where}</p>'
        f'<ul class="examples">{examples}</ul></div>'
    )


def setup_frame(problem: str = "") -> str:
    """The page on which a person chooses a model or program. Its script fills the list."""
    return (
        '<div class="page setup"><header><h1 class="h1">Choose a model or program</h1>'
        '<p class="faint">Everything is kept; you decide what the model sees. Pick one to begin; '
        f'you can change it before any message.</p>{_why(problem)}</header><div id="setup">'
        '<p class="faint">Looking for programs and keys on this machine …</p></div>'
        '<p><a class="btn" href="/?new=1&amp;look=1">Look around without a model</a></p></div>'
    )


def _why(problem: str) -> str:
    return f'<p class="warn" role="status">{line(problem)}</p>' if problem else ""
