"""Receipts: the JSON files that say a unit is done. Written last, they are the only sign of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from ...errors import SetError
from ...storage.atomic import canonical_json, sha256_bytes, write_bytes
from ...storage.stores import StorePath, each
from .sample import FORMAT, check_format

FOLDER = "receipts"


class RefusedPair(BaseModel):
    """A planned image that could not be made into a pair, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    source: str
    path: str
    reason: str
    detail: str


class FileFacts(BaseModel):
    """Size and checksum of one file of a set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    bytes: int


class UnitFile(FileFacts):
    """A file of a unit: its path in the set, size and checksum."""

    path: str


class Receipt(BaseModel):
    """What is known of a finished unit.

    Attributes
    ----------
    format : int
        Version of the set format.
    unit : str
        Such as `train-000000`.
    fingerprint : str
        Of the build that wrote it: plan, recipe, seed, options, versions.
    pairs : int
        Pairs written.
    refused : list of RefusedPair
    left_out : list of RefusedPair
        Annotations of its pairs that do not fit them.
    files : list of UnitFile
        In the order in which they were written: pair by pair.
    sha256 : str
        Of the receipt itself with this field empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    unit: str
    fingerprint: str
    pairs: int
    refused: list[RefusedPair]
    files: list[UnitFile]
    left_out: list[RefusedPair] = []
    sha256: str = ""

    @model_serializer(mode="wrap")
    def _as_before(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what units had not before there were annotations that are left out."""
        values: dict[str, Any] = whole(self)
        if not self.left_out:
            del values["left_out"]
        return values

    def sealed(self) -> Receipt:
        """Return the same with its checksum."""
        bare = self.model_copy(update={"sha256": ""})
        return self.model_copy(update={"sha256": sha256_bytes(canonical_json(bare.model_dump()))})

    def facts(self) -> FileFacts:
        """Return size and checksum of its own file."""
        data = canonical_json(self.model_dump())
        return FileFacts(sha256=sha256_bytes(data), bytes=len(data))


def receipt_path(root: Path, unit: str) -> Path:
    """Return where a unit's receipt lies in a set."""
    return root / FOLDER / f"{unit}.json"


def write_receipt(root: Path, receipt: Receipt) -> None:
    """Publish a receipt; its unit's files must be there before.

    In a store it is made if it is absent: of two that made the same unit the second finds it done.
    One that is damaged, or of another build, is replaced, as it is in a folder.
    """
    path = receipt_path(root, receipt.unit)
    data = canonical_json(receipt.sealed().model_dump())
    if not (isinstance(path, StorePath) and path.create(data)):
        write_bytes(path, data)


def read_receipt(root: Path, unit: str) -> Receipt:
    """Read a receipt, exactly as it was written.

    Raises
    ------
    SetError
        When it is missing, damaged (also by a single bit), or of another format.
    """
    path = receipt_path(root, unit)
    try:
        data = path.read_bytes()
        value = json.loads(data)
    except OSError as error:
        raise SetError(f"{path}: {error.strerror or error}", path=path) from error
    except ValueError as error:
        raise SetError(f"{path}: damaged receipt: {error}", path=path) from error
    if isinstance(value, dict) and "format" in value:
        check_format(value["format"], path)
    try:
        receipt = Receipt.model_validate(value)
    except ValidationError as error:
        raise SetError(f"{path}: damaged receipt: {error.errors()[0]['msg']}", path=path) from error
    if (
        receipt.sealed() != receipt
        or canonical_json(receipt.model_dump()) != data
        or receipt.unit != unit
    ):
        raise SetError(f"{path}: damaged receipt: not as it was written", path=path)
    return receipt


def read_receipts(root: Path, units: Sequence[str]) -> dict[str, Receipt]:
    """Read some units' receipts; `read_receipt` says what is raised."""
    return dict(zip(units, each(partial(read_receipt, root), units, root), strict=True))


def read_files(root: Path, unit: str) -> list[UnitFile]:
    """Read which files a unit has, in a fifth of the time of `read_receipt`.

    Raises
    ------
    SetError
        As `read_receipt`.
    """
    try:
        value = json.loads(receipt_path(root, unit).read_bytes())
        sealed = value["sha256"] == sha256_bytes(canonical_json({**value, "sha256": ""}))
        if sealed and value["unit"] == unit and value["format"] == FORMAT:
            return [UnitFile.model_construct(**file) for file in value["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return read_receipt(root, unit).files  # says what is wrong


def is_done(root: Path, unit: str, fingerprint: str) -> bool:
    """Return whether a unit has a whole receipt of this build."""
    try:
        return read_receipt(root, unit).fingerprint == fingerprint
    except SetError:
        return False
