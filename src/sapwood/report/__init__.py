"""What compactions took out of view in the sessions of this machine, and what that cost."""
