"""`gloam verify`: damage is found and named, wherever it is."""

from __future__ import annotations

import random
import shutil
import tarfile
from pathlib import Path

import pytest

from .running import run


def test_verify_is_content_with_a_set_as_it_was_built(finished):
    for options in ([], ["--quick"], ["--deep", "--workers", "1"]):
        result = run("verify", finished, *options)
        assert result.exit_code == 0
        assert "24 pairs" in result.output


def files_of(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_verify_finds_and_names_a_single_flipped_bit_anywhere(finished, tmp_path):
    root = tmp_path / "set"
    shutil.copytree(finished, root)
    bits = random.Random(5)
    for path in files_of(root):
        if path.name == "README.md":
            continue  # anybody's to edit
        whole = path.read_bytes()
        for _ in range(4):
            damaged = bytearray(whole)
            damaged[bits.randrange(len(whole))] ^= 1 << bits.randrange(8)
            path.write_bytes(damaged)
            result = run("verify", root)
            assert result.exit_code == 1, path
            assert path.relative_to(root).as_posix() in result.output
        path.write_bytes(whole)
    assert run("verify", root).exit_code == 0


def test_verify_names_the_damaged_member_of_a_shard(finished, tmp_path):
    root = tmp_path / "set"
    shutil.copytree(finished, root)
    shard = next((root / "shards").glob("train-*.tar"))
    with tarfile.open(shard) as archive:
        member = next(m for m in archive if m.name.endswith("low.png"))
    data = bytearray(shard.read_bytes())
    data[member.offset_data + member.size // 2] ^= 1
    shard.write_bytes(data)
    assert member.name in run("verify", root).output


@pytest.mark.parametrize(
    "pattern",
    ["shards/train-*.tar", "shards/*.idx", "pairs.parquet", "receipts/*.json", "lists/*.txt"],
)
def test_verify_names_what_is_missing_or_cut_short(finished, tmp_path, pattern):
    root = tmp_path / "set"
    shutil.copytree(finished, root)
    path = next(iter(sorted(root.glob(pattern))))
    name = path.relative_to(root).as_posix()
    whole = path.read_bytes()
    for options in ([], ["--quick"]):
        path.write_bytes(whole[: len(whole) // 2])
        result = run("verify", root, *options)
        assert result.exit_code == 1
        assert name in result.output
        path.unlink()
        result = run("verify", root, *options)
        assert result.exit_code == 1
        assert name in result.output


def test_verify_deep_finds_a_low_that_is_not_its_normals(finished, tmp_path):
    """A set whose checksums are all right, but whose lows were made otherwise."""
    from gloam.manifests.sets.pair_set import PairSet
    from gloam.synth.building import deep_verify as recheck

    pairs = PairSet(finished)
    info = pairs.info
    output = info.build.request.output.model_copy(update={"low_codec": "jpg"})
    request = info.build.request.model_copy(update={"output": output})
    pairs.info = info.model_copy(
        update={"build": info.build.model_copy(update={"request": request})}
    )
    problems = recheck.recheck_set(pairs)
    assert len(problems) == 24
    assert "samples of the low are not what its normal and draw make" in problems[0].what


def test_files_of_other_tools_are_a_remark_and_damage_only_if_asked(finished, tmp_path):
    root = shutil.copytree(finished, tmp_path / "set")
    shard = next((root / "shards").glob("train-*.tar"))
    for name in (
        "shards/train-000099.tar",
        f"shards/{shard.name}.idx",
        "shards/index.json.zstd",
        "README.md",
        "metadata.jsonl",
    ):
        shutil.copy(shard, root / name)
    result = run("verify", root, "--deep", "--workers", 1)
    assert result.exit_code == 0
    assert f"remark: {root}/shards/train-000099.tar: does not belong to the set\n" in result.output
    assert result.output.count("remark: ") == 4
    assert "every low is what its normal and draw make" in result.output
    strict = run("verify", root, "--strict")
    assert strict.exit_code == 1
    assert (
        "train-000099.tar: does not belong to the set; move it elsewhere or delete it"
        in strict.output
    )
    assert "4 problems" in strict.output
