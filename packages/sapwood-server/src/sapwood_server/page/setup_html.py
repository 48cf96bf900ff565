"""The page on which a person chooses a model or program, as HTML: programs, API keys, a server."""

from collections.abc import Sequence

from sapwood.config.api_keys import keys_file
from sapwood.conversation.model_setup import EXAMPLE_SERVER, ModelOption
from sapwood_server.page.html_text import attribute, line


def setup_html(options: Sequence[ModelOption], model: str, address: str) -> str:
    """What can answer. `model` is the one that is chosen now, `address` that of an own server."""
    return (
        f"{_programs([each for each in options if each.is_program], model)}"
        f"{_providers([each for each in options if not each.is_program], model)}"
        f"{_server(model, address)}"
    )


def _group(title: str, about: str, rows: str) -> str:
    return (
        f'<section class="grp"><h2>{title} <span class="faint">{about}</span></h2>'
        f'<ul class="pick">{rows}</ul></section>'
    )


def _row(logo: str, title: str, about: str, act: str, more: str = "", *, chosen: bool) -> str:
    sign = '<span class="chip ok">chosen</span>' if chosen else ""
    return (
        f'<li{" class=sel" if chosen else ""}><span class="lg" aria-hidden="true">{logo}</span>'
        f"<div><b>{title}</b> {sign}<p>{about}</p></div>{act}{more}"
        '<p class="said" role="status"></p></li>'
    )


def _programs(options: Sequence[ModelOption], model: str) -> str:
    ready = [each for each in options if not each.problem]
    rows = "".join(
        _row(
            line(each.account.title)[:1].upper(),
            line(each.account.title),
            '<span class="ok">● ready</span> · your own login, no key needed',
            f'<form data-setup><input type="hidden" name="model" value="{attribute(each.model)}">'
            f'<button class="btn big">Use {line(each.account.title)}</button></form>',
            chosen=each.model == model,
        )
        for each in ready
    )
    missing = [each for each in options if each.problem]
    if missing:
        names = ", ".join(line(each.account.title) for each in missing)
        inside = "".join(f"<li>{line(each.problem)}</li>" for each in missing)
        rows += (
            f'<li class="more-programs"><details><summary>{"Not" if ready else "None is"} ready: '
            f"{names}. What to do ▸</summary><ul>{inside}</ul></details></li>"
        )
    again = '<button class="btn bare sm" data-setup-again>Look again</button>'
    return _group(
        "Programs on this machine",
        f"they run the turns, Sapwood keeps and trims the history {again}",
        rows,
    )


def _providers(options: Sequence[ModelOption], model: str) -> str:
    accounts: dict[str, list[ModelOption]] = {}
    for each in options:
        accounts.setdefault(each.account.account, []).append(each)
    rows = "".join(_provider(found, model) for found in accounts.values())
    stored = f"stored in <code>{line(str(keys_file()))}</code>, readable only by you"
    return _group("Providers, with your own API key", stored, rows)


def _provider(found: Sequence[ModelOption], model: str) -> str:
    first = found[0]
    title, account = line(first.account.title), attribute(first.account.account)
    names = [each.model for each in found]
    chosen = model in names
    listed = "".join(f"<option>{line(name)}</option>" for name in names)
    origin, about = first.key_origin, "paste a key, choose a model"
    if origin:
        about = f'<span class="ok">● API key found</span> in {line(origin)}'
    # A variable of the environment outranks the file, so a key that is pasted would not be used.
    is_stored = not origin or origin == str(keys_file())
    key = _key_field(account, title, optional=bool(origin)) if is_stored else ""
    form = (
        f'<form data-setup class="key"><label class="vh" for="model-{account}">Model of {title}'
        f'</label><input class="inp" id="model-{account}" name="model" list="list-{account}" '
        f'value="{attribute(model if chosen else names[0])}" required autocomplete="off" '
        f'spellcheck="false"><datalist id="list-{account}">{listed}</datalist>{key}'
        f'<button class="btn big">Use<span class="vh"> {title}</span></button></form>'
    )
    return _row(title[:1].upper(), title, about, form, chosen=chosen)


def _key_field(account: str, title: str, *, optional: bool) -> str:
    needed = 'placeholder="another API key"' if optional else 'placeholder="API key" required'
    return (
        f'<label class="vh" for="key-{account}">API key of {title}</label><input class="inp" '
        f'id="key-{account}" name="key" type="password" {needed} autocomplete="off" '
        'spellcheck="false">'
    )


def _server(model: str, address: str) -> str:
    chosen = model.startswith("compatible:")
    name = model.removeprefix("compatible:") if chosen else ""
    form = (
        '<form data-setup class="key"><label class="vh" for="server">Address</label>'
        f'<input class="inp" id="server" name="address" type="url" required '
        f'value="{attribute(address)}" placeholder="{EXAMPLE_SERVER}" autocomplete="off">'
        '<label class="vh" for="server-model">Model of the server</label>'
        '<input class="inp" id="server-model" name="model" list="server-models" required '
        f'value="{attribute(name)}" placeholder="model" autocomplete="off" spellcheck="false">'
        '<datalist id="server-models"></datalist>'
        '<button class="btn big" type="button" data-setup-look>Find models</button>'
        '<button class="btn big">Use<span class="vh"> this server</span></button></form>'
    )
    about = "Ollama, vLLM, LM Studio, llama.cpp: no key, nothing leaves this machine"
    row = _row("⌂", "OpenAI-compatible server", about, form, chosen=chosen)
    return _group("Your own server", "", row)
