"""The deployment files, checked by the real programs; two servers restarted behind a real proxy."""
