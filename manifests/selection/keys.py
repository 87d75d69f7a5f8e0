"""Keys: readable names that are unique in a set and safe in tars, lists and file systems."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter

from ...storage.untrusted import LONGEST_KEY

_HASH_DIGITS = 8
_ODD = re.compile(r"[^a-z0-9_-]+")


def normalise(source: str, name: str) -> str:
    """Make a key from a source's name and the source's own name of an image.

    Accents are dropped, capitals lowered, and every run of other characters becomes one "-". May be
    longer than a key.
    """
    text = name
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return f"{source}-{_ODD.sub('-', text.lower()).strip('-') or 'image'}"


def make_keys(sources: list[str], names: list[str], paths: list[str]) -> list[str]:
    """Make one unique key an image.

    Names that collide when normalised, or are too long, each get a short hash of their source and
    original path at its end, so that a key never depends on which other images came first.

    sources, names, paths: lists of str, equally long; source name, the source's own name of the
      image, and its path there. (source, path) must be unique.

    Examples
    --------
    >>> make_keys(["voc", "voc"], ["2007_000027", "2007_000032"], ["a.jpg", "b.jpg"])
    ['voc-2007_000027', 'voc-2007_000032']
    """
    keys = [normalise(source, name) for source, name in zip(sources, names, strict=True)]
    seen = Counter(keys)
    for i, key in enumerate(keys):
        if seen[key] > 1 or len(key) > LONGEST_KEY:
            keys[i] = _with_hash(key, f"{sources[i]}\0{paths[i]}", _HASH_DIGITS)
    # Eight digits meet once in 65,000 colliding images; then, and only then, all twins take longer
    # ones.
    for digits in (16, 32, 64):
        seen = Counter(keys)
        twins = [i for i, key in enumerate(keys) if seen[key] > 1]
        if not twins:
            break
        for i in twins:
            keys[i] = _with_hash(
                normalise(sources[i], names[i]), f"{sources[i]}\0{paths[i]}", digits
            )
    return keys


def _with_hash(key: str, identity: str, digits: int) -> str:
    mark = hashlib.blake2b(identity.encode("utf-8"), digest_size=32).hexdigest()[:digits]
    return f"{key[: LONGEST_KEY - 1 - digits].rstrip('-')}-{mark}"
