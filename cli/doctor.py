"""`gloam doctor`: what this machine has, lacks, and gets wrong."""

from __future__ import annotations

import sys

import click

from ..loaders.doctor import doctor as diagnose
from .common import json_flag, to_json
from .ending import USER_ERROR


@click.command()
@json_flag
def doctor(as_json: bool) -> None:
    """Check this machine: versions, GPU, DALI, decoders, kernels, limits, and known lows.

    It lists what is missing and how to get it, makes known lows on the CPU (and the GPU, if any)
    and compares their bits. The exit code is 1 if something is wrong.
    """
    found = diagnose()
    click.echo(to_json(found) if as_json else "\n".join(found.lines()))
    if not found.healthy:
        sys.exit(USER_ERROR)
