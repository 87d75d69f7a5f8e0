"""Receipts: the JSON files that say a unit is done. Written last, they are the only sign of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from ...errors import SetError
from ...storage import untrusted
from ...storage.atomic import canonical_json, sha256_bytes, write_bytes
from ...storage.stores import map_concurrent, place
from ..config import Frozen

FOLDER = "receipts"


class Grown(Frozen):
    """A part that has more fields than in older sets: the `later` ones are left out where empty."""

    later: ClassVar[tuple[str, ...]] = ()
    """Fields that sets had not before there were labels."""

    @model_serializer(mode="wrap")
    def _as_before(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = whole(self)
        return {name: one for name, one in values.items() if one or name not in self.later}


class RefusedPair(Frozen):
    """A planned image that could not be made into a pair, and why."""

    key: untrusted.Key
    source: str
    path: str
    reason: str
    detail: str


class FileFacts(Frozen):
    """Size and checksum of one file of a set."""

    sha256: untrusted.Digest
    bytes: untrusted.Size


class UnitFile(FileFacts):
    """A file of a unit: its path in the set, size and checksum."""

    path: untrusted.SetPath


def file_of(path: str, data: bytes) -> UnitFile:
    """Return the facts of a unit's file of such content."""
    return UnitFile(path=path, sha256=sha256_bytes(data), bytes=len(data))


class Sealed(Frozen):
    """A file of a set that holds its own checksum, made with an empty one."""

    def sealed(self) -> Self:
        """Return the same with its checksum."""
        bare = self.model_copy(update={"sha256": ""})
        return self.model_copy(update={"sha256": sha256_bytes(canonical_json(bare.model_dump()))})


class Receipt(Grown, Sealed):
    """Facts of a finished unit.

    format: version of the set format.
    unit: such as `train-000000`.
    fingerprint: hash of the build that wrote it: plan, recipe, seed, options, versions.
    left_out: annotations of its pairs that do not fit them.
    files: in the order in which they were written: pair by pair.
    sha256: checksum of the receipt itself with this field empty.
    """

    later = ("left_out",)

    format: int
    unit: untrusted.UnitName
    fingerprint: untrusted.Digest
    pairs: untrusted.Count
    refused: list[RefusedPair]
    files: list[UnitFile]
    left_out: list[RefusedPair] = Field(default_factory=list)
    sha256: untrusted.Digest = ""

    @model_validator(mode="after")
    def _names_its_own_files(self) -> Receipt:
        own = {self.unit, self.unit.rpartition("-")[0]}
        for file in self.files:
            match = untrusted.UNIT_FILE.match(file.path)
            if match is None or own.isdisjoint(match.groups()):
                raise ValueError(f"{untrusted.shown(file.path)} is no file of {self.unit}")
        return self

    def facts(self) -> FileFacts:
        """Return size and checksum of its own file."""
        data = canonical_json(self.model_dump())
        return FileFacts(sha256=sha256_bytes(data), bytes=len(data))


def receipt_path(root: Path, unit: str) -> Path:
    """Return where a unit's receipt lies in a set."""
    return untrusted.inside(root, f"{FOLDER}/{unit}.json")


def write_receipt(root: Path, receipt: Receipt) -> None:
    """Publish a receipt; its unit's files must be there before.

    In a store it is made if it is absent: of two that made the same unit the second finds it done.
    One that is damaged, or of another build, is replaced, as it is in a folder.
    """
    path = receipt_path(root, receipt.unit)
    data = canonical_json(receipt.sealed().model_dump())
    if not (place(path).remote and place(path).create(data)):
        write_bytes(path, data)


def read_receipt(root: Path, unit: str) -> Receipt:
    """Read a receipt, exactly as it was written.

    Raises SetError when it is missing, damaged (also by a single bit), or of another format.
    """
    path = receipt_path(root, unit)
    data, value = untrusted.read_versioned(path)
    with untrusted.naming(path, ValidationError, what="damaged receipt: "):
        receipt = Receipt.model_validate(value, strict=True)
    bare = canonical_json(value | {"sha256": ""})
    sound = receipt.sha256 == sha256_bytes(bare) and canonical_json(value) == data
    if not sound or receipt.unit != unit:
        raise SetError.at(path, "damaged receipt: not as it was written")
    return receipt


def read_receipts(root: Path, units: Sequence[str]) -> dict[str, Receipt]:
    """Read some units' receipts; `read_receipt` says what is raised."""
    return dict(zip(units, map_concurrent(partial(read_receipt, root), units, root), strict=True))


def is_done(root: Path, unit: str, fingerprint: str) -> bool:
    """Return whether a unit has a whole receipt of this build."""
    try:
        return read_receipt(root, unit).fingerprint == fingerprint
    except SetError:
        return False
