"""The fields of Anthropic's Messages API. To allow a new field, add it here.

As of the `anthropic` library 2.8.0 and of what Claude Code 2.1.325 sends. A test compares these
tables with the types of the library, where it is installed.
"""

from collections.abc import Iterator

from scripted_model.json_values import JsonObject
from scripted_model.wires.wire import Post, Shape, Violation, shape, shapes

AS_OF = "anthropic 2.8.0"
TOP = shape(
    "model! messages! max_tokens! cache_control container diagnostics inference_geo metadata "
    "output_config service_tier speed stop_sequences stream system thinking tool_choice tools"
)
# Only before the version of the API that refuses them for every model.
TOP_SAMPLING = frozenset({"temperature", "top_k", "top_p"})
_WITHOUT_SAMPLING = "2026-10-21"
# Only with an `anthropic-beta` header.
TOP_BETA = frozenset(
    "compaction context_management fallback_credit_token fallbacks mcp_servers output_format "
    "thread".split()
)
NESTED = shapes({"metadata": "user_id", "output_config": "effort format task_budget"})
TOP_COUNT = shape(
    "model! messages! cache_control output_config speed system thinking tool_choice tools"
)
MESSAGES = shapes(
    {
        "user assistant": "role! content!",
        "system": "role! content clear_at output_config",
    }
)
_SERVER_RESULT = "type! content! tool_use_id! cache_control caller"
BLOCKS = shapes(
    {
        "text": "type! text! cache_control citations",
        "image": "type! source! cache_control transformations",
        "document": "type! source! cache_control citations context title",
        "search_result": "type! content! source! title! cache_control citations",
        "thinking": "type! thinking! signature!",
        "redacted_thinking": "type! data!",
        "tool_use": "type! id! input! name! cache_control caller toolset_name",
        "tool_result": "type! tool_use_id! cache_control content is_error toolset_name",
        "server_tool_use": "type! id! input! name! cache_control caller",
        "web_search_tool_result web_fetch_tool_result": _SERVER_RESULT,
        "code_execution_tool_result bash_code_execution_tool_result": _SERVER_RESULT,
        "text_editor_code_execution_tool_result tool_search_tool_result": _SERVER_RESULT,
        "container_upload": "type! file_id! cache_control",
        "tool_reference": "type! tool_name! cache_control",
    }
)
BETA_BLOCKS = shapes(
    {
        "advisor_tool_result": _SERVER_RESULT,
        "mcp_tool_use": "type! id! input! name! server_name! cache_control",
        "mcp_tool_result": "type! tool_use_id! cache_control content is_error",
        "compaction": "type! cache_control content encrypted_content signature tool_changes",
        "mcp_tool_listing": "type! mcp_server_name! tools!",
        "fallback": "type! from! to! trigger",
        "browser_state": "type! tabs! cache_control state_changes",
        "tool_addition tool_removal": "type! tool! cache_control",
    }
)
SYSTEM_BLOCKS = frozenset({"text", "tool_addition", "tool_removal"})
RESULT_BLOCKS = frozenset("browser_state document image search_result text tool_reference".split())
SOURCES = shapes(
    {
        "base64": "type! data! media_type!",
        "text": "type! data! media_type!",
        "url": "type! url!",
        "file": "type! file_id!",
        "content": "type! content!",
    }
)
CACHE_CONTROL = shape("type! ttl")
DIAGNOSTICS = shape("previous_message_id")
THINKING = shapes(
    {
        "enabled": "type! budget_tokens! block_binding display",
        "adaptive": "type! block_binding display",
        "disabled between_tools": "type!",
    }
)
TOOL_CHOICES = shapes(
    {
        "auto any": "type! disable_parallel_tool_use",
        "tool": "type! name! disable_parallel_tool_use",
        "none": "type!",
    }
)
CUSTOM_TOOL = shape(
    "name! input_schema! allowed_callers cache_control defer_loading description "
    "eager_input_streaming input_examples strict type"
)
_TOOL = "type! name! allowed_callers cache_control defer_loading strict"
_SEARCH = f"{_TOOL} allowed_domains blocked_domains max_uses user_location"
_FETCH = (
    f"{_TOOL} allowed_domains blocked_domains citations max_content_tokens max_uses url_sources"
)
_SCREEN = f"{_TOOL} input_examples display_height_px! display_width_px! display_number"
SERVER_TOOLS = shapes(
    {
        "bash_20241022 bash_20250124 memory_20250818": f"{_TOOL} input_examples",
        "code_execution_20250522 code_execution_20250825": _TOOL,
        "code_execution_20260120 code_execution_20260521": _TOOL,
        "text_editor_20241022 text_editor_20250124 text_editor_20250429": f"{_TOOL} input_examples",
        "text_editor_20250728": f"{_TOOL} input_examples max_characters",
        "web_search_20250305 web_search_20260209": _SEARCH,
        "web_search_20260318": f"{_SEARCH} response_inclusion",
        "web_fetch_20250910 web_fetch_20260209": _FETCH,
        "web_fetch_20260309": f"{_FETCH} use_cache",
        "web_fetch_20260318": f"{_FETCH} use_cache response_inclusion",
        "tool_search_tool_bm25_20251119 tool_search_tool_bm25": _TOOL,
        "tool_search_tool_regex_20251119 tool_search_tool_regex": _TOOL,
        "computer_20241022 computer_20250124": _SCREEN,
        "computer_20251124": f"{_SCREEN} enable_zoom",
        "browser_toolset_20260801 computer_toolset_20260801": "type! cache_control configs",
        "advisor_20260301": f"{_TOOL} caching max_tokens max_uses model!",
        "mcp_toolset": "type! mcp_server_name! cache_control configs default_config tools",
    }
)


def has_beta(post: Post) -> bool:
    """Whether the client asked for beta features."""
    return bool(post.headers.get("anthropic-beta"))


def has_sampling(post: Post) -> bool:
    """Whether the version of the API that the client asked for has fields for sampling."""
    return post.headers.get("anthropic-version", "") < _WITHOUT_SAMPLING


def shape_violations(tree: JsonObject, form: Shape, path: str) -> Iterator[Violation]:
    """Yields the first missing and the first unknown field of the object at this path."""
    if (missing := form.missing(tree)) is not None:
        yield Violation(f"{path}.{missing}: Field required")
    if (unknown := form.unknown(tree)) is not None:
        yield Violation(f"{path}.{unknown}: Extra inputs are not permitted")
