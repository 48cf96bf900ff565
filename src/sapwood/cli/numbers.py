"""Numbers on the command line, called what they are where they are refused."""

import click

__all__ = ["Number", "Whole"]


class Whole(click.IntRange):
    """A whole number within bounds."""

    name = "whole number"


class Number(click.FloatRange):
    """A number within bounds."""

    name = "number"
