"""The handler of `/use`, which people type as `/NAME`: custom commands and skills."""

from msgspec import structs

from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.call import Call, typed_request
from sapwood.core.content import Text
from sapwood.core.refusals import nearest
from sapwood.workspace.custom_commands import CODEX_PREFIX, CustomCommand, prompt_of


async def use(call: Call) -> Prompted | Changed:
    """Sends the text of a custom command or skill as a prompt; without a name, lists them.

    Shell commands in the text do not run. Raises `RefusedError` if there is none of that name.
    """
    workspace = call.services.workspace_of((await call.opened()).state)
    read = await call.services.read_custom_commands(workspace)
    known = tuple(each for each in read if each.for_people)
    name, arguments = call.first_and_rest
    if not name:
        return Changed(call.agent, _listed(known))
    by_name = {each.name: each for each in known}
    command = by_name.get(name) or by_name.get(name.removeprefix(CODEX_PREFIX))
    if command is None:
        close = ", ".join(nearest(name, tuple(by_name), 0.6)) or "type /use to list them"
        raise call.misused(f"There is no custom command or skill '{name[:60]}': {close}.")
    text = prompt_of(command, arguments)
    answer = await call.open_turn((Text(text),), request=typed_request(call.agent, call.run))
    notes = (*_notes(command), answer.message)
    return structs.replace(answer, message="\n".join(filter(None, notes)))


def _listed(known: tuple[CustomCommand, ...]) -> str:
    lines = [f"/{each.name}  {each.about}  ({each.kind}, {each.path})" for each in known]
    return "\n".join(lines) or "There are no custom commands and no skills here."


def _notes(command: CustomCommand) -> list[str]:
    """What a person who knows the file from another program has to know."""
    notes: list[str] = []
    if command.shell_lines:
        shown = ", ".join(f"`{each}`" for each in command.shell_lines)
        notes.append(f"Not run: {shown}. The model can run it by its tool, if you allow it.")
    if command.ignored:
        notes.append(f"{command.path}: {', '.join(command.ignored)} has no effect here.")
    return notes
