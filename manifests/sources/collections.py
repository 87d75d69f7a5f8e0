"""The layouts of known collections: which files are photographs, and what they are called.

A webdataset is named with braces and stars: `train-{000..099}.tar`, `*.tar`.
"""

from __future__ import annotations

import json
import math
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath

from braceexpand import braceexpand

from ...errors import SourceError
from ...storage.stores import as_path
from ..images.header import SUFFIXES, UNREAD
from .containers import Entry, Location, escape_path, list_container, read_beside, read_text
from .folders import HIDDEN, is_hidden
from .matching import lower_suffix, match, normalize_name, strip_suffix

_IMAGENET = re.compile(r"(^|/)(n\d{8}/[^/]+|ILSVRC2012_(val|test)_\d+\.JPEG)$")
_IAPR = re.compile(r"(^|/)images/\d+/[^/]+\.jpe?g$", re.IGNORECASE)
_STREETSCENES = re.compile(r"(^|/)Original/[^/]+\.jpg$", re.IGNORECASE)
_FLAGS = ("1", "0", "-1")
SAMPLE_NAMES = (
    "motorcycle_left.png", "coffee.png", "astronaut.png", "chelsea.png", "rocket.jpg", "camera.png",
)  # fmt: skip
"""Photographs of scenes, each once; scikit-image's other pictures are textures and science's."""
CLIPS = "clips"
LISTED_KINDS = ("voc", "coco")
"""Kinds whose sources hold lists of images to choose from."""
_MOST_SHARDS = 1_000_000
_INNERMOST = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.-?(\d+))?")
_LETTERS = re.compile(r"[A-Za-z]\.\.[A-Za-z](?:\.\.-?\d+)?")
_COUNTED = re.compile("\0(\\d+)\0")
_LOWS = "lows of gloam's pairs"
_TEXTS = ("readme", "license", "copying", "makefile", "changelog")
_BEHIND = re.compile(f"({'|'.join(map(re.escape, sorted(SUFFIXES, reverse=True)))})(?![a-z])")
"""A suffix with more behind it, as downloads and backups have: `.jpg_large`, `.jpeg?x=1`."""
_BESIDE = (".json", ".txt", ".xml", ".xmp", ".yaml", ".yml", ".csv", ".npy", ".html", ".md5")
"""Suffixes of files about a photograph that bear its name."""
_ARCHIVES = (".tar", ".zip", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")
"""Suffixes of archives inside a source, which are not read but for plain tars inside a tar."""


@dataclass(frozen=True)
class Listed:
    """One photograph of a source.

    path: its place in the source, as its owners have it.
    name: the source's own name of it, from which its key is made.
    location: location of its bytes.
    """

    path: str
    name: str
    location: Location


def list_source(
    kind: str, path: str, listing: str = "", passed: Counter[str] | None = None
) -> Iterator[Listed]:
    """List the photographs of a source, streamed in a fixed order.

    kind, path, listing: see `Source`.
    passed: counts, by kind, the files that may be photographs and are not taken: of formats that
      are not read, archives, files without a suffix or with more behind it (`.jpg.1`, `.jpg!w600`),
      what lies outside of the folders that its kind has, the lows of gloam's own sets, which would
      be darkened twice, and what `list_container` leaves out.

    Raises SourceError when the source is missing, broken, or not laid out as its kind says.
    """
    passed = Counter() if passed is None else passed
    if listing and kind not in LISTED_KINDS:
        raise SourceError.at(
            kind, f"has no lists, so @{listing} means nothing; lists are for voc and coco"
        )
    list_kind, expected = KINDS[kind]
    images = list_kind(path, listing, passed)
    first = next(images, None)
    if first is None:
        over = f", and passed over: {format_counts(passed)}" if passed else ""
        raise SourceError(
            f"{kind}={path}: holds no photograph ({expected}){over}{_way_out(kind, path)}"
        )
    return chain([first], images)


def _way_out(kind: str, path: str) -> str:
    """Say what may be meant by a source that holds no photograph of its kind; "" if nothing."""
    root = as_path(path)
    if root.name == "shards" and (root.parent / "set.json").is_file():
        root = root.parent
    if (root / "set.json").is_file() and (root / "shards").is_dir():
        return (
            f"; it is a gloam set: webdataset='{root}/shards/*.tar' takes its normals, gloam"
            " regenerate makes other lows of them"
        )
    plain = "folder" if root.is_dir() else "archive"
    if kind in ("folder", "archive", "webdataset", "sample", CLIPS):
        return ""
    found = next(list_photographs(path, Counter()), None)
    return "" if found is None else f"; {plain}={path} takes photographs however they lie"


def format_counts(counts: Counter[str]) -> str:
    """Format counts, the largest first: `.cr2 12, without suffix 1`."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())


def _by_stem(entries: Iterable[Entry]) -> Iterator[Listed]:
    for entry in entries:
        yield Listed(entry.name, PurePosixPath(entry.name).stem, entry.location)


def _by_path(entries: Iterable[Entry]) -> Iterator[Listed]:
    for entry in entries:
        yield Listed(entry.name, _without_suffix(entry.name), entry.location)


def _without_suffix(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    if path.startswith((".", "/")) or "/." in path or "//" in path or name[-1:] in (".", ""):
        return str(PurePosixPath(path).with_suffix(""))
    # The same for all other paths; parsing them as one takes most of a listing.
    return f"{folder}{slash}{os.path.splitext(name)[0]}"


def _folder(path: str, listing: str, passed: Counter[str]) -> Iterator[Listed]:
    if as_path(path).is_file():
        raise SourceError(f"folder={path}: not a folder (a tar or zip is an archive= source)")
    for normal in ("normal", "high", "gt"):
        if all((as_path(path) / name).is_dir() for name in ("low", normal)):
            raise SourceError(
                f"folder={path}: holds low/ and {normal}/, so pairs: folder={path}/{normal} takes"
                " the normals alone; loaders read the pairs as they are, by gloam.pairs_in",
                path=path,
            )
    return _by_path(without_lows(list_photographs(path, passed), passed, as_path(path)))


def _archive(path: str, listing: str, passed: Counter[str]) -> Iterator[Listed]:
    if as_path(path).is_dir():
        raise SourceError(f"archive={path}: a folder, not an archive (use folder=)")
    return _by_path(without_lows(list_photographs(path, passed), passed))


def _classes(path: str, listing: str, passed: Counter[str]) -> Iterator[Listed]:
    """List a folder of class folders, or an archive of one."""
    for entry in list_photographs(path, passed):
        if "/" in entry.name:
            yield Listed(entry.name, _without_suffix(entry.name), entry.location)
        else:
            passed["outside of class folders"] += 1


def _matching(
    pattern: re.Pattern[str], path: str, listing: str, passed: Counter[str]
) -> Iterator[Listed]:
    return _by_stem(list_photographs(path, passed, pattern))


def _voc(path: str, listing: str, passed: Counter[str]) -> Iterator[Listed]:
    entries = list(list_container(as_path(path), passed))
    found = choose_images(entries, passed)
    images = [e for e in found if PurePosixPath(e.name).parent.name == "JPEGImages"]
    if listing:
        images = _of_voc_list(path, entries, images, listing)
    return _by_stem(images)


def _of_voc_list(path: str, entries: list[Entry], images: list[Entry], listing: str) -> list[Entry]:
    """Return the images that `ImageSets/Main/{listing}.txt` names, beside whose folder they lie.

    In a class' own list, of lines `name 1` and `name -1`, they are those of 1.
    """
    ending = f"ImageSets/Main/{listing}.txt"
    found = [e for e in entries if lower_suffix(f"/{e.name}").endswith(f"/{ending}")]
    if not found:
        raise SourceError.at(path, f"has no {ending}")
    there = {strip_suffix(normalize_name(e.name)) for e in images}
    wanted: set[str] = set()
    for entry in found:  # VOC's archives of several years hold a list each
        folder = normalize_name(f"{entry.name[: -len(ending)]}JPEGImages") + "/"
        for line in read_text(path, entry).split("\n"):
            name, flag = unicodedata.normalize("NFC", line).strip(), "1"
            fields = name.rsplit(maxsplit=1)
            flagged = len(fields) == 2 and fields[1] in _FLAGS
            if flagged and strip_suffix(folder + name) not in there:
                name, flag = fields
            if name and flag == "1":
                wanted.add(strip_suffix(folder + name))
    _refuse_missing(path, listing, wanted, wanted - there)
    return [e for e in images if strip_suffix(normalize_name(e.name)) in wanted]


def _refuse_missing(path: str, listing: str, wanted: Collection[str], lacks: Iterable[str]) -> None:
    missing = sorted(lacks)
    if missing:
        raise SourceError.at(
            path,
            f"{len(missing)} of {len(wanted)} images of the list {listing} are missing,"
            f" such as {missing[0].rpartition('/')[2]}",
        )


def _coco(path: str, listing: str, passed: Counter[str]) -> Iterator[Listed]:
    if not listing:
        return _by_stem(list_photographs(path, passed))
    # The images and the annotations come as two downloads; unpacked or not, they lie side by side.
    entries = list(list_container(as_path(path), passed))
    ending = f"annotations/{listing}.json"
    found = [e for e in entries if lower_suffix(f"/{e.name}").endswith(f"/{ending}")]
    if found:
        text = read_text(path, found[0])
    elif beside := _file_named(as_path(path).parent / "annotations", f"{listing}.json"):
        text = read_beside(beside)
    else:
        raise SourceError.at(path, f"has no {ending}, neither in nor beside it")
    try:
        named = [image.get("file_name") for image in json.loads(text)["images"]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError.at(path, f"{ending} is not a COCO annotation file: {error!r}") from error
    names = [normalize_name(name) if isinstance(name, str) else "" for name in named]
    wanted = dict.fromkeys(filter(None, names))
    if not wanted:
        raise SourceError.at(path, f"{ending} names no image")
    if odd := names.count(""):
        passed["images of the list without a file_name"] += odd
    images = {normalize_name(e.name): e for e in choose_images(entries, passed)}
    matches = match(wanted, images, path)
    if matches.unclear:
        raise SourceError.at(
            path,
            f"{len(matches.unclear)} images of the list {listing} are not clear:"
            f" {min(matches.unclear.values())}; give the folder or archive of the one",
        )
    missing = [name for name in wanted if name not in matches.found | matches.unclear]
    _refuse_missing(path, listing, wanted, missing)
    kept = set(matches.found.values())
    return _by_stem(e for name, e in images.items() if name in kept)


def _file_named(folder: Path, name: str) -> Path | None:
    """Return the file of a folder that is called so, whatever the case of its suffix."""
    there = sorted(folder.glob("*")) if folder.is_dir() else []
    return next((one for one in there if lower_suffix(one.name) == name), None)


def _webdataset(path: str, listing: str, passed: Counter[str]) -> Iterator[Listed]:
    shards = expand_shards(path, passed)
    if not shards:
        return
    common = os.path.commonpath([shard.parent for shard in shards])
    for shard in shards:
        within = escape_path(Path(os.path.relpath(shard, common)).as_posix())
        for entry in without_lows(list_photographs(str(shard), passed), passed):
            # A sample's key is all before the first dot of the base name; what follows says which
            # part it is.
            folder, base = PurePosixPath(entry.name).parent, PurePosixPath(entry.name).name
            key, _, part = base.partition(".")
            part = part.rpartition(".")[0]
            name = str(folder / key) + (f"-{part}" if part else "")
            yield Listed(f"{within}/{entry.name}", name, entry.location)


def _sample(path: str, listing: str, passed: Counter[str]) -> Iterator[Listed]:
    import skimage

    folder = Path(skimage.__file__).parent / "data"
    return _by_stem(e for e in list_photographs(str(folder), passed) if e.name in SAMPLE_NAMES)


def _clips(path: str, listing: str, passed: Counter[str]) -> Iterator[Listed]:
    """Refuse to list clips as photographs: `manifests.clips` knows which frames they have."""
    raise SourceError(f"{CLIPS}={path}: holds clips, which are listed with their frames", path=path)


_ENDINGS = f"that end in {', '.join(SUFFIXES)}"
KINDS: dict[str, tuple[Callable[[str, str, Counter[str]], Iterator[Listed]], str]] = {
    "imagenet": (
        partial(_matching, _IMAGENET),
        "expected folders nNNNNNNNN of images, the train tar that holds their tars, or files"
        " ILSVRC2012_val_*.JPEG",
    ),
    "voc": (_voc, "expected a folder JPEGImages"),
    "coco": (_coco, "expected image files"),
    "iapr": (partial(_matching, _IAPR), "expected images/NN/*.jpg"),
    "streetscenes": (partial(_matching, _STREETSCENES), "expected Original/*.JPG"),
    "folder": (_folder, f"expected files {_ENDINGS}"),
    "classes": (_classes, "expected a folder for each class, of images"),
    "archive": (_archive, f"expected members {_ENDINGS}"),
    "webdataset": (_webdataset, f"expected members {_ENDINGS}"),
    "sample": (_sample, "scikit-image's own photographs"),
    CLIPS: (_clips, "expected folders of frames, or video files"),
}
"""What lists each kind of source, a function of path, list name and counts of files passed over;
and what is said to be expected where it finds none."""


def expand_shards(path: str, passed: Counter[str]) -> list[Path]:
    """Return the shards that a pattern names, in its order; hidden ones are counted in `passed`.

    Raises SourceError when it names none, too many, or cannot be read.
    """
    try:
        if (many := count_expansions(path)) > _MOST_SHARDS:
            raise SourceError(
                f"webdataset={path}: its braces stand for {many:,} shards, the limit is"
                f" {_MOST_SHARDS:,}"
            )
        patterns = list(braceexpand(path))
    except ValueError as error:  # unbalanced braces
        raise SourceError(f"webdataset={path}: {error}") from error
    shards: list[Path] = []
    for pattern in patterns:
        at = as_path(pattern)
        matches = sorted(at.parent.glob(at.name)) if "*" in pattern else [at]
        if not matches:
            raise SourceError(f"webdataset={pattern}: matches no shard")
        shown = [shard for shard in matches if not is_hidden(shard.name)]
        if len(shown) < len(matches):
            passed[HIDDEN] += len(matches) - len(shown)
        shards += shown
    return shards


def count_expansions(pattern: str) -> int:
    """Return how many names the braces of a pattern stand for, without expanding them."""

    def product(text: str) -> int:
        return math.prod(map(int, _COUNTED.findall(text)))

    def counted(group: re.Match[str]) -> str:
        if found := _RANGE.fullmatch(group[1]):
            first, last, step = (int(number or 1) for number in found.groups())
            return f"\0{abs(last - first) // (step or 1) + 1}\0"
        if _LETTERS.fullmatch(group[1]):
            return f"\0{len(list(braceexpand(group[0])))}\0"
        return f"\0{sum(map(product, group[1].split(',')))}\0"

    changed = 1
    while changed:
        pattern, changed = _INNERMOST.subn(counted, pattern)
    return product(pattern)


def is_photograph(entry: Entry) -> bool:
    """Return whether a file has the suffix of an image; hidden files may be nothing but it."""
    name = entry.name.rpartition("/")[2]
    if name.startswith("."):
        return PurePosixPath(name).suffix.lower() in SUFFIXES
    return os.path.splitext(name)[1].lower() in SUFFIXES


def list_photographs(
    path: str, passed: Counter[str], pattern: re.Pattern[str] | None = None
) -> Iterator[Entry]:
    """Yield the photographs in a folder or archive whose paths a pattern finds; count others."""
    for entry in choose_images(list_container(as_path(path), passed), passed):
        if pattern is None or pattern.search(entry.name):
            yield entry
        else:
            passed["outside of the kind's folders"] += 1


def choose_images(entries: Iterable[Entry], passed: Counter[str]) -> Iterator[Entry]:
    """Yield the photographs among some files; others that may be some are counted."""
    for entry in entries:
        if is_photograph(entry):
            yield entry
            continue
        if kind := unread_kind(entry.name):
            passed[kind] += 1


def unread_kind(path: str) -> str:
    """Return as what a file is counted that may be a photograph and is not read; "" of others."""
    name = path.rpartition("/")[2].lower()
    suffix = PurePosixPath(name).suffix
    if name.startswith(".") or name in _TEXTS:
        return ""
    if suffix in UNREAD or suffix in _ARCHIVES:
        return suffix
    if suffix not in _BESIDE and (behind := _BEHIND.search(name)):
        return f"{behind[1]}*"
    return "" if suffix else "without suffix"


def without_lows(
    entries: Iterable[Entry], passed: Counter[str], root: Path | None = None
) -> Iterator[Entry]:
    """Leave out the lows of pairs: members KEY.low.* before KEY.normal.*, or files SPLIT/low/*.

    The latter of gloam's sets in or below a folder, `root`.
    """

    @cache
    def in_set(folder: str) -> bool:
        return root is not None and (root / folder).parent.parent.joinpath("set.json").is_file()

    for entry, after in pairwise(chain(entries, [None])):
        assert entry is not None
        key, _, part = entry.name.partition(".")
        normal = after is not None and after.name.startswith(f"{key}.normal.")
        folder = entry.name.rpartition("/")[0]
        in_low = folder.rpartition("/")[2] == "low" and in_set(folder)
        if (part.startswith("low.") and normal) or in_low:
            passed[_LOWS] += 1
        else:
            yield entry
