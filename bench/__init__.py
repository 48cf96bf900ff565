"""Benchmarks: each prints its figure on the last line and fails when it is short.

Timings are ratios measured in one run, because machines are noisy.
"""
