"""Validation of untrusted sets: names, numbers, kinds of files, versions.

Sums in a set guard against accidents, not against people: whoever edits a set seals it again. So
every name and number is checked here where bytes become objects, and every path is joined here.
"""

from __future__ import annotations

import operator
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError
from pydantic_core import from_json

from ..errors import ConfigError, DamagedError, GloamError, SetError, first_line
from .stores import place, read_local

SPLITS = ("train", "val", "test")
"""Splits of a set; most have no test split."""

FORMAT = 2
"""Version of the set format: of the records, receipts, and set.json. Readers refuse every other
one."""

_SPLIT = "|".join(SPLITS)
_KEY = "[a-z0-9][a-z0-9_-]{0,79}"
_UNIT = f"(?:{_SPLIT})-[0-9]{{6,9}}"
_MEMBER = r"[a-z]+(?:\.[0-9]{1,9})?"
_SUFFIX = "[a-z0-9]{1,10}"
_ENDING = rf"(?:{_MEMBER}\.{_SUFFIX}|[a-z]+)"
_FILE = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
_PATH = rf"{_FILE}(?:/{_FILE}){{0,7}}"

LONGEST_KEY = 80
KEY_LETTERS = "^[a-z0-9][a-z0-9_-]*$"
KEY = re.compile(rf"{_KEY}\Z")
_PLAIN = re.compile(rf"{_PATH}\Z")
ENDING = re.compile(rf"{_ENDING}\Z")
"""Ending of a file's name, behind key and dot: `low.png`, `normal.000.jpg`, `cls`."""
SAMPLE_NAME = rf"^{_KEY}\.{_ENDING}$"
"""Name of a file in a shard: `KEY.low.png`."""
_IN_SPLIT = rf"/[a-z]+/{_KEY}\.(?:[0-9]{{1,9}}\.)?{_SUFFIX}"
_SAMPLE_FILE, _UNIT_FILE = rf"(?:{_SPLIT}){_IN_SPLIT}", rf"shards/{_UNIT}\.(?:tar|idx)"
UNIT_FILE = re.compile(rf"(?:shards/({_UNIT})\.(?:tar|idx)|({_SPLIT}){_IN_SPLIT})\Z")
"""A file of a unit, `shards/train-000000.tar` or `train/low/KEY.png`; groups: unit, split."""
# Possessive: nothing is kept to go back to, of lists of millions of lines.
LIST_LINES = re.compile(rf"(?:{_UNIT_FILE}\n)*+\Z|(?:{_SAMPLE_FILE} [0-9]{{1,15}}\n)*+\Z".encode())
"""A list of shards or of their indexes, or of a set in files: `train/low/KEY.png 0`."""

MOST_BYTES = 1 << 48
"""Largest size of a file, 256 TiB: beyond every file system's, and far from overflow of sums."""
MOST_PAIRS = 10**9
_SHOWN = 60  # characters of a value in a message
_MOST_IN_MEMORY = 1 << 30  # bytes of a file that is read whole: ten times what gloam writes so

LayoutName = Annotated[str, StringConstraints(pattern="^(?:shards|files)$")]
UnitName = Annotated[str, StringConstraints(pattern=f"^{_UNIT}$")]
Key = Annotated[str, StringConstraints(pattern=f"^{_KEY}$")]
MemberName = Annotated[str, StringConstraints(pattern=f"^{_MEMBER}$")]
Suffix = Annotated[str, StringConstraints(pattern=f"^(?:{_SUFFIX})?$")]
SetPath = Annotated[str, StringConstraints(pattern=f"^{_PATH}$")]
"""A path in a set, with `/`, as gloam writes them: ASCII, no hidden file, at most eight deep."""
Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{0,64}$")]
"""A SHA-256, hexadecimal; "" where it is still to be made."""
Size = Annotated[int, Field(ge=0, le=MOST_BYTES)]
Count = Annotated[int, Field(ge=0, le=MOST_PAIRS)]
Side = Annotated[int, Field(ge=1, le=1 << 20)]
"""Width or height of an image, pixels."""


def _as_index(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):  # which is 1, or nearly a number
        raise ValueError("must be a whole number")
    return operator.index(value)


Whole = Annotated[int, BeforeValidator(_as_index)]
"""A whole number that somebody gives as an option: an int or one of NumPy's, never a truth."""


def whole(name: str, value: Any, least: int = 0, most: int = (1 << 63) - 1) -> int:
    """Return an option as an int. Raises ConfigError when it is no whole number of these."""
    try:
        number = _as_index(value)
    except (TypeError, ValueError):
        number = least - 1
    if not least <= number <= most:
        bounds = f"from {least} to {most:,}" if most < 1 << 62 else f"of at least {least}"
        said = f"{name} = {shown(value)}: must be a whole number {bounds}"
        raise ConfigError(said, key=name, value=value)
    return number


def outside(name: str) -> bool:
    """Return whether a path does not stay below the folder that it is joined to.

    Absolute ones, `..`, and what other systems or libraries take for either: backslashes, drives,
    NUL, and text that is no valid file name.
    """
    parts = name.split("/")
    try:
        longest = max(len(part.encode()) for part in parts)
    except UnicodeEncodeError:  # surrogates
        return True
    return (
        any(part in ("", ".", "..") for part in parts)
        or longest > 255
        or len(name) > 1024
        or "\\" in name
        or re.match("[A-Za-z]:", name) is not None
        or not name.isprintable()
    )


def odd_name(name: object, what: str) -> str:
    """Say what is wrong with a name of a set's file: it leaves the set, or else `what`."""
    return f"{shown(name)} {'names a file outside the set' if outside(str(name)) else what}"


def inside(root: Path, name: str, where: object = None) -> Path:
    """Join the folder of a set and the path of a file in it.

    root: a folder, which may be a link itself, or a prefix in a store.
    where: the file that has the name, for the message.

    Raises SetError when that leaves the folder, by the name or by a link on the way.
    """
    source = f"{root}: " if where is None else f"{root}: {where}: "
    if not _PLAIN.match(name) and outside(name):
        raise SetError(f"{source}{shown(name)} names a file outside the set", path=root)
    if place(root).remote:
        return root / name
    path = os.fspath(root)
    for part in name.split("/"):
        path = f"{path}/{part}"
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            break  # nothing is there, nor below it: whoever opens it says so
        if stat.S_ISLNK(mode):
            real, target = os.path.realpath(root), os.path.realpath(path)
            if os.path.commonpath([real, target]) != real:
                raise SetError(
                    f"{source}{shown(name)} names a file outside the set: {path} is a link to"
                    f" {target}; copy the set with what its links lead to (cp -rL)",
                    path=root,
                )
    return root / name


def open_regular(path: Path | str, buffering: int = -1) -> BufferedReader:
    """Open a file to read it, or an object of a store.

    Raises OSError when it is missing, or is no regular file: reading a pipe or a device may never
    end.
    """
    return place(path).open_regular(buffering)


@contextmanager
def opened(root: Path, name: str) -> Iterator[BufferedReader]:
    """Open a file of a set for the length of the block.

    Raises SetError when it lies outside the set, is missing, or is no regular file.
    """
    path = inside(root, name)
    with naming(path):
        handle = open_regular(path)
    with handle:
        yield handle


def read_regular(path: Path | str, most: int = _MOST_IN_MEMORY) -> bytes:
    """Read a whole file, or an object of a store.

    Files of which the system does not know the size (those of /proc) are taken for empty. Raises
    OSError when it is missing, no regular file, or larger than `most` bytes.
    """
    local = isinstance(path, str)
    data, size = read_local(path, most) if local else place(path).read_most(most)
    if size > most:
        raise OSError(None, f"has {size:,} bytes, more than the {most:,} it may have", str(path))
    return data


def read_file(path: Path) -> bytes:
    """Read a whole file of a set; raises SetError when `read_regular` raises."""
    with naming(path):
        return read_regular(path)


@contextmanager
def naming(
    path: object, *errors: type[Exception], what: str = "", kind: type[GloamError] = SetError
) -> Iterator[None]:
    """Raise errors of the block, OSError by default, as gloam's: with a file, what it is, and why.

    Examples
    --------
    >>> with naming("list.txt", ValueError, what="not a number: "):
    ...     int("seven")
    Traceback (most recent call last):
    ...
    gloam.errors.SetError: list.txt: not a number: invalid literal for int() with base 10: 'seven'
    """
    caught = errors or (OSError,)
    try:
        yield
    except caught as error:
        raise kind.at(path, f"{what}{reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """Return why something failed: the system's words, a model's first finding, or a first line."""
    if isinstance(error, ValidationError):
        return first_finding(error)
    if isinstance(error, UnicodeDecodeError):
        return f"no UTF-8 at byte {error.start:,}; save it as UTF-8"
    return (isinstance(error, OSError) and error.strerror) or first_line(error)


def parse_json(data: bytes | str) -> Any:
    """Read JSON of a file that anybody may have written.

    Raises ValueError when it is none, is nested more than some 200 times, or has NaN or infinity.
    """
    return from_json(data, allow_inf_nan=False)


def read_versioned(path: Path) -> tuple[bytes, Any]:
    """Read a file of a set that says its format; returns its bytes, and their JSON.

    Raises DamagedError when it is no JSON; SetError when `read_file` or `check_format` does.
    """
    data = read_file(path)
    with naming(path, ValueError, what="damaged: ", kind=DamagedError):
        value = parse_json(data)
    if isinstance(value, dict) and "format" in value:
        check_format(value["format"], path)
    return data, value


def check_format(version: Any, where: object) -> None:
    """Refuse what another gloam wrote.

    Raises SetError when the version is not `FORMAT`; DamagedError when it is no version at all.
    """
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise DamagedError.at(where, f"damaged: format {version!r}")
    if version > FORMAT:
        what = f"written by a newer gloam (format {version}); upgrade gloam to read it"
        raise SetError.at(where, what)
    if version < FORMAT:
        raise SetError.at(
            where,
            f"written by an older gloam (format {version}, this one has {FORMAT}); build"
            " the set anew, in another folder, or read it with that gloam",
        )


def first_finding(error: ValidationError) -> str:
    """Return the first fault that a model finds in a file's values, as a short text."""
    first = error.errors(include_url=False)[0]
    field, value = shown(".".join(map(str, first["loc"])))[1:-1], first["input"]
    if first["type"] == "string_pattern_mismatch":
        return f"{field}: {odd_name(value, 'is no name that gloam gives')}"
    if first["type"] == "missing":
        return f"{field} is missing"
    return f"{field}: {first['msg']}, not {shown(value)}"


def shown(value: object) -> str:
    """Return a value for a message: one line of at most 60 characters."""
    if isinstance(value, str):
        text = repr(value[: _SHOWN + 1])
    elif isinstance(value, int | float | bool | None):
        text = repr(value) if not isinstance(value, int) or value.bit_length() < 256 else "a number"
    else:
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN + 2 else f"{text[:_SHOWN]}..."
