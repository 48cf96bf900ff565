"""The arguments of each tool: one source for its schema and for checking a model's calls."""

from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from sapwood.core.model_calls import ToolSpec
from sapwood.workspace.tool_output import ToolError

_Path = Annotated[str, Meta(min_length=1, description="Relative to the workspace's folder.")]
_Folder = Annotated[
    str, Meta(min_length=1, description="A file or folder; '.' is the whole workspace.")
]
_Ignored = Annotated[bool, Meta(description="Also what .gitignore hides.")]

_Needs = Annotated[
    tuple[Literal["network", "protected", "outside"], ...],
    Meta(
        description="What the sandbox has to open: network; protected, to write files that make "
        "programs run, such as .git/config; outside, for no sandbox. The user is asked."
    ),
]


class ReadFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `read_file`."""

    path: _Path
    offset: Annotated[int, Meta(ge=1, description="The first line to show.")] = 1
    limit: Annotated[int, Meta(ge=0, description="How many lines; 0 for all.")] = 0


class WriteFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `write_file`."""

    path: _Path
    content: str


class EditFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `edit_file`."""

    path: _Path
    old_text: Annotated[str, Meta(min_length=1, description="Exactly as in the file.")]
    new_text: str
    all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class ListFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `list_files`."""

    path: _Folder = "."
    glob: Annotated[str, Meta(description="Such as *.py or src/**/*.ts; '' is all.")] = ""
    depth: Annotated[int, Meta(ge=0, description="Levels of folders; 0 for all.")] = 0
    ignored: _Ignored = False


class SearchFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `search_files`."""

    pattern: Annotated[str, Meta(min_length=1, description="A regular expression.")]
    path: _Folder = "."
    glob: Annotated[str, Meta(description="Which files: *.py, src/**/*.ts; '' is all.")] = ""
    context: Annotated[int, Meta(ge=0, le=50, description="Lines before and after.")] = 0
    ignore_case: bool = False
    ignored: _Ignored = False


class Shell(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `shell`."""

    command: Annotated[str, Meta(min_length=1)]
    timeout: Annotated[int, Meta(ge=1, le=3600, description="Seconds.")] = 120
    cwd: Annotated[str, Meta(min_length=1, description="A folder of the workspace.")] = "."
    needs: _Needs = ()
    background: Annotated[
        bool, Meta(description="Keep it running after the turn, such as a server; see jobs.")
    ] = False


class Jobs(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `jobs`."""

    job: Annotated[int, Meta(ge=0, description="Read its new output; 0 lists all.")] = 0
    end: Annotated[bool, Meta(description="End it.")] = False


_Arguments = TypeVar("_Arguments", bound=Struct)


def tool_spec(name: str, description: str, arguments: type[Struct]) -> ToolSpec:
    """The specification of a tool that models get."""
    _, parts = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    own = parts.pop(arguments.__name__)
    schema = {k: v for k, v in own.items() if k not in _OMITTED}
    if parts:
        schema["$defs"] = parts
    return ToolSpec(name, description, msgspec.json.encode(schema).decode())


_OMITTED = ("title", "description")


def read_arguments(name: str, text: str, arguments: type[_Arguments]) -> _Arguments:
    """Parses the arguments of a call. Raises `ToolError` that names the problem and the fields."""
    try:
        return msgspec.json.decode(text or "{}", type=arguments, strict=False)
    except msgspec.ValidationError as error:
        problem = str(error).replace("Object", "The call", 1).replace(" - at `$.", " for `")
    except msgspec.DecodeError as error:
        problem = f"The arguments are not JSON: {error}"
    except UnicodeEncodeError:
        problem = "The arguments contain half of a surrogate pair"
    except RecursionError:
        problem = "The arguments are nested too deeply"
    raise ToolError(f"{name} did not run. {problem}. It takes {_field_names(arguments)}.")


def _field_names(arguments: type[Struct]) -> str:
    fields = msgspec.structs.fields(arguments)
    return ", ".join(f"{f.name} (required)" if f.required else f.name for f in fields)
