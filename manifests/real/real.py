"""`gloam.real`: the samples of a real set, found by its rules in the folder that it lies in."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import ConfigError, GloamWarning, SourceError
from ...storage.stores import as_path
from ..labels.photo_labels import Marked
from ..sources.containers import read_beside
from ..sources.folders import files_below
from ..sources.matching import Matches, match, normalize_name, strip_suffix
from .rules import (
    Fields,
    LabelRule,
    Listing,
    Rule,
    SetRules,
    Template,
    captured_fields,
    compile_pattern,
    load_rules,
    set_names,
    shared_names,
)

_SHOWN = 6
_TOPS = 20  # folders in which a set is looked for
_PASSED_OVER = re.compile(r"\s*(?:[%#].*|\d+)?\s*")
"""Lines of labels without a box: comments, heads, the number of boxes."""
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

    def __init__(self, name: str, split: str) -> None:
        super().__init__()
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
    _read: dict[str, list[str]] = field(default_factory=dict)

    def values(self, name: str, listed: tuple[str, ...] | Listing) -> list[str]:
        """Return the values of a list, plain; a file of the set is read once."""
        if name not in self._read:
            values = self._in_file(listed) if isinstance(listed, Listing) else listed
            self._read[name] = list(dict.fromkeys(map(_comparable_name, values)))
        return self._read[name]

    def _in_file(self, listed: Listing) -> Iterator[str]:
        template, pattern = Template(listed.file), compile_pattern(listed.line)
        at = next((path for name, path in self.path.items() if template.match(name)), None)
        if at is None:
            raise SourceError(f"{self.root}: no {template.shown}, which says the splits")
        for number, line in enumerate(_lines_of_file(as_path(at)), start=1):
            found = pattern.fullmatch(line.strip())
            if found is None and re.search(r"\d", line):
                raise SourceError(
                    f"{at}:{number}: {line[:80]!r} does not say which split a file is of; mend"
                    " the line, or unpack the list again",
                    path=at,
                )
            if found is not None and found.groups()[-1] == listed.split:
                yield found[1]


def _comparable_name(value: str) -> str:
    """Return a name as names are compared: letters composed, and small."""
    return normalize_name(value).lower()


class _Misfit(Exception):
    """The lack of a layout: how many files of others of its templates there are."""

    def __init__(self, found: int, seen: str, missing: str) -> None:
        super().__init__(missing)
        self.found, self.seen, self.missing = found, seen, missing


_Found = tuple[re.Match[str], ...]
"""The names of a sample's files: of its low and its normal, or of the one that it has."""


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
        When the folder does not look so: what was expected, and what was found; or it lacks the
        labels that the set has.

    Warns
    -----
    GloamWarning
        How many files are not there that a list of the set names, how many images have no labels,
        and how many lines of labels are not read.

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
    for tree in _candidate_trees(root, files):
        for layout in rules.layouts:
            if chosen in layout:
                said: list[str] = []
                try:
                    found = [
                        one for rule in layout[chosen] for one in _by_rule(rules, rule, tree, said)
                    ]
                except _Misfit as misfit:
                    misfits.append(misfit)
                    continue
                samples = _filled(rules, found, tree, name, chosen)
                if rules.labels is not None:
                    samples.boxes = _read_labels(rules.labels, found, tree, said)
                for line in said:
                    warnings.warn(f"{folder}: {line}", GloamWarning, stacklevel=2)
                return samples
    raise SourceError(
        f"{folder}: not {name}: {_expected(rules, chosen, misfits, files)}", path=folder
    )


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


def _candidate_trees(root: Path, files: list[str]) -> Iterator[_Tree]:
    """Yield a folder as it is, as what lies in a folder of its name, and each folder in it."""
    path: dict[str, str] = {}
    for name in files:
        other = path.setdefault(normalize_name(name), str(root / name))
        if other != str(root / name):
            raise SourceError(f"{root / name}, {other}: have one name, in two spellings; keep one")
    tops = list(dict.fromkeys(name.partition("/")[0] for name in path if "/" in name))[:_TOPS]
    above = f"{normalize_name(root.name)}/"
    for added, taken in (("", ""), (above, ""), *(("", f"{top}/") for top in tops)):
        at = {added + one.removeprefix(taken): path[one] for one in path if one.startswith(taken)}
        yield _Tree(root, at)


def _by_rule(rules: SetRules, rule: Rule, tree: _Tree, said: list[str]) -> list[_Found]:
    """Find the files of a rule, and pair them.

    said: gets how many files are lacking that a list names.

    Raises _Misfit when there are none.
    """
    matches = [[one for one in map(t.match, tree.path) if one] for t in rule.templates]
    counts = [len(one) for one in matches]
    if not all(counts):
        shown = [template.shown for template in rule.templates]
        raise _Misfit(max(counts), shown[counts.index(max(counts))], shown[counts.index(0)])
    kept, lacking = matches[0], []
    for key, name in rule.only.items():
        listed = tree.values(name, rules.lists[name])
        found = _match_listed(kept, key, listed)
        alone = [value for value in listed if value not in found.found]
        if alone:
            lacking.append(
                f"{len(alone):,} of {len(listed):,} that the list of {name} names are not there,"
                f" such as {alone[0]}"
            )
        values = set(found.found.values())
        kept = [one for one in kept if _comparable_name(one[key]) in values]
    for key, lists in rule.but.items():
        others = dict.fromkeys(one for at in lists for one in tree.values(at, rules.lists[at]))
        values = set(_match_listed(kept, key, list(others)).found.values())
        kept = [one for one in kept if _comparable_name(one[key]) not in values]
    if not kept:
        parts = [f"{key} in list {name}" for key, name in rule.only.items()]
        parts += [f"{key} not in list {' or '.join(names)}" for key, names in rule.but.items()]
        which = f"file of this split ({', '.join(parts)})"
        raise _Misfit(counts[0], rule.templates[0].shown, which)
    said += lacking
    if len(matches) == 1:
        return [(one,) for one in kept]
    low, normal = (template.pattern for template in rule.templates)
    names = [name for name in shared_names(low, normal) if name != SECONDS]
    partners: dict[Fields, re.Match[str]] = {}
    for one in matches[1]:
        fields = captured_fields(one, names)
        if fields in partners and not rule.first:
            both = tree.path[partners[fields].string], tree.path[one.string]
            raise SourceError(f"{both[0]}, {both[1]}: both are the normal of one low; keep one")
        partners.setdefault(fields, one)
    single = [one for one in kept if captured_fields(one, names) not in partners]
    if single:
        more = f", nor to {len(single) - 1} others" if len(single) > 1 else ""
        raise SourceError(
            f"{tree.path[single[0].string]}: no {rule.templates[1].shown} belongs to it{more};"
            " unpack the archive whole",
            path=tree.root,
        )
    return [(one, partners[captured_fields(one, names)]) for one in kept]


def _match_listed(files: list[re.Match[str]], key: str, listed: list[str]) -> Matches:
    """Find the values of a field that a list means, whatever the suffix if no other one fits."""
    return match(listed, list(dict.fromkeys(_comparable_name(one[key]) for one in files)))


def _lines_of_file(path: Path) -> list[str]:
    return re.split("\r\n?|\n", read_beside(path))


def _filled(rules: SetRules, found: list[_Found], tree: _Tree, name: str, split: str) -> RealSet:
    samples = RealSet(name, split)
    for one in found:
        paths = [tree.path[match.string] for match in one]
        samples.append(tuple(paths) if len(paths) == 2 else paths[0])
        fields = one[0].groupdict()
        samples.scenes.append(fields[rules.scene] if rules.scene in fields else paths[-1])
        samples.classes.append(fields.get("class") or "")
        samples.ratios.append(_exposure_ratio(one))
    return samples


def _exposure_ratio(one: _Found) -> float | None:
    times = [match.groupdict().get(SECONDS) for match in one]
    if len(times) < 2 or None in times:
        return None
    try:
        return float(times[1] or 0) / float(times[0] or 1)
    except (ValueError, ZeroDivisionError):  # of a name such as `1_0s.png`
        return None


def _read_labels(
    labels: LabelRule, found: list[_Found], tree: _Tree, said: list[str]
) -> list[tuple[Marked, ...]]:
    """Read what is marked on each image; nothing where it has no file of labels.

    said: gets how many images have none, and how many lines are not read.

    Raises SourceError when no image has labels, or no line of any is read.
    """
    file_of = _label_file_finder(labels, tree)
    boxes: list[tuple[Marked, ...]] = []
    without: list[str] = []
    odd: list[str] = []
    for one in found:
        path = file_of(one[0].groupdict())
        if path is None:
            without.append(tree.path[one[0].string])
        boxes.append(() if path is None else tuple(_boxes_in_file(labels, path, odd)))
    if len(without) == len(boxes):
        shown = " or ".join(Template(one).shown for one in labels.file)
        raise SourceError(
            f"{tree.root}: none of {len(boxes):,} images has labels, expected {shown}; unpack the"
            " labels beside the images",
            path=tree.root,
        )
    if odd and not any(boxes):
        raise SourceError(f"{odd[0]}: expected {labels.line}, nor is any other line so")
    if without:
        said.append(f"{len(without):,} of {len(boxes):,} images lack labels, such as {without[0]}")
    if odd:
        said.append(f"{len(odd):,} lines of labels are not read, such as {odd[0]}")
    return boxes


def _label_file_finder(labels: LabelRule, tree: _Tree) -> Callable[[Mapping[str, str]], str | None]:
    """Return what finds the file of labels for an image's fields.

    It may be named after the image with another suffix, unless two are.
    """
    exact: dict[Fields, str] = {}
    others: dict[Fields, str | None] = {}
    shared: list[str] = []
    for template in map(Template, labels.file):
        shared = sorted(template.pattern.groupindex.keys() - {"folder"})
        of_template: dict[Fields, str | None] = {}
        for one in filter(None, map(template.match, tree.path)):
            fields = tuple(_comparable_name(one[name]) for name in shared)
            path = tree.path[one.string]
            exact.setdefault(fields, path)
            stems = tuple(map(strip_suffix, fields))
            of_template[stems] = None if stems in of_template else path
        others = of_template | others

    def file_of(fields: Mapping[str, str]) -> str | None:
        wanted = tuple(_comparable_name(fields[name]) for name in shared)
        return exact.get(wanted) or others.get(tuple(map(strip_suffix, wanted)))

    return file_of


def _boxes_in_file(labels: LabelRule, path: str, odd: list[str]) -> Iterator[Marked]:
    """Yield what the lines of a file mark; `odd` gets those that are not read."""
    lines = [*_lines_of_file(as_path(path))]
    for number, (line, found) in enumerate(zip(lines, labels.read(lines), strict=True), start=1):
        origin = f"{path}:{number}"
        if found is not None:
            yield Marked(*found, origin=origin)
        elif not _PASSED_OVER.fullmatch(line):
            odd.append(f"{origin}: {line[:80]!r}")


def _expected(rules: SetRules, split: str, misfits: list[_Misfit], files: list[str]) -> str:
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
