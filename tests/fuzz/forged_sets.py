"""Sets that somebody edited and sealed again, given to every command and loader.

Each forgery edits names or numbers of a set; `reseal` makes its checksums right again. `attack`
then does with it whatever gloam does with sets, and tells what went wrong: files outside the
output, exceptions that are none of gloam's, a set that verify calls sound.

    python tests/fuzz/forged_sets.py SET [SEED [COUNT]]     random edits of a set, on and on
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import random
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from gloam.storage.atomic import canonical_json, sha256_bytes

Forge = Callable[[Path, random.Random], None]
BEYOND = "../../../../pwned"
PATHS = (
    BEYOND, "/tmp/pwned", "./../../pwned", "a/../../../pwned", "..\\..\\pwned", "C:\\pwned", "x\0y",
    "\udcff", "", ".", "..", "a" * 300, "-", ".hidden", "a b", "a\nb", "~/pwned", "$HOME/pwned",
)  # fmt: skip
NUMBERS = (-1, 0, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 10**15, 10**30, 1.5, 1e300, True)
OTHERS = (None, [], {}, "x", [[]], {"a": {}}, "9" * 5000)
_HANG = 240  # seconds for one command, of some that a busy machine takes


# Sealing


def reseal(root: Path) -> None:
    """Make the checksums of receipts and of set.json those of what lies there."""
    for path in sorted((root / "receipts").glob("**/*.json")):
        if path.is_file():
            seal(path, lambda receipt: _measure(root, receipt.get("files")))
    seal(root / "set.json", lambda info: _measure(root, info.get("files")))


def seal(path: Path, change: Callable[[Any], None]) -> None:
    """Change a file that has its own checksum, and make that right."""
    try:
        value = json.loads(path.read_bytes()) if path.is_file() else None
    except (ValueError, RecursionError):
        return
    if not isinstance(value, dict):
        return
    change(value)
    if path.name == "set.json" and isinstance(value.get("build"), dict):
        value["fingerprint"] = sha256_bytes(canonical_json(value["build"]))
    value["sha256"] = ""
    value["sha256"] = sha256_bytes(canonical_json(value))
    path.write_bytes(canonical_json(value))


def _measure(root: Path, files: Any) -> None:
    """Take over size and checksum of the files that are there."""
    named = files.items() if isinstance(files, dict) else []
    listed = [(one.get("path"), one) for one in files or [] if isinstance(one, dict)]
    for name, facts in [*named, *(listed if isinstance(files, list) else [])]:
        try:
            data = (root / name).read_bytes() if (root / name).is_file() else None
        except (OSError, ValueError, TypeError):
            data = None
        if data is not None and isinstance(facts, dict):
            facts |= {"sha256": sha256_bytes(data), "bytes": len(data)}


# Editing


def edit_json(path: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(path.read_bytes())
    change(value)
    path.write_bytes(canonical_json(value))


def edit_shard(
    root: Path,
    change: Callable[[list[tuple[str, bytes]]], list[tuple[str, bytes]]],
    number: int = 0,
    kind: bytes = tarfile.REGTYPE,
) -> None:
    """Change names and bytes of a shard's members; its index follows."""
    path = sorted((root / "shards").glob("*.tar"))[number]
    with tarfile.open(path) as archive:
        members = [(one.name, archive.extractfile(one).read()) for one in archive]  # type: ignore[union-attr]
    made, lines = io.BytesIO(), []
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in change(members):
            header = tarfile.TarInfo(name)
            header.size, header.mode, header.type = len(data), 0o644, kind
            archive.addfile(header, io.BytesIO(data))
            at = made.tell() - -(-len(data) // 512) * 512
            lines.append(f"{name.partition('.')[2]} {at} {len(data)} {name}")
    path.write_bytes(made.getvalue())
    width = max(1, len(lines) // max(1, sum(name.endswith(".json") for name, _ in members)))
    samples = [" ".join(lines[i : i + width]) for i in range(0, len(lines), width)]
    path.with_suffix(".idx").write_text(
        f"v1.2 {len(samples)}\n" + "".join(f"{s}\n" for s in samples)
    )


def edit_records(root: Path, change: Callable[[dict[str, Any]], None], every: bool = False) -> None:
    """Change the first record of a set, or all."""

    def changed(data: bytes) -> bytes:
        record = json.loads(data)
        change(record)
        return json.dumps(record, sort_keys=True, separators=(",", ":")).encode() + b"\n"

    if (root / "shards").is_dir():
        edit_shard(
            root,
            lambda members: [
                (name, changed(data) if name.endswith(".json") and (every or i == 0) else data)
                for i, (name, data) in enumerate(members)
            ],
        )
        return
    for path in sorted(root.glob("*/draw/*.json"))[: None if every else 1]:
        path.write_bytes(changed(path.read_bytes()))


def edit_table(path: Path, column: str, value: Any) -> None:
    """Change the first value of a column."""
    table = pq.read_table(path)
    values = table[column].to_pylist()
    values[0] = value
    at = table.column_names.index(column)
    pq.write_table(table.set_column(at, column, pa.array(values)), path)
    root = path.parent
    if path.name == "plan.parquet":
        digest = sha256_bytes(path.read_bytes())
        seal(root / "set.json", lambda info: info["build"].update(plan_sha256=digest))
        fingerprint = json.loads((root / "set.json").read_bytes())["fingerprint"]
        for receipt in (root / "receipts").glob("*.json"):
            seal(receipt, lambda one: one.update(fingerprint=fingerprint))


def _first(root: Path, pattern: str) -> Path:
    return sorted(root.glob(pattern))[0]


def _renamed_unit(root: Path, name: str) -> None:
    receipt = _first(root, "receipts/*.json")
    old = receipt.stem

    def rename(info: dict[str, Any]) -> None:
        info["units"] = {name if u == old else u: n for u, n in info["units"].items()}
        info["files"] = {
            f"receipts/{name}.json" if f == f"receipts/{old}.json" else f: facts
            for f, facts in info["files"].items()
        }

    def own(value: dict[str, Any]) -> None:
        value["unit"] = name
        for file in value["files"]:
            file["path"] = file["path"].replace(f"shards/{old}", f"shards/{name}")

    seal(receipt, own)
    for source in [receipt, *root.glob(f"shards/{old}.*")]:
        target = source.parent / f"{name}{source.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, target)
    edit_json(root / "set.json", rename)


def _index(root: Path, change: Callable[[list[str]], None]) -> None:
    path = _first(root, "shards/*.idx")
    first, line, *rest = path.read_text().splitlines()
    words = line.split(" ")
    change(words)
    path.write_text("\n".join([first, " ".join(words), *rest]) + "\n")


def _listed(root: Path, line: str) -> None:
    path = _first(root, "lists/train-*.txt")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([line + " 0", *lines[1:]]) + "\n")


def _linked(root: Path, name: str) -> None:
    """Put a file of a set, or a folder, outside it, and a link in its place."""
    path = _first(root, name)
    beside = root.parent / "elsewhere"
    beside.mkdir(exist_ok=True)
    shutil.move(path, beside / path.name)
    path.symlink_to(beside / path.name)


def _piped(root: Path, name: str) -> None:
    path = _first(root, name)
    path.unlink()
    os.mkfifo(path)


def _device(root: Path, name: str) -> None:
    path = _first(root, name)
    path.unlink()
    path.symlink_to("/dev/zero")


def _key(root: Path, key: str) -> None:
    edit_records(root, lambda record: record.update(key=key))


def _member(record: dict[str, Any], suffix: str) -> None:
    next(iter(record["members"].values()))["suffix"] = suffix


def _inner(members: list[tuple[str, bytes]], name: str) -> list[tuple[str, bytes]]:
    """Rename the second member of the first sample, in its record, too."""
    key = members[0][0].partition(".")[0]
    record = json.loads(members[0][1])
    old = members[1][0].partition(".")[2].rpartition(".")[0]
    new = name.rpartition(".")[0]
    record["members"] = {new if n == old else n: m for n, m in record["members"].items()}
    return [(members[0][0], canonical_json(record)), (f"{key}.{name}", members[1][1]), *members[2:]]


BOTH: dict[str, Forge] = {
    "key of a record": lambda root, _: _key(root, BEYOND),
    "key of a record, another's": lambda root, _: _key(root, "some-other"),
    "keys of all records": lambda root, _: edit_records(
        root, lambda one: one.update(key=f"../{one['key']}"), every=True
    ),
    "suffix of a member": lambda root, _: edit_records(root, lambda r: _member(r, "../../pwned")),
    "width of a record": lambda root, _: edit_records(root, lambda r: r.update(width=2**40)),
    "deep record": lambda root, _: edit_records(root, lambda r: r.update(draw=_deep(900))),
    "key of the plan": lambda root, _: edit_table(root / "plan.parquet", "key", BEYOND),
    "split of the plan": lambda root, _: edit_table(root / "plan.parquet", "split", "../x"),
    "shard of the plan": lambda root, _: edit_table(root / "plan.parquet", "shard", -5),
    "key of the pairs": lambda root, _: edit_table(root / "pairs.parquet", "key", BEYOND),
    "unit's name": lambda root, _: _renamed_unit(root, "../../x-000000"),
    "unit's number": lambda root, _: _renamed_unit(root, "train-0"),
    "path in a receipt": lambda root, _: seal(
        _first(root, "receipts/*.json"), lambda r: r["files"][0].update(path="../secret")
    ),
    "other file in a receipt": lambda root, _: seal(
        _first(root, "receipts/*.json"), lambda r: r["files"][0].update(path="set.json")
    ),
    "file of set.json": lambda root, _: edit_json(
        root / "set.json",
        lambda info: info["files"].update(
            {"../secret": {"bytes": 6, "sha256": sha256_bytes(b"secret")}}
        ),
    ),
    "absolute file of set.json": lambda root, _: edit_json(
        root / "set.json",
        lambda info: info["files"].update({"/etc/hostname": {"bytes": 1, "sha256": "00"}}),
    ),
    "counts": lambda root, _: edit_json(root / "set.json", _many),
    "negative count": lambda root, _: edit_json(
        root / "set.json", lambda info: info["units"].update(dict.fromkeys(info["units"], -4))
    ),
    "pairs of a receipt": lambda root, _: seal(
        _first(root, "receipts/*.json"), lambda r: r.update(pairs=10**15)
    ),
    "deep set.json": lambda root, _: _write(root / "set.json", b"[" * 200_000),
    "deep receipt": lambda root, _: _write(_first(root, "receipts/*.json"), b"[" * 200_000),
    "layout": lambda root, _: edit_json(root / "set.json", lambda info: info.update(layout="../x")),
    "receipt is a pipe": lambda root, _: _piped(root, "receipts/*.json"),
    "list is a device": lambda root, _: _device(root, "lists/*.txt"),
    "README is a pipe": lambda root, _: _piped(root, "README.md"),
    "recipe is a pipe": lambda root, _: _piped(root, "recipe.yaml"),
    "set.json is a device": lambda root, _: _device(root, "set.json"),
    "table is a pipe": lambda root, _: _piped(root, "pairs.parquet"),
    "receipts behind a link": lambda root, _: _linked(root, "receipts"),
}
SHARDS: dict[str, Forge] = BOTH | {
    "tar member": lambda root, _: edit_shard(
        root, lambda m: [m[0], (f"{m[0][0].partition('.')[0]}./../../../../pwned", b"x"), *m[2:]]
    ),
    "tar member, known": lambda root, _: edit_shard(
        root, lambda m: _inner(m, "/../../../../pwned.png")
    ),
    "tar member, absolute": lambda root, _: edit_shard(
        root, lambda m: [("/tmp/pwned", b"x"), *m[1:]]
    ),
    "tar member, folder": lambda root, _: edit_shard(root, lambda m: _inner(m, "low/../../x.png")),
    "tar member, odd": lambda root, _: edit_shard(root, lambda m: _inner(m, "../low.png")),
    "tar of links": lambda root, _: edit_shard(root, lambda m: m, kind=tarfile.SYMTYPE),
    "tar of pipes": lambda root, _: edit_shard(root, lambda m: m, kind=tarfile.FIFOTYPE),
    "size in the index": lambda root, _: _index(root, lambda w: w.__setitem__(6, str(2**32 - 1))),
    "offset 0 in the index": lambda root, _: _index(
        root, lambda w: (w.__setitem__(5, "0"), w.__setitem__(6, str(2**31)))[0]
    ),
    "offset behind the tar": lambda root, _: _index(root, lambda w: w.__setitem__(5, str(1 << 40))),
    "name in the index": lambda root, _: _index(root, lambda w: w.__setitem__(3, "../../x.json")),
    "count of the index": lambda root, _: _write(
        _first(root, "shards/*.idx"), b"v1.2 " + b"9" * 15
    ),
    "shard is a pipe": lambda root, _: _piped(root, "shards/*.tar"),
    "index is a device": lambda root, _: _device(root, "shards/*.idx"),
    "shard behind a link": lambda root, _: _linked(root, "shards/*.tar"),
    "shards behind a link": lambda root, _: _linked(root, "shards"),
    "line of a list": lambda root, _: _write(_first(root, "lists/*.txt"), b"../../secret\n"),
}
FILES: dict[str, Forge] = BOTH | {
    "line of a list": lambda root, _: _listed(root, "../secret.png"),
    "absolute line of a list": lambda root, _: _listed(root, "/etc/hostname"),
    "low behind a link": lambda root, _: _linked(root, "train/low/*"),
    "lows behind a link": lambda root, _: _linked(root, "train/low"),
    "split behind a link": lambda root, _: _linked(root, "train"),
    "low is a pipe": lambda root, _: _piped(root, "train/low/*"),
    "record is a device": lambda root, _: _device(root, "train/draw/*"),
}


def _without_frame(root: Path) -> None:
    """Leave the last frame out of a clip: of the tar, or of what its record knows."""
    edit_shard(root, lambda members: [one for one in members if ".001." not in one[0]])


def _without_normals(root: Path) -> None:
    edit_shard(root, lambda members: [one for one in members if ".normal." not in one[0]])


def _of_other_size(root: Path) -> None:
    """Put a frame of another size into each clip."""
    made = io.BytesIO()
    Image.new("RGB", (9, 8)).save(made, "png")
    edit_shard(root, lambda m: [(n, made.getvalue() if ".low.001" in n else d) for n, d in m])


def _more_frames(record: dict[str, Any]) -> None:
    record["members"] |= {f"low.{n:03d}": record["members"]["low.000"] for n in range(2, 99)}


def _kinds(*names: str) -> dict[str, Forge]:
    return {name: SHARDS[name] for name in names}


CLIPS: dict[str, Forge] = _kinds(
    "key of a record", "suffix of a member", "tar member, known", "size in the index", "counts"
) | {
    "frame that is missing": lambda root, _: _without_frame(root),
    "normals that are missing": lambda root, _: _without_normals(root),
    "frame of another size": lambda root, _: _of_other_size(root),
    "frames of a record": lambda root, _: edit_records(root, _more_frames),
    "frames of set.json": lambda root, _: edit_json(
        root / "set.json", lambda info: info["build"]["request"]["sources"][0].update(frames=900)
    ),
}
STORE = _kinds("key of a record", "path in a receipt", "size in the index", "tar member")
_OF_STORES = ("verify", "stage", "PairLoader", "TorchLoader")


def _many(info: dict[str, Any]) -> None:
    info["units"] = dict.fromkeys(info["units"], 10**15)
    info["counts"]["train"] = 10**15


def _deep(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


# Random edits


def any_edit(root: Path, chance: random.Random) -> str:
    """Change one name or number somewhere in a set; returns which."""
    where = chance.choice(["set.json", "receipt", "record", "index", "list", "plan", "member"])
    value = chance.choice([*PATHS, *NUMBERS, *OTHERS])
    if where == "set.json":
        edit_json(root / "set.json", lambda info: _poke(info, chance, value))
    elif where == "receipt":
        path = chance.choice(sorted((root / "receipts").glob("*.json")))
        edit_json(path, lambda receipt: _poke(receipt, chance, value))
    elif where == "record":
        edit_records(root, lambda record: _poke(record, chance, value), chance.random() < 0.3)
    elif where == "index" and (root / "shards").is_dir():
        at = chance.randrange(4, 12)
        _index(
            root,
            lambda words: words.__setitem__(
                at, str(value)[:40].replace(" ", "").strip("\n\0\udcff")
            ),
        )
    elif where == "list":
        _listed(root, str(value)[:300].encode("ascii", "replace").decode().replace("\n", ""))
    elif where == "member" and (root / "shards").is_dir():
        name = chance.choice(
            [path for path in PATHS if path and "\0" not in path and "\udcff" not in path]
        )
        edit_shard(root, lambda members: _inner(members, name))
    else:
        where = "plan"
        column = chance.choice(["key", "split"])
        edit_table(
            root / "plan.parquet", column, str(value)[:100].encode("ascii", "replace").decode()
        )
    return f"{where}: {value!r:.60}"


def _poke(value: Any, chance: random.Random, new: Any) -> None:
    """Put a value, or a key, somewhere into nested dicts and lists."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = chance.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
            value = inner
            continue
        if isinstance(value, dict) and isinstance(new, str) and chance.random() < 0.3:
            value[new] = value.pop(key)
        else:
            value[key] = new
        return


# Attacks


def attack(root: Path, out: Path, workers: int | None = None) -> Iterator[tuple[str, str]]:
    """Do with a set whatever gloam does; yields what was done, and "" or how it was refused.

    Raise what is none of gloam's errors. workers: processes; one for each core by default.
    """
    import gloam
    from gloam.errors import GloamError
    from gloam.loaders import ClipLoader, ImageLoader, TorchLoader
    from gloam.manifests.sets.problems import verify_set
    from gloam.manifests.sets.stage import stage
    from gloam.storage.stores import in_store
    from gloam.synth.building.deep_verify import recheck_set
    from gloam.synth.building.regenerate import regenerate
    from gloam.synth.measures.set_statistics import measure_set
    from gloam.synth.publishing.publish import publish, rebuild

    def verify() -> None:
        problems = [one for one in verify_set(root) if not one.remark]
        if problems:
            raise gloam.errors.SetError(str(problems[0]))

    def deep() -> None:
        problems = recheck_set(gloam.open_set(root))
        if problems:
            raise gloam.errors.SetError(str(problems[0]))

    regenerate = partial(regenerate, workers=workers)
    export, publish = partial(gloam.export, workers=workers), partial(publish, workers=workers)
    rebuild = partial(rebuild, workers=workers)

    def load(loader: Any) -> None:
        try:
            for _ in loader:
                pass
        finally:
            if hasattr(loader, "close"):
                loader.close()

    small: dict[str, Any] = {"batch_size": 2, "size": 32, "seed": 1}
    clips = _frames(root)
    steps: dict[str, Callable[[], object]] = {
        "verify": verify,
        "stage": lambda: stage(root, out / "staged"),
        "regenerate": lambda: regenerate(root, out / "again", seed=9),
        "lows": lambda: regenerate(root, out / "lows", seed=9, lows_only=True),
        "export files": lambda: export(root, out / "files", layout="files"),
        "export shards": lambda: export(root, out / "shards", layout="shards"),
        "deep verify": deep,
        "stats": lambda: measure_set(gloam.open_set(root), 4),
    }
    if clips:
        steps |= {
            "videos": lambda: export(root, out / "videos", video="mp4"),
            "ClipLoader": lambda: load(ClipLoader(root, workers=0, **small)),
        }
    else:
        steps |= {
            "export lol": lambda: export(root, out / "lol", for_="lol"),
            "export basicsr": lambda: export(root, out / "basicsr", for_="basicsr"),
            "publish": lambda: publish(root, out / "published"),
            "publish parquet": lambda: publish(root, out / "parquet", "parquet"),
            "publish plan": lambda: publish(root, out / "plan", "plan"),
            "rebuild": lambda: rebuild(root, out / "rebuilt", []),
            "PairLoader": lambda: load(gloam.PairLoader(root, workers=1, device="cpu", **small)),
            "live": lambda: load(
                gloam.PairLoader(root, live=True, draws="set", device="cpu", **small)
            ),
            "resident": lambda: load(gloam.PairLoader(root, resident=True, device="cpu", **small)),
            "TorchLoader": lambda: load(TorchLoader(root, workers=0, **small)),
            "ImageLoader": lambda: load(ImageLoader(root, batch_size=2, size=32, device="cpu")),
        }
    if in_store(root):
        steps = {name: steps[name] for name in _OF_STORES}
    for name, step in steps.items():
        faulthandler.dump_traceback_later(_HANG, exit=True)
        try:
            step()
            yield name, ""
        except GloamError as error:
            if "\n" in str(error):
                raise AssertionError("more than one line") from error
            yield name, f"{type(error).__name__}: {error}"
        finally:
            faulthandler.cancel_dump_traceback_later()


def _frames(root: Path) -> bool:
    if not (root / "set.json").is_file():
        return False
    try:
        return bool(
            json.loads((root / "set.json").read_bytes())["build"]["request"]["sources"][0]["frames"]
        )
    except (OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
        return False


def put_in_store(root: Path, address: str) -> Path:
    """Put a set's files into a store."""
    from gloam.storage.stores import as_path

    for path in root.rglob("*"):
        if path.is_file():
            (as_path(address) / path.relative_to(root).as_posix()).put(path.read_bytes())
    return as_path(address)


def faults(
    honest: Path,
    forge: Forge,
    name: str,
    chance: random.Random,
    store: str = "",
    workers: int | None = 1,
) -> list[str]:
    """Forge a copy of a set, in a store if one is given; attack gloam; list what went wrong.

    In one process, which takes half of the time; random edits are given to several.
    """
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder, "a/b/c/d")
        root, out = top / "set", top / "out"
        shutil.copytree(honest, root, symlinks=True)
        out.mkdir()
        (top / "secret").write_bytes(b"secret")
        if (root / "set.json").is_file() and root.joinpath("README.md").exists():
            forge(root, chance)
            reseal(root)
        before = _tree(Path(folder), out)
        found = []
        verified = ""
        try:
            address = f"{store}/{name.replace(' ', '-')}"
            attacked = put_in_store(root, address) if store else root
            for step, refusal in attack(attacked, out, workers):
                verified = refusal if step == "verify" else verified
        except BaseException as error:
            import traceback

            where = "".join(traceback.format_tb(error.__traceback__)[-3:])
            found.append(f"{name}: {type(error).__name__}: {error}\n{where}")
        found += [
            f"{name}: outside the output: {path}"
            for path in sorted(_tree(Path(folder), out) - before)
        ]
        found += [f"{name}: made {path}" for path in ("/tmp/pwned",) if Path(path).exists()]
        escaped = [path for path in out.rglob("*") if path.name in ("secret", "hostname", "pwned")]
        found += [f"{name}: took along {path.name}" for path in escaped]
        return found if verified or name in UNSEEN else [*found, f"{name}: verify finds nothing"]


UNSEEN = ("README is a pipe",)
"""What verify need not refuse."""


def _tree(folder: Path, but: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if but not in path.parents and path != but and ".gloam" not in path.parts
    }


def main(honest: str, seed: str = "0", count: str = "1000000") -> None:
    for number in range(int(seed), int(seed) + int(count)):
        chance = random.Random(number)
        said: list[str] = []

        def edit(root: Path, chance: random.Random, said: list[str] = said) -> None:
            said.append(any_edit(root, chance))

        found = faults(Path(honest), edit, str(number), chance, workers=None)
        found = [one for one in found if "verify finds nothing" not in one]
        print(number, said[0] if said else "", *found or ["ok"], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
