"""The fields of the Gemini API, and the two spellings of their names. Pure.

To allow a new field, add it here. As of the `google-genai` library 3.1.0; a test compares these
tables with the types of the library, where it is installed. Clients may send a name in camel case
or with underscores; the tables use camel case, and error messages use underscores.
"""

import re
from collections.abc import Iterator
from functools import cache

from scripted_model.json_values import Json, JsonObject, is_object
from scripted_model.wires.wire import Shape, Violation, shape, shapes

AS_OF = "google-genai 3.1.0"
TOP = shape(
    "contents! cachedContent continuationToken generationConfig labels model outputConfig "
    "safetySettings serviceTier store systemInstruction toolConfig tools"
)
TOP_COUNT = shape("contents generateContentRequest generationConfig systemInstruction tools")
CONTENT = shape("parts role")
PARTS = shapes(
    {
        "functionCall": "name! args id partialArgs willContinue",
        "functionResponse": "name! response! id parts scheduling willContinue",
        "inlineData": "data! mimeType! displayName",
        "fileData": "fileUri! displayName mimeType",
        "executableCode": "code! language! id",
        "codeExecutionResult": "outcome! id output",
        "toolCall": "args id toolType",
        "toolResponse": "id response toolType",
    }
)
DATA = frozenset({"text", *PARTS})
PART = shape(
    " ".join(sorted(DATA))
    + " audioTranscription mediaProcessing mediaResolution partMetadata speechMetadata thought "
    "thoughtSignature videoMetadata"
)
GENERATION = shape(
    "audioTimestamp audioTranscriptionConfig candidateCount enableEnhancedCivicAnswers "
    "frequencyPenalty imageConfig logprobs maxOutputTokens mediaResolution modelSelectionConfig "
    "presencePenalty responseFormat responseJsonSchema responseLogprobs responseMimeType "
    "responseModalities responseSchema routingConfig seed speechConfig stopSequences temperature "
    "thinkingConfig topK topP translationConfig"
)
THINKING = shape("includeThoughts thinkingBudget thinkingLevel")
TOOL = shape(
    "codeExecution computerUse enterpriseWebSearch exaAiSearch fileSearch functionDeclarations "
    "googleMaps googleSearch googleSearchRetrieval mcpServers parallelAiSearch retrieval urlContext"
)
DECLARATION = shape(
    "name! behavior description parameters parametersJsonSchema response responseJsonSchema"
)
SCHEMA = shape(
    "additionalProperties anyOf default defs description enum example format items maxItems "
    "maxLength maxProperties maximum minItems minLength minProperties minimum nullable pattern "
    "properties propertyOrdering ref required title type"
)
TOOL_CONFIG = shape("functionCallingConfig includeServerSideToolInvocations retrievalConfig")
FUNCTION_CALLING = shape("allowedFunctionNames mode streamFunctionCallArguments")
MODES = frozenset({"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"})
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
# The client chooses the names below these fields.
_CLIENT_NAMES = frozenset(
    "args labels parameters parametersJsonSchema response responseJsonSchema responseSchema".split()
)
_VERSION = re.compile(r"gemini-(\d+)")


@cache
def camel_case(name: str) -> str:
    """Returns the name in camel case.

    >>> camel_case("function_call")
    'functionCall'
    """
    head, *tail = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)


@cache
def snake_case(path: str) -> str:
    """Returns the name, or the path of names, with underscores.

    >>> snake_case("contents[0].functionCall")
    'contents[0].function_call'
    """
    return _HUMP.sub(r"_\1", path).lower()


def with_camel_case_names(body: JsonObject) -> JsonObject:
    """Returns the body with every field of the API in camel case.

    >>> with_camel_case_names({"function_call": {"args": {"my_arg": 1}}})
    {'functionCall': {'args': {'my_arg': 1}}}
    """
    return {(key := camel_case(name)): _value(key, value) for name, value in body.items()}


def _value(name: str, value: Json) -> Json:
    if name in _CLIENT_NAMES:
        return value
    if is_object(value):
        return with_camel_case_names(value)
    if isinstance(value, list):
        return [with_camel_case_names(item) if is_object(item) else item for item in value]
    return value


def signs_calls(model: str) -> bool:
    """Whether the model signs its function calls and requires the signatures.

    >>> signs_calls("gemini-2.5-flash"), signs_calls("gemini-3.1-pro-preview")
    (False, True)
    """
    found = _VERSION.search(model)
    return found is not None and int(found[1]) >= 3


def field_violations(tree: JsonObject, form: Shape, path: str) -> Iterator[Violation]:
    """Yields missing and unknown fields of the object at this path. The body has the path `''`."""
    if (unknown := form.unknown(tree)) is not None:
        where = f" at '{snake_case(path)}'" if path else ""
        yield Violation(
            f'Invalid JSON payload received. Unknown name "{unknown}"{where}: Cannot find field.',
            snake_case(path),
        )
    if (missing := form.missing(tree)) is not None:
        name = snake_case(f"{path}.{missing}").removeprefix(".")
        yield Violation(f"* GenerateContentRequest.{name}: {snake_case(missing)} is not specified")
