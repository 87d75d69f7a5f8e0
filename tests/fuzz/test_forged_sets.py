"""Forged sets, given to every command and loader, write nowhere, end, and are named by verify."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gloam.errors import SetError
from gloam.manifests.sets.problems import find_files, verify_set
from gloam.storage.atomic import sha256_file
from gloam.synth.publishing.publish import publish
from gloam.synth.publishing.unit_by_unit import MARK, SUMS, verify_export

from ..clips import davis
from .forged_sets import CLIPS, FILES, SHARDS, STORE, edit_records, edit_table, put_in_store

_GROUPS = 2
"""Processes for each layout, as a forgery may end one."""


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small set in both layouts."""
    import gloam

    top = tmp_path_factory.mktemp("honest")
    gloam.build(
        top / "shards", "sample", select=False, pairs=5, val=2, max_side=72, workers=1
    )  # which is made again without being told where its photographs lie
    gloam.export(top / "shards", top / "files", layout="files")
    return {name: top / name for name in ("shards", "files")}


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set of clips."""
    import gloam

    top = tmp_path_factory.mktemp("clips")
    source = davis(top / "davis", 2, 4)
    gloam.build(top / "set", f"clips={source}", frames=2, val=1, select=False, workers=1)
    return top / "set"


def run(honest: Path, script: str) -> str:
    code = f"""if True:
        import random, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        import forged_sets as forged
        honest = Path({str(honest)!r})
        if __name__ == "__main__":
            {script}
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("group", range(_GROUPS))
@pytest.mark.parametrize("layout", ["shards", "files"])
def test_forged_sets_do_no_harm(honest: dict[str, Path], layout: str, group: int) -> None:
    kinds = list(SHARDS if layout == "shards" else FILES)[group::_GROUPS]
    found = run(
        honest[layout],
        f"[print(*forged.faults(honest, forged.{layout.upper()}[name], name, random.Random(1)))"
        f" for name in {kinds!r}]",
    )
    assert found.split() == []


@pytest.mark.slow
def test_forged_clips_do_no_harm(clips: Path) -> None:
    found = run(
        clips,
        "[print(*forged.faults(honest, forged.CLIPS[name], name, random.Random(1)))"
        f" for name in {list(CLIPS)!r}]",
    )
    assert found.split() == [], found


@pytest.mark.slow
def test_forged_sets_in_a_store_do_no_harm(honest: dict[str, Path], bucket: str) -> None:
    found = run(
        honest["shards"],
        "[print(*forged.faults(honest, forged.STORE[name], name, random.Random(1),"
        f" {bucket!r} + '/forged')) for name in {list(STORE)!r}]",
    )
    assert found.split() == [], found


PUBLISHED = {
    "plan.parquet: damaged: '../x' names": lambda root: edit_table(
        root / "gloam/plan.parquet", "key", "../x"
    ),
    "damaged: recursion limit": lambda root: (root / "gloam/set.json").write_bytes(b"[" * 9999),
    "is not that of set.json": lambda root: (root / "gloam/recipe.yaml").write_bytes(b"a: 1"),
    "gloam.json: cannot be read": lambda root: (root / "gloam.json").write_bytes(b"[" * 9999),
    "record: key: '../x' names a file outside": lambda root: edit_records(
        root, lambda record: record.update(key="../x")
    ),
}


@pytest.fixture(scope="module")
def published(honest: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("published") / "shards"
    publish(honest["shards"], root)
    return root


@pytest.mark.parametrize("said", PUBLISHED)
def test_verify_names_what_was_published_and_forged(
    published: Path, tmp_path: Path, said: str
) -> None:
    root = shutil.copytree(published, tmp_path / "set")
    PUBLISHED[said](root)
    lines = [
        f"{sha256_file(root / name)}  {name}\n"
        for name in sorted(find_files(root))
        if name not in (MARK, SUMS)
    ]
    (root / SUMS).write_text("".join(lines))
    damage, others = verify_export(root, lambda _: None)
    assert said in damage[0], damage
    assert others == []


def test_a_file_of_an_export_is_read_once(published: Path, tmp_path: Path) -> None:
    root = shutil.copytree(published, tmp_path / "set")
    first = (root / SUMS).read_text().splitlines()[0]
    (root / SUMS).write_text(f"{first}\n" * 3)
    damage, others = verify_export(root, lambda _: None)
    assert damage == [f"{SUMS}: line {n} names 'README.md' again" for n in (2, 3)]
    assert "croissant.json: has no checksum" in others
    assert verify_export(root, lambda _: None, strict=True) == (damage + others, [])


def test_objects_that_no_path_names_are_refused(
    honest: dict[str, Path], bucket: str, server: str
) -> None:
    boto3 = pytest.importorskip("boto3")
    root = put_in_store(honest["shards"], f"{bucket}/beside")
    store = boto3.client("s3", endpoint_url=server)
    store.put_object(Bucket="bucket", Key=f"{root.key}/../x", Body=b"")  # type: ignore[attr-defined]
    with pytest.raises(SetError, match="invalid path"):
        verify_set(root)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["shards", "files"])
def test_a_set_that_nobody_forged_does_all_of_it(honest: dict[str, Path], layout: str) -> None:
    """Else the others would pass of themselves."""
    found = run(
        honest[layout],
        "import tempfile; out = tempfile.TemporaryDirectory(); [print(refused) for _, refused"
        " in forged.attack(honest, Path(out.name)) if 'made from another set' not in refused]",
    )
    assert found.split() == []


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "seed"), [("shards", 0), ("files", 6)])
def test_random_edits_do_no_harm(honest: dict[str, Path], layout: str, seed: int) -> None:
    found = run(honest[layout], f"forged.main(str(honest), '{seed}', '6')")
    assert all(line.endswith(" ok") for line in found.splitlines()), found
    assert len(found.splitlines()) == 6
