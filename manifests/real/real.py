"""`gloam.real`: the samples of a real set, found by its rules in the folder that it lies in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ConfigError, SourceError
from ...storage.stores import as_path
from ...storage.untrusted import read_regular
from ..labels.labels import Marked
from ..sources.folders import files_below
from .pairing import Fields, captured_fields, compile_pattern, shared_names
from .rules import LabelRule, Listing, Rule, SetRules, Template, load_rules, set_names

_SHOWN = 6
_TOPS = 20  # folders in which a set is looked for
SECONDS = "seconds"
"""The field of an exposure time in the names of lows and normals."""


class RealSet(list[Any]):
    """The samples of a real set: (low, normal) paths, or paths of images without a partner.

    A list as `pairs_in` returns it, which says more of each sample.

    Attributes
    ----------
    name, split : str
    scenes : list of str
        Scene that each sample shows: samples of one scene are not independent.
    ratios : list of float or None
        Exposure of the normal over that of the low, where their names say it.
    classes : list of str
        The class of each image, "" without.
    boxes : list of tuples of Marked
        Objects marked on each image, where the set has labels.
    """

    def __init__(self, samples: Iterable[Any] = (), name: str = "", split: str = "") -> None:
        super().__init__(samples)
        self.name, self.split = name, split
        self.scenes: list[str] = []
        self.ratios: list[float | None] = []
        self.classes: list[str] = []
        self.boxes: list[tuple[Marked, ...]] = []


@dataclass
class _Tree:
    """The files of a folder, under names that rules may know: `path` is where a name lies."""

    root: Path
    path: dict[str, str]
    _read: dict[str, frozenset[str]] = field(default_factory=dict)

    def values(self, name: str, listed: tuple[str, ...] | Listing) -> frozenset[str]:
        """Return the values of a list, in small letters; a file of the set is read once."""
        if name not in self._read:
            self._read[name] = frozenset(
                value.lower()
                for value in (self._in_file(listed) if isinstance(listed, Listing) else listed)
            )
        return self._read[name]

    def _in_file(self, listed: Listing) -> list[str]:
        template, pattern = Template(listed.file), compile_pattern(listed.line)
        at = next((path for name, path in self.path.items() if template.match(name)), None)
        if at is None:
            raise SourceError(f"{self.root}: no {template.shown}, which says the splits")
        return [found[1] for found in map(pattern.search, _lines(as_path(at))) if found]


class _Misfit(Exception):
    """The lack of a layout: how many files of others of its templates there are."""

    def __init__(self, found: int, seen: str, missing: str) -> None:
        super().__init__(missing)
        self.found, self.seen, self.missing = found, seen, missing


class _Found(NamedTuple):
    low: re.Match[str] | None
    normal: re.Match[str] | None


def real(name: str, folder: str | Path, split: str | None = None) -> RealSet:
    """List the samples of a real set that lies on this machine, as its authors lay it out.

    Parameters
    ----------
    name : str
        "lol-v1", "sice", ...; see `sets`.
    folder : str or Path
        Folder that its archive was unpacked to: the one that holds `our485`, say.
    split : str, optional
        "train", "val" or "test", those that the set has; by default its training pairs, or where
        it has none what there is.

    Returns
    -------
    RealSet
        A list of (low, normal) paths for PairLoader and, where they are frames in folders,
        ClipLoader; of sets without normals a list of paths for ImageLoader.

    Raises
    ------
    ConfigError
        When there is no such set, or it has no such split.
    SourceError
        When the folder does not look so: what was expected, and what was found.

    Examples
    --------
    >>> import gloam
    >>> gloam.real("lol-v1", "photos", "val")
    Traceback (most recent call last):
    ...
    gloam.errors.ConfigError: lol-v1 has no split val; it has train, test
    """
    rules = load_rules(name)
    chosen = split or rules.splits[0]
    if chosen not in rules.splits:
        raise ConfigError(f"{name} has no split {chosen}; it has {', '.join(rules.splits)}")
    root = as_path(folder)
    if not root.is_dir():
        raise SourceError(f"{folder}: not a folder", path=folder)
    files = [path for path, _ in files_below(root)]
    misfits = []
    for tree in _trees(root, files):
        for layout in rules.layouts:
            if chosen in layout:
                try:
                    found = [one for rule in layout[chosen] for one in _of_rule(rules, rule, tree)]
                    return _filled(rules, found, tree, name, chosen)
                except _Misfit as misfit:
                    misfits.append(misfit)
    raise SourceError(f"{folder}: not {name}: {_told(rules, chosen, misfits, files)}", path=folder)


def real_named(text: str, split: str | None = None, preferred: str = "") -> RealSet:
    """List the samples of a set that is given as NAME=FOLDER.

    split: by default `preferred` where the set has it.

    Raises ConfigError, SourceError when `real` raises it; or when it is not written so.
    """
    name, there, folder = text.partition("=")
    if not there:
        raise ConfigError(f"{text}: give NAME=FOLDER, such as lol-v1=LOLdataset; see gloam sets")
    has = preferred in load_rules(name).splits
    return real(name, folder, split or (preferred if has else None))


def sets() -> list[dict[str, Any]]:
    """Describe the real sets that `real` knows.

    Returns
    -------
    list of dict
        For each: name, title, paper, holds, splits, terms, url, source, and looks: what its files
        are called.

    Examples
    --------
    >>> import gloam
    >>> [one["splits"] for one in gloam.sets() if one["name"] == "lol-v1"]
    [['train', 'test']]
    """
    found = []
    for name in set_names():
        rules = load_rules(name)
        facts = rules.model_dump(include={"title", "paper", "holds", "terms", "url", "source"})
        found.append({"name": name, **facts, "splits": rules.splits, "looks": rules.looks})
    return found


def _trees(root: Path, files: list[str]) -> Iterator[_Tree]:
    """Yield a folder as it is, as what lies in a folder of its name, and each folder in it."""
    tops = list(dict.fromkeys(name.partition("/")[0] for name in files if "/" in name))[:_TOPS]
    for added, taken in (("", ""), (f"{root.name}/", ""), *(("", f"{top}/") for top in tops)):
        at = {
            added + name.removeprefix(taken): str(root / name)
            for name in files
            if name.startswith(taken)
        }
        yield _Tree(root, at)


def _of_rule(rules: SetRules, rule: Rule, tree: _Tree) -> list[_Found]:
    """Find the files of a rule, and pair them. Raises _Misfit when there are none."""
    matches = [[one for one in map(t.match, tree.path) if one] for t in rule.templates]
    counts = [len(one) for one in matches]
    if not all(counts):
        shown = [template.shown for template in rule.templates]
        raise _Misfit(max(counts), shown[counts.index(max(counts))], shown[counts.index(0)])
    kept = [
        one
        for one in matches[0]
        if all(_is_in(one, key, name, rules, tree) for key, name in rule.only.items())
        and not any(
            _is_in(one, key, name, rules, tree) for key, names in rule.but.items() for name in names
        )
    ]
    if not kept:
        raise _Misfit(counts[0], rule.templates[0].shown, f"file of this split ({_which(rule)})")
    if len(matches) == 1:
        return [_Found(one, None) if rule.low else _Found(None, one) for one in kept]
    low, normal = (template.pattern for template in rule.templates)
    names = [name for name in shared_names(low, normal) if name != SECONDS]
    partners: dict[Fields, re.Match[str]] = {}
    for one in matches[1]:
        fields = captured_fields(one, names)
        if fields in partners and not rule.first:
            both = tree.path[partners[fields].string], tree.path[one.string]
            raise SourceError(f"{both[0]}, {both[1]}: both are the normal of one low; keep one")
        partners.setdefault(fields, one)
    alone = [one for one in kept if captured_fields(one, names) not in partners]
    if alone:
        more = f", nor to {len(alone) - 1} others" if len(alone) > 1 else ""
        raise SourceError(
            f"{tree.path[alone[0].string]}: no {rule.templates[1].shown} belongs to it{more};"
            " unpack the archive whole",
            path=tree.root,
        )
    return [_Found(one, partners[captured_fields(one, names)]) for one in kept]


def _is_in(match: re.Match[str], key: str, name: str, rules: SetRules, tree: _Tree) -> bool:
    return str(match[key]).lower() in tree.values(name, rules.lists[name])


def _which(rule: Rule) -> str:
    parts = [f"{key} in list {name}" for key, name in rule.only.items()]
    parts += [f"{key} not in list {' or '.join(names)}" for key, names in rule.but.items()]
    return ", ".join(parts)


def _lines(path: Path) -> list[str]:
    try:
        return read_regular(path).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: cannot be read: {error}", path=path) from error


def _filled(rules: SetRules, found: list[_Found], tree: _Tree, name: str, split: str) -> RealSet:
    """Return the samples, with all that is known of them."""
    samples = RealSet([], name, split)
    for one in found:
        own = one.low or one.normal
        assert own is not None
        paths = [tree.path[match.string] for match in (one.low, one.normal) if match]
        samples.append(tuple(paths) if len(paths) == 2 else paths[0])
        fields = own.groupdict()
        samples.scenes.append(fields[rules.scene] if rules.scene in fields else paths[-1])
        samples.classes.append(fields.get("class") or "")
        samples.ratios.append(_ratio(one))
        if rules.labels is not None:
            samples.boxes.append(_boxes(rules.labels, fields, tree))
    return samples


def _ratio(one: _Found) -> float | None:
    times = [match.groupdict().get(SECONDS) for match in one if match]
    if len(times) < 2 or None in times:
        return None
    try:
        return float(times[1] or 0) / float(times[0] or 1)
    except (ValueError, ZeroDivisionError):  # of a name such as `1_0s.png`
        return None


def _boxes(labels: LabelRule, fields: dict[str, str], tree: _Tree) -> tuple[Marked, ...]:
    """Read what is marked on an image; nothing where it has no file of labels."""
    pattern = compile_pattern(labels.line)
    names = (Template(one).filled(fields) for one in labels.file)
    path = next((tree.path[name] for name in names if name in tree.path), None)
    if path is None:
        return ()
    boxes = []
    for number, line in enumerate(_lines(as_path(path)), start=1):
        match = pattern.search(line)
        if match is None:
            continue
        sides = match.groupdict()
        left, top = float(sides["left"]), float(sides["top"])
        right = sides.get("right") or left + float(sides.get("width") or 0)
        bottom = sides.get("bottom") or top + float(sides.get("height") or 0)
        box = (left, top, float(right), float(bottom))
        boxes.append(Marked(sides.get("name") or labels.name, box, origin=f"{path}:{number}"))
    return tuple(boxes)


def _told(rules: SetRules, split: str, misfits: list[_Misfit], files: list[str]) -> str:
    """Say what was expected and what was found."""
    best = max(misfits, key=lambda one: one.found)
    if best.found:
        return f"no {best.missing}, beside {best.found:,} of {best.seen}"
    layouts = [
        " and ".join(template.shown for rule in one[split] for template in rule.templates)
        for one in rules.layouts
        if split in one
    ]
    tops = Counter(
        f"{top}/" if below else top for top, below, _ in (name.partition("/") for name in files)
    )
    found = ", ".join(
        f"{top} ({count:,} files)" if top.endswith("/") else top
        for top, count in list(tops.items())[:_SHOWN]
    )
    more = f" and {len(tops) - _SHOWN} more" if len(tops) > _SHOWN else ""
    return f"expected {', or '.join(layouts)}; found {found or 'no files'}{more}"
