"""The sub-commands, one file each. Each is imported when it is called, and names it `command`."""
