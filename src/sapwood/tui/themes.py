"""The themes: dark, light, and one of high contrast. `NO_COLOR` does without their colours."""

from textual.theme import Theme

DARK = "sapwood-dark"

THEMES: tuple[Theme, ...] = (
    Theme(
        name=DARK,
        primary="#8fbf6b",
        secondary="#7fb0d0",
        accent="#e3a857",
        success="#8fbf6b",
        warning="#e3a857",
        error="#e06c62",
        foreground="#dcd8cc",
        background="#15171a",
        surface="#1d2024",
        panel="#2a2e33",
        dark=True,
        variables={
            "mark": "#c792d8",
            "faint": "#8c8f8a",
            "code-theme": "one-dark",
            "block-cursor-text-style": "none",
            "footer-key-foreground": "#e3a857",
        },
    ),
    Theme(
        name="sapwood-light",
        primary="#3d7a33",
        secondary="#22648f",
        accent="#9a5b0f",
        success="#3d7a33",
        warning="#9a5b0f",
        error="#b3372c",
        foreground="#2a2a26",
        background="#faf8f2",
        surface="#f0ece0",
        panel="#e2dccb",
        dark=False,
        variables={
            "mark": "#7d3f94",
            "faint": "#77746a",
            "code-theme": "friendly",
            "block-cursor-text-style": "none",
            "footer-key-foreground": "#9a5b0f",
        },
    ),
    Theme(
        name="sapwood-contrast",
        primary="#7dff5a",
        secondary="#6ecbff",
        accent="#ffd400",
        success="#7dff5a",
        warning="#ffd400",
        error="#ff6b6b",
        foreground="#ffffff",
        background="#000000",
        surface="#101010",
        panel="#3a3a3a",
        dark=True,
        variables={
            "mark": "#ff8cff",
            "faint": "#d0d0d0",
            "code-theme": "rrt",
            "block-cursor-text-style": "bold",
            "footer-key-foreground": "#ffd400",
        },
    ),
)
