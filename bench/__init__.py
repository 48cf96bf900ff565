"""Benchmarks: each prints its figure on the last line and fails when it is short.

Timings are ratios measured in one run, because machines are noisy.
"""

QUICK_SLACK = 1.5
"""How much wider limits are in a quick run: it is short, and guards against a slip, not a drift."""
