"""The fields of OpenAI's Responses API. To allow a new field, add it here.

As of the `openai` library 3.49.0 and of what Codex 0.163 sends. A test compares these tables with
the types of the library, where it is installed.
"""

from scripted_model.json_values import JsonObject, text_at
from scripted_model.wires.wire import shape, shapes

AS_OF = "openai 3.49.0"
TOP = shape(
    "model! access_programs background client_metadata context_management conversation image "
    "include input instructions max_output_tokens max_tool_calls metadata moderation "
    "parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options "
    "prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options "
    "temperature text tool_choice tools top_logprobs top_p truncation user"
)
TOP_COMPACT = shape(
    "model! client_metadata image input instructions parallel_tool_calls previous_response_id "
    "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning service_tier text tools"
)
TOP_COUNT = shape(
    "model conversation input instructions parallel_tool_calls personality previous_response_id "
    "reasoning text tool_choice tools truncation"
)
CACHE_OPTIONS = shape("comparison_response_id mode prewarm ttl")
_CALLER = "type! call_id! caller id"
ITEMS = shapes(
    {
        "message": "role! content! id phase status type",
        "function_call": "type! arguments! call_id! name! async caller id namespace status",
        "function_call_output": "type! output! call_id caller id name namespace status",
        "custom_tool_call": "type! call_id! input! name! async caller id namespace status",
        "custom_tool_call_output": f"{_CALLER} output! name namespace status",
        "reasoning": "type! summary! content encrypted_content id status",
        "compaction": "type! encrypted_content! id",
        "compaction_trigger": "type! id",
        "item_reference": "id! type",
        "local_shell_call": "type! action! call_id! status! id",
        "local_shell_call_output": "type! output! call_id id status",
        "shell_call": f"{_CALLER} action! environment status",
        "shell_call_output": f"{_CALLER} output! max_output_length status",
        "apply_patch_call": f"{_CALLER} operation! status!",
        "apply_patch_call_output": f"{_CALLER} status! output",
        "web_search_call": "type! action id status",
        "file_search_call": "type! id! queries! status! results",
        "code_interpreter_call": "type! code! container_id! id! outputs! status!",
        "computer_call": "type! call_id! id! pending_safety_checks! status! action actions",
        "computer_call_output": "type! call_id! output! acknowledged_safety_checks id status",
        "image_generation_call": "type! id! result! status! action background error output_format "
        "quality revised_prompt size svg_usage",
        "mcp_list_tools": "type! id! server_label! tools! error",
        "mcp_approval_request": "type! arguments! id! name! server_label!",
        "mcp_approval_response": "type! approval_request_id! approve! id reason",
        "mcp_call": "type! arguments! id! name! server_label! approval_request_id error output "
        "status",
        "tool_search_call": "type! arguments! call_id execution id status",
        "tool_search_output": "type! tools! call_id execution id status",
        "additional_tools": "type! role! tools! id",
        "configuration_update": "type! id reasoning text",
        "program": "type! call_id! code! fingerprint! id!",
        "program_output": "type! call_id! id! result! status!",
    }
)
# For each kind of call: the kind of its result, and its name in error messages.
RESULTS = {
    "function_call": ("function_call_output", "function call"),
    "custom_tool_call": ("custom_tool_call_output", "custom tool call"),
    "local_shell_call": ("local_shell_call_output", "local shell call"),
    "shell_call": ("shell_call_output", "shell call"),
    "apply_patch_call": ("apply_patch_call_output", "apply patch call"),
    "computer_call": ("computer_call_output", "computer call"),
}
OUTPUTS = frozenset(output for output, _ in RESULTS.values())
ID_PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
    "web_search_call": "ws",
    "local_shell_call": "lsh",
}
PARTS = shapes(
    {
        "input_text": "type! text! prompt_cache_breakpoint",
        "input_image": "type! detail file_id image_url prompt_cache_breakpoint",
        "input_file": "type! detail file_data file_id file_url filename prompt_cache_breakpoint",
        "output_text": "type! text! annotations logprobs",
        "refusal": "type! refusal!",
    }
)
_INPUT = frozenset({"input_text", "input_image", "input_file"})
PARTS_OF = {
    "user": _INPUT,
    "system": _INPUT,
    "developer": _INPUT,
    "assistant": frozenset({"output_text", "refusal"}),
}
REASONING = shape("context effort generate_summary mode summary")
TEXT = shape("format verbosity")
_FUNCTION = (
    "type! name! allowed_callers async defer_loading description output_schema parameters strict"
)
_CUSTOM = "type! name! allowed_callers async defer_loading description format"
NAMESPACE_TOOLS = shapes({"function": _FUNCTION, "custom": _CUSTOM})
TOOLS = shapes(
    {
        "function": _FUNCTION,
        "custom": _CUSTOM,
        "namespace": "type! description! name! tools!",
        "web_search web_search_2025_08_26": "type! external_web_access filters "
        "search_content_types search_context_size user_location",
        "web_search_preview web_search_preview_2025_03_11": "type! search_content_types "
        "search_context_size user_location",
        "file_search": "type! vector_store_ids! filters max_num_results ranking_options",
        "code_interpreter": "type! container! allowed_callers",
        "mcp": "type! server_label! allowed_callers allowed_tools authorization connector_id "
        "defer_loading headers require_approval server_description server_url tunnel_id",
        "image_generation": "type! action background complexity frame_count frame_duration_ms "
        "input_fidelity input_image_mask model moderation output_compression output_format "
        "partial_images quality size svg",
        "computer local_shell programmatic_tool_calling": "type!",
        "computer_use_preview": "type! display_height! display_width! environment!",
        "shell": "type! allowed_callers environment",
        "apply_patch": "type! allowed_callers",
        "tool_search": "type! description execution parameters",
    }
)


def kind_of(item: JsonObject) -> str:
    """Returns the type of an item. Without a type it is a message, or a reference."""
    if "type" in item:
        return text_at(item, "type")
    return "message" if "role" in item else "item_reference"
