"""SIGKILLs of Sapwood and of the programs, around turns and changes of their sessions."""
