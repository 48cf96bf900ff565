"""What is shown, as text: pure functions from values to lines. Nothing here prints or reads."""
