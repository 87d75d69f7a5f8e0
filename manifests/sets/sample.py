"""A sample as it is stored: one key, one record and named members.

The record holds the draw, source, sizes and checksums. A pair is the common case: its members are
the low and the normal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ...errors import SetError
from ...storage import untrusted
from ...storage.atomic import canonical_json, sha256_bytes
from ..images.decode import decode as decode_any
from ..images.opening import Pixels

LOW, NORMAL, RECORD = "low", "normal", "json"
_RESERVED = (RECORD, "draw")
_OF_OBJECTS = ("names", "classes", "boxes", "difficult", "crowd", "segmentation")


@dataclass(frozen=True)
class Encoded:
    """The bytes of a member, and the suffix that says what they are ("jpg", "png", "npy", ...)."""

    data: bytes
    suffix: str


@dataclass(frozen=True)
class Sample:
    """One sample of a set.

    record: content of `KEY.json`; see `make_sample`.
    members: mapping of name to Encoded; in the order in which they are stored: "low", "normal". A
      set of lows only has no normals.
    """

    key: str
    record: dict[str, Any]
    members: Mapping[str, Encoded]

    @property
    def low(self) -> Encoded:
        """The low."""
        return self.members[LOW]

    @property
    def normal(self) -> Encoded:
        """The normal."""
        return self.members[NORMAL]

    def decoded(self, name: str, decode: Callable[[bytes, str], Pixels] = decode_any) -> Pixels:
        """Decode an image among the members, uint8 RGB (H, W, 3).

        decode: function of bytes and suffix; `gloam.synth.input_images.decode_image`, say, which is
          faster for PNGs that gloam wrote.

        Raises ImageRefused when it is damaged, or not there.
        """
        member = self.members.get(name, Encoded(b"", "png"))
        return decode(member.data, member.suffix)

    def pixels(self) -> tuple[Pixels, Pixels]:
        """Decode the low and the normal, uint8 RGB (H, W, 3).

        Raises ImageRefused when one of them is damaged, or not there; SetError when the set is
        live, and stores no lows, or a set of clips.
        """
        clip = f"{NORMAL}.000" in self.members
        if clip or (NORMAL in self.members and LOW not in self.members):
            what = "a set of live lows, which loaders make when they read a pair"
            if clip:
                what = f"a set of clips: its pictures are .decoded('{NORMAL}.000') and so on"
            raise SetError(
                f"{self.key}: is of {what}; gloam.synth.renderers.pixels_of(pair) gives both images"
            )
        return self.decoded(LOW), self.decoded(NORMAL)

    @cached_property
    def record_bytes(self) -> bytes:
        """The record as it is stored: canonical JSON, one line."""
        return canonical_json(self.record)

    def files(self) -> list[tuple[str, bytes]]:
        """List ending and bytes of the sample's files, in their order.

        The endings are `json`, `low.png` and `normal.jpg`, say.
        """
        return [
            (RECORD, self.record_bytes),
            *((ending(name, member.suffix), member.data) for name, member in self.members.items()),
        ]


def is_low(name: str) -> bool:
    """Return whether a member is a low, or a frame of one."""
    return name.partition(".")[0] == LOW


def is_normal(name: str) -> bool:
    """Return whether a member is a normal, or a frame of one."""
    return name.partition(".")[0] == NORMAL


def ending(name: str, suffix: str) -> str:
    """Return what follows a sample's key in the name of a member's file."""
    return f"{name}.{suffix}" if suffix else name


def split_ending(text: str) -> tuple[str, str]:
    """Read name and suffix of a member from what follows the key: the other way round."""
    name, _, suffix = text.rpartition(".")
    return (name, suffix) if name else (suffix, "")


@dataclass(frozen=True)
class Origin:
    """Origin of a sample's photograph.

    path: in its source.
    width, height: size of the stored normal, pixels.
    converted: why the normal is not the photograph byte for byte, or "".
    """

    source: str
    path: str
    width: int
    height: int
    converted: str = ""


def make_sample(
    key: str,
    origin: Origin,
    draw: dict[str, Any],
    members: Mapping[str, Encoded],
    labels: dict[str, Any] | None = None,
) -> Sample:
    """Put a sample and its record together.

    draw: the parameters that made the low, as JSON values.
    labels: labels in the record; see `gloam.manifests.labels.photo_labels.record_of`.

    Raises ValueError when a member has a name that files of a set cannot have.
    """
    for name, member in members.items():
        if name in _RESERVED or not untrusted.ENDING.match(ending(name, member.suffix)):
            raise ValueError(
                f"{key}: a member named {name!r} with the suffix {member.suffix!r}: names are words"
                " or words with a number, as low or normal.000"
            )
    record = {
        "format": untrusted.FORMAT,
        "key": key,
        **vars(origin),
        "members": {
            name: {"sha256": sha256_bytes(one.data), "bytes": len(one.data), "suffix": one.suffix}
            for name, one in members.items()
        },
        "draw": draw,
    }
    if labels is not None:
        record["labels"] = labels
    return Sample(key, record, members)


def origin_of(record: Mapping[str, Any]) -> Origin:
    """Return where the photograph of a record is from."""
    return Origin(**{field.name: record[field.name] for field in fields(Origin)})


class MemberFacts(TypedDict):
    """Facts of a member, as a record has them."""

    sha256: untrusted.Digest
    bytes: untrusted.Size
    suffix: untrusted.Suffix


_Number = Annotated[int, Field(ge=-1, lt=1 << 31)]
_Box = Annotated[list[float], Field(min_length=4, max_length=4)]
_LabelFields = TypedDict(
    "_LabelFields",
    {
        "class": str,
        "class_number": _Number,
        "names": list[str],
        "classes": list[_Number],
        "boxes": list[_Box],
        "difficult": list[bool],
        "crowd": list[bool],
        "segmentation": list[str],
        "captions": list[str],
    },
)


def _one_of_each(labels: _LabelFields) -> _LabelFields:
    counts = {len(value) for name, value in labels.items() if name in _OF_OBJECTS}  # type: ignore[arg-type]
    if len(counts) != 1:
        raise ValueError(f"{', '.join(_OF_OBJECTS)} must be as many")
    return labels


_Labels = Annotated[_LabelFields, AfterValidator(_one_of_each)]


class Record(TypedDict):
    """The content of `KEY.json`."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    format: int
    key: untrusted.Key
    source: str
    path: str
    width: untrusted.Side
    height: untrusted.Side
    converted: str
    members: dict[untrusted.MemberName, MemberFacts]
    draw: dict[str, Any]
    labels: NotRequired[_Labels]


class _Anything(TypedDict):
    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]


class _RecordFacts(Record):
    """The same, of which Python objects are made as few as can be: three times as fast."""

    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]

    draw: _Anything  # type: ignore[misc]


_RECORD, _FACTS = TypeAdapter(Record), TypeAdapter(_RecordFacts).validator


def record_facts(data: bytes, where: str) -> tuple[str, Set[str]]:
    """Check a record's bytes as `parse_record` does; returns its key and its members' names."""
    # The validator takes NaN and infinity; single letters are found ten times as fast.
    odd = (b"N" in data and b"NaN" in data) or (b"I" in data and b"Infinity" in data)
    if not odd:
        try:
            record = _FACTS.validate_json(data, strict=True)
            if record["format"] == untrusted.FORMAT:
                return record["key"], record["members"].keys()
        except ValidationError:
            pass
    record = parse_record(data, where)  # says what is wrong
    return record["key"], record["members"].keys()


def parse_record(data: bytes, where: str, key: str | None = None) -> dict[str, Any]:
    """Read a record's bytes.

    key: the sample's by the record's file, if that is known.

    Raises SetError when they are not a record of this format, or that of another sample.
    """
    with untrusted.naming(where, ValueError, what="not a sample's record: "):
        record = untrusted.parse_json(data)
        if isinstance(record, dict) and "key" in record and type(record.get("format")) is int:
            untrusted.check_format(record["format"], where)
        record = dict(_RECORD.validate_python(record, strict=True))
    if key not in (None, record["key"]):
        raise SetError.at(where, f"is the record of {untrusted.shown(record['key'])}")
    return record
