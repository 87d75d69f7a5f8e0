"""Write what benchmarks print into `benchmarks/results` too, with date and machine."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def options_of(doc: str | None, record: bool = True) -> argparse.ArgumentParser:
    """The parser of a benchmark's options, by its docstring; all but some can be recorded."""
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=doc, formatter_class=how)
    if record:
        parser.add_argument("--record", metavar="NAME", help="Also write results/NAME.txt.")
    return parser


class _Both:
    """A stream that writes into two."""

    def __init__(self, *streams: Any) -> None:
        self._streams = streams

    def write(self, text: str) -> int:
        for stream in self._streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()


@contextlib.contextmanager
def recorded(name: str | None) -> Iterator[None]:
    """Write what is printed within the block into `results/NAME.txt`, whole or not at all.

    Parameters
    ----------
    name : str, optional
        None writes nothing.
    """
    if name is None:
        yield
        return
    path = RESULTS / f"{name}.txt"
    temporary = path.with_suffix(".tmp")
    with open(temporary, "w") as file, contextlib.redirect_stdout(_Both(sys.stdout, file)):
        print(f"python {' '.join([f'benchmarks/{Path(sys.argv[0]).name}', *_options()])}")
        print(f"{datetime.date.today()}, {machine()}\n")
        yield
    os.replace(temporary, path)


def _options() -> list[str]:
    """The command's arguments, without what is said of this machine's folders."""
    return [Path(word).name if "/" in word else word for word in sys.argv[1:]]


def machine() -> str:
    """The processor, its cores that may be used, and the GPU if there is one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    words = [f"{cores} cores of {_processor()}", f"Python {platform.python_version()}"]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        names = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split("\n")
        found = [name for name in names if name]
        words.append(f"{len(found)} x {found[0]}" if found else "no GPU")
    return ", ".join(words)


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def shards_of(root: Path) -> tuple[list[str], list[str]]:
    """Return the tars of a set's training split, and their indexes, as DALI's own readers want."""
    tars = sorted((root / "shards").glob("train-*.tar"))
    return [str(path) for path in tars], [str(path.with_suffix(".idx")) for path in tars]
