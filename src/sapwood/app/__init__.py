"""Configuration and wiring: the only place that knows concrete parts."""
