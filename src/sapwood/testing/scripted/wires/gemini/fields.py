"""The fields of Google's Gemini API. To let a new one pass, add it here.

As of the `google-genai` library 3.1.0. A test compares these tables with the types of the library,
where it is installed. Names may be sent in camel case or with underscores; here they are in camel
case.
"""

from sapwood.testing.scripted.wires.shape import shape, shapes

__all__ = [
    "AS_OF",
    "CONTENT",
    "DATA",
    "DECLARATION",
    "FUNCTION_CALLING",
    "GENERATION",
    "MODES",
    "PART",
    "PARTS",
    "SCHEMA",
    "THINKING",
    "TOOL",
    "TOOL_CONFIG",
    "TOP",
    "TOP_COUNT",
]

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
