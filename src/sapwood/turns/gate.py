"""The gate in front of the log: converts, checks and masks every command.

A caller may have passed anything: a dict as arguments of a tool call, bytes as a result, a subclass
of `str`, a lone surrogate. The gate returns the command in the exact types that its class declares,
or a refusal that names the wrong field. Events are built from commands alone, so every command that
passes the gate can be stored and read back.

Every text is masked, except for the fields listed here as exact.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from sapwood.core.commands import AskQuestion, Command, CommandMeta, Compact, FailTurn
from sapwood.core.content import ReplyPart, Text, Thinking, Usage
from sapwood.core.events import Actor
from sapwood.core.file_part import LARGEST_FILE, File, is_base64
from sapwood.core.ids import Origin, TranscriptRange, can_be_stored
from sapwood.core.lease import Lease
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.refusals import BadValue
from sapwood.turns.conversion import (
    Unfit,
    as_flag,
    as_identifier,
    as_integer,
    as_items,
    as_json,
    as_key,
    as_label,
    as_moment,
    as_number,
    as_text,
)

Mask = Callable[[str], str]
"""Returns a text with its secrets masked."""

_T = TypeVar("_T")
_Convert = Callable[[Any, Mask], Any]

# Ids of other programs: a number is converted to its digits.
_IDENTIFIERS = frozenset(
    {"id", "call", "tool_call", "mail", "session", "command", "nonce", "question"}
)
_LABELS = frozenset(
    {"name", "topic", "mark", "model", "provider", "source", "path", "words", "value"}
)
_JSON = frozenset({"args", "params", "shown", "answer", "output_schema"})
# Values that are sent back, compared or opened unchanged: masking would break them.
_EXACT = frozenset(
    {
        "hash",
        "tools",
        "signature",
        "signer",
        "response",
        "failure",
        "commit",
        "tree",
        "folder",
        "worktree",
        "branch",
        "rows",
        "pins",
        "holder",
    }
)
_MOMENTS = frozenset(
    {(CommandMeta, "at"), (Lease, "until"), (AskQuestion, "until"), (FailTurn, "retry_at")}
)
_EXACT_CLASSES = frozenset({Actor, Origin, TranscriptRange, ProgramSession, NativeRows})
"""Classes whose texts are ids and paths: of actors, transcripts, and rows of transcripts."""

_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")

_SIGNED = {Thinking: "text", Compact: "summary"}
"""Classes with a signature, and the field that it is of."""

_COMMANDS: frozenset[type[Command]] = frozenset(get_args(Command))


class Gate:
    """Converts and masks the commands of one dispatcher."""

    def __init__(self, mask: Mask | None = None) -> None:
        self._mask = mask or _unmasked

    def mask(self, text: str) -> str:
        """The text with its secrets masked."""
        return self._mask(text)

    def reply(self, parts: tuple[ReplyPart, ...]) -> tuple[ReplyPart, ...]:
        """The parts of a reply as they would be stored; none if one of them cannot be stored."""
        try:
            return _reply_parts()(parts, self._mask)
        except Unfit:
            return ()

    def command(self, command: Command) -> Command | BadValue:
        """Returns the command in the form that can be stored, or a refusal."""
        kind = _class_of(command, _COMMANDS)
        if kind is None:
            return BadValue("command", "one of sapwood.core.commands", type(command).__name__)
        return self._converted(kind, command)

    def meta(self, meta: CommandMeta) -> CommandMeta | BadValue:
        """Returns the meta data of a command in the form that can be stored, or a refusal."""
        return self._converted(CommandMeta, meta)

    def _converted(self, kind: type[_T], value: _T) -> _T | BadValue:
        try:
            return _struct(kind)(value, self._mask)
        except Unfit as unfit:
            return BadValue(unfit.place, unfit.rule, unfit.given)


def as_actor(value: object) -> Actor:
    """Converts who acts. Raises `Unfit`."""
    return _struct(Actor)(value, _unmasked)


def _unmasked(text: str) -> str:
    return text


@cache
def _reply_parts() -> _Convert:
    return _items((ReplyPart, ...), _text("parts"))


def _class_of(value: object, known: frozenset[type[_T]]) -> type[_T] | None:
    """The known class of a value, also for an instance of a subclass."""
    if type(value) in known:
        return type(value)  # pyright: ignore[reportReturnType] # it is one of them
    return next((each for each in known if isinstance(value, each)), None)


@cache
def _struct(kind: type[Any]) -> _Convert:
    """Returns a function that converts a struct field by field, and returns it if none changes."""
    hints = get_type_hints(kind)
    fields = [(name, _field(kind, name, hints[name])) for name in kind.__struct_fields__]

    def convert(value: Any, mask: Mask) -> Any:
        if type(value) is not kind:
            value = _made(kind, value)
        changed: dict[str, Any] | None = None
        for name, fit in fields:
            try:
                old = getattr(value, name)
                new = fit(old, mask)
            except Unfit as unfit:
                raise unfit.within(name) from None
            except AttributeError:
                raise Unfit("given", None, name) from None
            if new is not old:
                changed = changed or {}
                changed[name] = new
        return value if changed is None else structs.replace(value, **changed)

    return _signed(convert, _SIGNED[kind]) if kind in _SIGNED else convert


def _made(kind: type[Any], value: Any) -> Any:
    """Makes a struct of an instance of a subclass, or of a mapping in the shape of its JSON."""
    try:
        if isinstance(value, kind):
            return kind(**{name: getattr(value, name) for name in kind.__struct_fields__})
        if isinstance(value, Mapping):
            return msgspec.convert(cast("Mapping[str, object]", value), kind, strict=False)
    except Exception:  # a mapping of another program may raise anything
        raise Unfit(_article(kind), cast("object", value)) from None
    raise Unfit(_article(kind), cast("object", value))


def _signed(convert: _Convert, text: str) -> _Convert:
    """A signature is valid for the exact text only, so it is removed if the text was masked."""

    def converted(value: Any, mask: Mask) -> Any:
        new = convert(value, mask)
        if new is value or not new.signature or getattr(new, text) == getattr(value, text):
            return new
        return structs.replace(new, signature="")

    return converted


def _field(kind: type, name: str, hint: Any) -> _Convert:
    """Returns the function that converts the values of one field."""
    if kind is File and name == "data":
        return lambda value, _: _file_data(value)
    if kind is File and name == "media_type":
        return lambda value, _: _media_type(value)
    if name == "agent" and kind not in _COMMANDS:  # a place in the log of any agent
        return lambda value, _: _agent_id(value)
    if kind is Usage:
        return lambda value, _: as_integer(value, minimum=0)
    if (kind, name) in _MOMENTS:
        return lambda value, _: as_moment(value)
    if hint is str and kind in _EXACT_CLASSES:
        return lambda value, _: as_identifier(value)
    return _typed(hint, _text(name))


def _agent_id(value: object) -> str:
    text = as_key(value)
    if not can_be_stored(text):
        raise Unfit("the id of an agent", value)
    return text


def _file_data(value: object) -> str:
    text = as_text(value)
    if not is_base64(text):
        raise Unfit(f"base64 of up to {LARGEST_FILE:,} bytes", value)
    return text


def _media_type(value: object) -> str:
    text = as_label(value).lower()
    if not _MEDIA_TYPE.fullmatch(text):
        raise Unfit("a media type such as image/png", value)
    return text


def _without_secret(value: object, mask: Mask) -> str:
    """Masking would make two owners one, so an owner that holds a secret is refused."""
    text = as_label(value)
    if mask(text) != text:
        raise Unfit("an id without a secret", value)
    return text


def _text(name: str) -> _Convert:
    if name == "owner":
        return _without_secret
    if name in _IDENTIFIERS:
        return lambda value, mask: mask(as_identifier(value))
    if name in _EXACT:
        return lambda value, _: as_label(value)
    if name in _JSON:
        return _masked_json
    if name in _LABELS:
        return lambda value, mask: mask(as_label(value))
    return lambda value, mask: mask(as_text(value))


def _typed(hint: Any, text: _Convert) -> _Convert:
    origin = get_origin(hint)
    if hint is str:
        return text
    if isinstance(hint, NewType):
        return lambda value, _: as_key(value)
    if hint is bool:
        return lambda value, _: as_flag(value)
    if hint is int:
        return lambda value, _: as_integer(value)
    if hint is float:
        return lambda value, _: as_number(value)
    if origin is Literal:
        return _one_of(get_args(hint))
    if origin is tuple:
        return _items(get_args(hint), text)
    if origin is UnionType or origin is Union:
        return _union(get_args(hint), text)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _struct(hint)
    raise AssertionError(f"a defect in Sapwood: commands hold no {hint}")


def _one_of(choices: tuple[Any, ...]) -> _Convert:
    known = {choice: choice for choice in choices}
    rule = f"one of {', '.join(map(str, choices))}"

    def convert(value: Any, _: Mask) -> Any:
        try:
            return known[as_text(value)]
        except (Unfit, KeyError):
            raise Unfit(rule, value) from None

    return convert


def _items(hints: tuple[Any, ...], text: _Convert) -> _Convert:
    """Converts a tuple: any number of items of one type, or a fixed number."""
    fit = _typed(hints[0], text)
    size = None if hints[-1] is Ellipsis else len(hints)

    def convert(value: Any, mask: Mask) -> Any:
        items = as_items(value)
        if size is not None and len(items) != size:
            raise Unfit(f"a list of {size}", value)
        fitted = [fit_item(place, item, mask) for place, item in enumerate(items)]
        same = type(value) is tuple and all(map(lambda a, b: a is b, fitted, items))
        return cast("object", value) if same else tuple(fitted)

    def fit_item(place: int, item: Any, mask: Mask) -> Any:
        try:
            return fit(item, mask)
        except Unfit as unfit:
            raise unfit.within(f"[{place}]") from None

    return convert


def _union(hints: tuple[Any, ...], text: _Convert) -> _Convert:
    if NoneType in hints:
        inner = _union_of([hint for hint in hints if hint is not NoneType], text)
        return lambda value, mask: None if value is None else inner(value, mask)
    if UnsetType in hints:
        inner = _union_of([hint for hint in hints if hint is not UnsetType], text)
        return lambda value, mask: UNSET if value is UNSET else inner(value, mask)
    return _union_of(list(hints), text)


def _union_of(hints: list[Any], text: _Convert) -> _Convert:
    """Converts a value of one type or of one of several structs; `str` is accepted for `Text`."""
    if len(hints) == 1:
        return _typed(hints[0], text)
    kinds = frozenset(cast("list[type[Struct]]", hints))
    fits = {kind: _struct(kind) for kind in kinds}
    union = Union[tuple(hints)]  # noqa: UP007 # made at run time
    rule = " or ".join(sorted(_article(kind) for kind in kinds))

    def convert(value: Any, mask: Mask) -> Any:
        fit = fits.get(cast("type[Struct]", type(value)))
        if fit is not None:
            return fit(value, mask)
        if Text in kinds and isinstance(value, str | bytes):
            return fits[Text](Text(cast("str", value)), mask)
        kind = _class_of(value, kinds)
        if kind is not None:
            return fits[kind](value, mask)
        if isinstance(value, Mapping):
            made = _from_mapping(cast("Mapping[str, object]", value), union, rule)
            return fits[type(made)](made, mask)
        raise Unfit(rule, value)

    return convert


def _from_mapping(value: Mapping[str, object], union: Any, rule: str) -> Any:
    try:
        return msgspec.convert(value, union, strict=False)
    except Exception:  # a mapping of another program may raise anything
        raise Unfit(rule, value) from None


def _masked_json(value: Any, mask: Mask) -> str:
    """JSON text with its secrets masked. If the text was valid JSON, the result is too."""
    text = as_json(value)
    masked = mask(text)
    if masked is text or masked == text or _is_json(masked) or not _is_json(text):
        return masked
    tree = _masked_tree(msgspec.json.decode(text), mask)
    return msgspec.json.encode(tree).decode()


def _masked_tree(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [_masked_tree(item, mask) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {mask(key): _masked_tree(item, mask) for key, item in items}
    return value


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _article(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
