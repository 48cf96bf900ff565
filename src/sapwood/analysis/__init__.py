"""Analysis of a conversation without a model: ledger, chapters, tokens, resumption prompt.

Names are imported at first use, because every hook call waits for each import.
"""

TYPE_CHECKING = False  # as in `typing`; importing `typing` would take longer than this module
if TYPE_CHECKING:
    from sapwood.analysis.chapter_report import Chapter, ChapterReport, Said
    from sapwood.analysis.chapters.chapter_builder import chapters_of
    from sapwood.analysis.resumption import resumption_prompt
    from sapwood.analysis.session import TopicArchive

__all__ = [
    "Chapter",
    "ChapterReport",
    "Said",
    "TopicArchive",
    "chapters_of",
    "resumption_prompt",
]

_MODULES = {
    "sapwood.analysis.session": "TopicArchive",
    "sapwood.analysis.chapter_report": "Chapter ChapterReport Said",
    "sapwood.analysis.chapters.chapter_builder": "chapters_of",
    "sapwood.analysis.resumption": "resumption_prompt",
}

if not TYPE_CHECKING:  # hidden from type checkers, so that they report unknown names

    def __getattr__(name: str) -> object:
        for module, names in _MODULES.items():
            if name in names.split():
                from importlib import import_module

                return getattr(import_module(module), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
