"""Benchmarks. Each prints its figure on the last line and fails when the figure misses its limit.

Timings are ratios measured in one run, because machines are noisy.
"""

QUICK_SLACK = 1.5
"""The factor by which limits are wider in a quick run, which is short and less exact."""

QUICK_CPU_SLACK = 3.0
"""The same for processor time beside a fixed limit, since the machine may be a slow one."""

QUICK_CLOCK_SLACK = 4.0
"""The same for times by the clock. A busy machine or a slow disk delays these, so a quick run only
finds what has become several times slower.
"""
