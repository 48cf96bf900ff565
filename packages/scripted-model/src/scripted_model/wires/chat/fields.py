"""The fields of OpenAI's Chat Completions API. To allow a new field, add it here.

As of the `openai` library 3.49.0. A test compares these tables with the types of the library,
where it is installed.
"""

from scripted_model.wires.wire import shape, shapes

AS_OF = "openai 3.49.0"
TOP = shape(
    "messages! model! audio frequency_penalty function_call functions logit_bias logprobs "
    "max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls "
    "prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)
CACHE_OPTIONS = shape("mode ttl")
MESSAGES = shapes(
    {
        "developer system user": "role! content! name",
        "assistant": "role! audio content function_call name refusal tool_calls",
        "tool": "role! content! tool_call_id!",
        "function": "role! content! name!",
    }
)
PARTS = shapes(
    {
        "text": "type! text! prompt_cache_breakpoint",
        "image_url": "type! image_url! prompt_cache_breakpoint",
        "input_audio": "type! input_audio! prompt_cache_breakpoint",
        "file": "type! file! prompt_cache_breakpoint",
        "refusal": "type! refusal!",
    }
)
_TEXT = frozenset({"text"})
PARTS_OF = {
    "developer": _TEXT,
    "system": _TEXT,
    "tool": _TEXT,
    "function": _TEXT,
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
}
CALLS = shapes({"function": "id! type! function!", "custom": "id! type! custom!"})
FUNCTION_CALL = shape("name! arguments!")
CUSTOM_CALL = shape("name! input!")
TOOLS = shapes({"function": "type! function!", "custom": "type! custom!"})
FUNCTION = shape("name! description parameters strict")
CUSTOM = shape("name! description format")
STREAM_OPTIONS = shape("include_obfuscation include_usage")
