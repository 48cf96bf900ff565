"""A widget as SVG, without anything that differs from run to run."""

import io

from rich.console import Console
from rich.segment import Segment, Segments

from sapwood.tui.transcript.widget import Transcript

_IDS = "sapwood"


def picture(transcript: Transcript) -> str:
    """The lines of the transcript, each segment with its style."""
    width, height = transcript.size
    console = Console(
        width=width,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        record=True,
        legacy_windows=False,
    )
    lines = [[*transcript.render_line(y), Segment.line()] for y in range(height)]
    console.print(Segments([segment for line in lines for segment in line]), end="")
    return console.export_svg(title="", unique_id=_IDS)
