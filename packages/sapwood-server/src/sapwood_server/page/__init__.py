"""The web page: rows, side and dialogs as HTML, rendered here."""
