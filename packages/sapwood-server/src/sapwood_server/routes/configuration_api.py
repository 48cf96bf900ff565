"""The configuration over HTTP: what answers new conversations, its API key, and all settings.

It belongs to the person at the machine, so these routes need the scope `admin` in their own space.
"""

from sapwood.config.editor import list_settings, set_setting, shown_value, unset_setting
from sapwood.conversation.model_setup import ModelSetup
from sapwood_server.problems import Problem
from sapwood_server.request_context import RequestContext, Routes, text_field

_MAX_KEY = 2_000

ROUTES = Routes(internal=True)


@ROUTES.add("GET", "/v1/setup", "admin", "Show what can answer conversations")
async def show_setup(call: RequestContext) -> dict[str, object]:
    """The model of new conversations, why it cannot be called if so, and what can be chosen."""
    call.require_own_machine()
    setup = ModelSetup(call.space.agents.config)
    options = [
        {
            "model": each.model,
            "title": each.account.title,
            "program": each.is_program,
            "ready": each.is_ready,
            "problem": each.problem,
        }
        for each in await setup.options()
    ]
    problem = await setup.problem(call.space.agents.keys)
    model = call.space.agents.config.model
    return {"model": model, "problem": problem, "options": options}


@ROUTES.add("POST", "/v1/setup", "admin", "Choose what answers new conversations")
async def choose_model(call: RequestContext) -> dict[str, object]:
    """Chooses what answers new conversations. Nothing is stored if the key is rejected.

    With `address`, it is a model of the OpenAI-compatible server there.
    """
    call.require_own_machine()
    body = await call.body()
    model, key = text_field(body, "model").strip(), text_field(body, "key").strip()
    address = text_field(body, "address").strip()
    setup = ModelSetup(call.space.agents.config)
    if address:
        chosen = setup.choose_server(address, model)
        return {"model": chosen, "message": f"New conversations use {chosen}."}
    if problem := setup.refusal(model):
        raise Problem(422, "Unknown model", problem)
    if body.get("anyway") is not True and (doubt := setup.doubt(model)):
        raise Problem(409, "Unlisted model", f"{doubt} Choose it again to use it anyway.")
    message = f"New conversations use {model}."
    if key:
        if len(key) > _MAX_KEY:
            raise Problem(422, "Key too long", "This is too long for an API key.")
        message = f"{await setup.store_key(model, key)} {message}"
    elif setup.needs_key(model):
        raise Problem(422, "Key missing", f"Paste an API key for {setup.account(model).title}.")
    elif problem := await setup.program_problem(model):
        raise Problem(424, "Program unavailable", problem)
    setup.choose(model)
    return {"model": model, "message": message}


@ROUTES.add("POST", "/v1/setup/models", "admin", "List the models of a server")
async def look_for_models(call: RequestContext) -> dict[str, object]:
    """The models of an OpenAI-compatible server."""
    call.require_own_machine()
    address = text_field(await call.body(), "address").strip()
    if not address.startswith(("http://", "https://")):
        raise Problem(422, "Not an address", "Enter an address that starts with http://.")
    found = await ModelSetup(call.space.agents.config).server_models(address)
    return {"models": found[:200]}


@ROUTES.add("GET", "/v1/settings", "admin", "List the settings")
async def show_settings(call: RequestContext) -> dict[str, object]:
    """Every setting with its value and where that comes from. Secrets are not shown."""
    call.require_own_machine()
    config = call.space.agents.config
    settings = [
        {"name": each.name, "value": shown_value(each, config), "origin": each.origin}
        for each in list_settings()
    ]
    return {"settings": settings}


@ROUTES.add("POST", "/v1/settings", "admin", "Change a setting")
async def change_setting(call: RequestContext) -> dict[str, object]:
    """Writes a setting into the file, as `sapwood config set` does; without a value, the default.

    The server reads the file again by itself.
    """
    call.require_own_machine()
    body = await call.body()
    name = text_field(body, "name")
    if "value" not in body:
        unset_setting(name)
        return {"message": f"{name} has its default again."}
    set_setting(name, text_field(body, "value"))
    return {"message": f"{name} is changed."}
