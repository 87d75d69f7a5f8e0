"""`gloam`, the command that holds all others."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
import warnings
from functools import cache, partial
from importlib import metadata
from typing import Any

import click

from ..engines.process import prepare_own_process
from ..errors import GloamWarning, visible
from ..synth.kernels.compiling import cache_folders as kernel_places
from .ending import stoppable, user_errors

_COMMANDS = {
    "build": ("build", "Make a set of low/normal pairs from photographs."),
    "regenerate": ("build", "Make a set's pairs again with other lows, without its sources."),
    "export": ("publish", "Write a set's pairs as files, as shards, or as a trainer wants them."),
    "publish": ("publish", "Write a set for publication: card, Croissant, shards or Parquet."),
    "rebuild": ("publish", "Rebuild a published set from your own copies of its photographs."),
    "verify": ("verify", "Check that a set is complete and unchanged."),
    "stats": ("stats", "Measure exposure, unevenness and noise, and compare with real sets."),
    "realism": ("realism", "Measure how well a classifier tells lows from real ones, and by what."),
    "leaks": ("realism", "Find pictures of one set that another also has."),
    "judge": ("judge", "Measure PSNR and SSIM of a network's outputs, with intervals."),
    "report": ("stats", "Write a page about a set: checks, statistics, pictures."),
    "preview": ("preview", "Make a contact sheet of photographs darkened by recipes."),
    "studio": ("preview", "Find a recipe by eye, on a page with a control for every parameter."),
    "stage": ("verify", "Copy a set into memory or onto a local disk."),
    "export-triton": (
        "export_triton",
        "Write the loaders' preprocessing for Triton Inference Server.",
    ),
    "bench": ("bench", "Measure loading speed on this machine."),
    "sets": ("lists", "List the known real sets and their folder layouts."),
    "recipes": ("lists", "List the recipes, or show one with all its parameters."),
    "fit": ("fit", "Fit a recipe to your own dark photographs."),
    "brackets": ("brackets", "Make real pairs of your own exposure brackets."),
    "calibrate": ("lists", "Measure your camera's gain and noise from raw files."),
    "cameras": ("lists", "List the calibrated cameras and their ISOs."),
    "doctor": ("bench", "Check this machine: versions, GPU, DALI, decoders, and known lows."),
}
"""Commands, in the order of their list: the file that each lies in, and what it does."""
_MAKING_LOWS = {"build", "regenerate", "rebuild"}
_NO_IMAGES = {"sets", "stage", "export-triton", "recipes", "fit", "calibrate", "cameras", "doctor"}


# Nothing here needs more, and where memory is limited OpenBLAS waits for ever for threads that it
# cannot start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class _Lazy(click.Group):
    """Imports a command's module only when it is used, so that `gloam --help` is there at once."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.commands = dict.fromkeys(_COMMANDS, click.Command(None))  # what typing errors may mean

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in _MAKING_LOWS and not context.resilient_parsing:
            from .common import begin_workers  # later than any help is there

            begin_workers(args[1:])
        resolved = super().resolve_command(context, args)
        if args[0] not in _NO_IMAGES:
            prepare_own_process()
        return resolved

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the group's own arguments: --help and --version print, to a full disk too."""
        with user_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, context: click.Context) -> None:
        """Run a command, and print the text that it returns."""
        with stoppable(), user_errors(), warnings.catch_warnings():
            warnings.simplefilter("always", GloamWarning)
            warnings.showwarning = partial(_show_warning, set())
            kernel_places.announce = _tell_of_compiling
            # What ends a library's thread, such as a limit; the command says what follows from it.
            threading.excepthook = lambda args: _print_line(str(args.exc_value))
            said = super().invoke(context)
            if said:
                # Names of files, and what sets say of themselves, are others' texts.
                click.echo("\n".join(map(visible, said.split("\n"))))

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        gc.disable()  # all that is imported stays; looking through it takes a tenth of the time
        try:
            module = importlib.import_module(f".{_COMMANDS[name][0]}", __package__)
        finally:
            gc.enable()
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in _COMMANDS.items()])


@cache
def _tell_of_compiling(gpu: bool = False) -> None:
    """Say why nothing seems to happen at the first use, and on a GPU at each."""
    what = (
        "its kernels for the GPU; that takes some 8 seconds"
        if gpu
        else "kernels that this machine does not have yet; all of them take a minute or so"
    )
    click.echo(f"gloam: compiling {what}", err=True)


def _show_warning(
    shown: set[str], message: Warning | str, category: type[Warning], *where: object
) -> None:
    """Show gloam's own warnings as a line, each once in a command.

    A library's concern programmers, who can ask Python for them.

    shown: those that were.
    """
    text = str(message)
    if text not in shown and (issubclass(category, GloamWarning) or sys.warnoptions):
        shown.add(text)
        _print_line(text)


def _print_line(text: str) -> None:
    click.echo(f"gloam: {visible(text)}", err=True)


@click.group(
    cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(metadata.version("gloam"), prog_name="gloam")
def gloam() -> None:
    """Make paired low-light / normal-light image sets from ordinary photographs."""
