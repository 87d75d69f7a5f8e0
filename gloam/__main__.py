"""`python -m gloam`: the command."""

from __future__ import annotations

from .cli.main import gloam

gloam(prog_name="gloam")
