"""A pair as it is stored: a record (the draw, source, sizes, checksums), the low and the normal,
under one key."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...errors import SetError
from ...storage.atomic import canonical_json, sha256_bytes
from ..images.decode import decode
from ..images.opening import Pixels

FORMAT = 1
"""Version of the set format: of the records, receipts, and set.json. Readers refuse a larger
one."""
SUFFIXES = ("jpg", "png")


@dataclass(frozen=True)
class Pair:
    """One pair of a set.

    Attributes
    ----------
    key : str
    record : dict
        What `KEY.json` holds; see `make_record`.
    low, normal : bytes
        Encoded images. The normal is empty where a set holds lows only.
    low_suffix, normal_suffix : str
        "jpg" or "png".
    """

    key: str
    record: dict[str, Any]
    low: bytes
    normal: bytes
    low_suffix: str
    normal_suffix: str

    def decoded(self) -> tuple[Pixels, Pixels]:
        """The low and the normal, uint8 RGB (H, W, 3).

        Raises
        ------
        ImageRefused
            When one of them is damaged, or the normal is not there.
        """
        return decode(self.low, self.low_suffix), decode(self.normal, self.normal_suffix)

    def members(self) -> list[tuple[str, bytes]]:
        """Ending and bytes of the files of a pair, in their order: `json`, `low.png`, `normal.jpg`,
        say."""
        members = [("json", canonical_json(self.record)), (f"low.{self.low_suffix}", self.low)]
        if self.normal:
            members.append((f"normal.{self.normal_suffix}", self.normal))
        return members


def make_pair(
    key: str,
    place: dict[str, str],
    size: tuple[int, int],
    converted: str,
    draw: dict[str, Any],
    low: tuple[bytes, str],
    normal: tuple[bytes, str],
) -> Pair:
    """Put a pair and its record together.

    Parameters
    ----------
    key : str
    place : dict
        `source` and original `path`.
    size : (width, height)
        Pixels, of both images.
    converted : str
        Why the normal is not the photograph byte for byte, or "".
    draw : dict
        The parameters that made the low, as JSON values.
    low, normal : (bytes, suffix)
    """
    record = {
        "format": FORMAT,
        "key": key,
        **place,
        "width": size[0],
        "height": size[1],
        "converted": converted,
        "low": {"sha256": sha256_bytes(low[0]), "bytes": len(low[0]), "suffix": low[1]},
        "normal": {"sha256": sha256_bytes(normal[0]), "bytes": len(normal[0]), "suffix": normal[1]},
        "draw": draw,
    }
    return Pair(key, record, low[0], normal[0], low[1], normal[1])


def parse_record(data: bytes, where: str) -> dict[str, Any]:
    """Read a record's bytes.

    Raises
    ------
    SetError
        When they are not a record of a known format.
    """
    try:
        record = json.loads(data)
        version, key = record["format"], record["key"]
        if (
            not isinstance(key, str)
            or isinstance(version, bool)
            or not isinstance(version, int)
            or version < 1
        ):
            raise ValueError(f"format {version!r}, key {key!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise SetError(f"{where}: not a pair's record: {error}") from error
    if version > FORMAT:
        raise SetError(
            f"{where}: written by a newer gloam (format {version}); upgrade gloam to read it"
        )
    return dict(record)
