"""A face for editors: serves conversations over the Agent Client Protocol on stdin and stdout."""
