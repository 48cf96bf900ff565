"""The sub-commands, one file each. The root imports a file when its `command` is called."""
