"""Images in LMDB, as BasicSR reads them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...storage.atomic import remove_tree, sha256_file
from ...storage.untrusted import read_regular

_AT_ONCE = 1000  # images of a transaction
_ROOM = 1 << 24


def lmdb_module() -> Any:
    """Return the module that writes databases. Raises ConfigError when lmdb is not installed."""
    try:
        import lmdb
    except ImportError as error:
        raise ConfigError("--for basicsr-lmdb needs lmdb: pip install 'gloam[lmdb]'") from error
    return lmdb


def write_lmdb(folder: Path, images: Iterable[tuple[str, Path, str]]) -> dict[Path, str]:
    """Write images to a database: keys are names without suffix, values the files' bytes.

    folder: it ends in `.lmdb`; what an interrupted call left there is deleted. images: iterable of
    (key, Path, line), the line is `name (height,width,3)`, for `meta_info.txt`.

    Returns the SHA-256 by path of what was written and does not change when it is read
    (`lock.mdb` does). Raises ConfigError when lmdb is not installed.
    """
    lmdb = lmdb_module()
    remove_tree(folder)
    folder.mkdir(parents=True)
    lines = []
    with lmdb.open(str(folder), map_size=_ROOM, sync=True) as database:
        rest = iter(images)
        while some := list(islice(rest, _AT_ONCE)):
            # Pages of 4 KiB, each value on its own ones.
            needed = sum(path.stat().st_size + 8192 for _, path, _ in some)
            used = database.info()["last_pgno"] * 4096
            database.set_mapsize(max(database.info()["map_size"], 2 * (used + needed) + _ROOM))
            with database.begin(write=True) as transaction:
                for key, path, line in some:
                    transaction.put(key.encode("ascii"), read_regular(path))
                    lines.append(line)
    meta = folder / "meta_info.txt"
    meta.write_text("".join(f"{line} 1\n" for line in lines), "utf-8")
    return {path: sha256_file(path) for path in (folder / "data.mdb", meta)}
