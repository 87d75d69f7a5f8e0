"""Published sets: read by others' tools, checked, and made again of one's own photographs."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import ConfigError, SetError, SourceError
from gloam.synth.building import build
from gloam.synth.building.regenerate import regenerate
from gloam.synth.models import parse_draw, render
from gloam.synth.publishing.publish import FORMATS, publish, rebuild

from ...labelled import class_source, coco_source, voc_source
from ...trees import files_of


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sources")
    classes = class_source(folder / "classes", 6)
    for path in sorted(classes.rglob("*.jpg"))[:2]:  # normals of two kinds
        Image.open(path).save(path.with_suffix(".png"))
        path.unlink()
    return {
        "voc": voc_source(folder / "VOC", 8),
        "coco": coco_source(folder / "coco", 8),
        "classes": classes,
    }


@pytest.fixture(scope="module", params=["stored", "live"])
def mixed(request, sources, tmp_path_factory) -> gloam.PairSet:
    root = tmp_path_factory.mktemp("mixed") / "set"
    gloam.build(
        root,
        [f"{kind}={path}" for kind, path in sources.items()],
        val=6,
        shard_size=6,
        labels=True,
        select=False,
        recipe="even:0.5,night-lights:0.5",  # whose draws differ in keys
        low_codec="none" if request.param == "live" else "png",
    )
    return gloam.open_set(root)


@pytest.fixture(scope="module")
def whole(mixed, tmp_path_factory) -> dict[str, gloam.PairSet]:
    """All pairs by their keys, lows included."""
    if not mixed.live:
        return {pair.key: pair for pair in mixed.pairs()}
    root = tmp_path_factory.mktemp("whole") / "set"
    gloam.export(mixed, root, layout="shards")
    return {pair.key: pair for pair in gloam.open_set(root).pairs()}


@pytest.fixture(scope="module", params=FORMATS)
def published(request, mixed, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("published") / request.param
    run = CliRunner().invoke(
        command,
        ["publish", str(mixed.root), str(root), "--format", request.param, "--license", "cc0-1.0"],
    )
    assert run.exit_code == 0, run.output
    return root


def form(published: Path) -> str:
    return json.loads((published / "gloam.json").read_text())["published"]


def flat(value, above=""):
    """Nested values by their paths."""
    if not isinstance(value, dict):
        return {above: value}
    return {
        path: one for name in value for path, one in flat(value[name], f"{above}.{name}").items()
    }


@pytest.mark.parametrize("streaming", [False, True])
def test_hugging_face_gives_every_pair(mixed, whole, published, streaming, tmp_path):
    datasets = pytest.importorskip("datasets")
    found = datasets.load_dataset(
        str(published), streaming=streaming, cache_dir=str(tmp_path / "cache")
    )
    if form(published) == "plan":
        counts = {split: sum(1 for _ in rows) for split, rows in found.items()}
        assert counts == {"train": mixed.counts["train"], "validation": mixed.counts["val"]}
        return
    seen, keys = set(), set()
    for named in ("train", "validation"):
        for row in found[named]:
            assert all(value is not None for value in row.values())
            if form(published) == "parquet":
                key, low, normal = row["key"], row["low"], row["normal"]
                record = {"draw": json.loads(row["draw"]), "labels": json.loads(row["labels"])}
            else:
                key = row["__key__"].rpartition("/")[2]
                low, record = row["low.png"], row["json"]
                (normal,) = (row[name] for name in row if name.startswith("normal."))
                labels = whole[key].record["labels"]
                assert row["cls"] == labels["class_number"]
                assert np.allclose(row["boxes.npy"], labels["boxes"], atol=0.01)
                assert row["classes.npy"] == labels["classes"]
            assert np.array_equal(np.asarray(low.convert("RGB")), whole[key].decoded("low"))
            assert np.array_equal(np.asarray(normal.convert("RGB")), whole[key].decoded("normal"))
            own = whole[key].record
            assert record["labels"] == own["labels"]
            shown, drawn = flat(record["draw"]), flat(own["draw"])
            assert {path: shown[path] for path in drawn} == drawn
            remade = render(whole[key].decoded("normal"), parse_draw(record["draw"]))
            assert np.array_equal(remade, whole[key].decoded("low"))
            keys.add(frozenset(shown))
            seen.add(key)
    assert seen == whole.keys()
    assert len(keys) == 1


def test_parquet_holds_the_bytes(mixed, whole, published):
    if form(published) != "parquet":
        pytest.skip("of Parquet alone")
    files = sorted((published / "data").iterdir())
    rows = [row for path in files for row in pq.read_table(path).to_pylist()]
    assert len(rows) == len(whole)
    for row in rows:
        for member in ("low", "normal"):
            assert row[member]["bytes"] == whole[row["key"]].members[member].data
    about = json.loads(pq.read_schema(files[0]).metadata[b"huggingface"])
    assert about["info"]["features"]["low"] == {"_type": "Image"}


def test_shards_are_those_of_the_set_but_for_names(whole, published):
    if form(published) != "webdataset":
        pytest.skip("of shards alone")
    import tarfile

    names = set()
    for path in sorted((published / "shards").glob("*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                key, _, rest = member.name.partition(".")
                names.add(rest)
                data = archive.extractfile(member).read()
                if rest != "json":
                    assert data == whole[key].members[rest.partition(".")[0]].data
    assert names == {
        "json",
        "low.png",
        "normal.jpg",
        "cls",
        "boxes.npy",
        "classes.npy",
        "mask.png",
    }


def test_the_card_s_head_is_what_the_hub_reads(mixed, published):
    text = (published / "README.md").read_text()
    head = yaml.safe_load(text.split("---")[1])
    assert head["license"] == "cc0-1.0"
    assert head["task_categories"] == ["image-to-image"]
    card = pytest.importorskip("huggingface_hub").DatasetCard(text)
    assert card.data.license == "cc0-1.0"
    if form(published) == "webdataset":
        assert "2 png among them are such files under that name" in text
    if form(published) != "plan":
        counts = {one["name"]: one["num_examples"] for one in head["dataset_info"]["splits"]}
        assert counts == {"train": mixed.counts["train"], "validation": mixed.counts["val"]}
        with Image.open(published / "pairs.png") as picture:
            assert picture.width > 500
    assert "| noise G, of 255 |" in text
    for kind in ("PASCAL VOC", "COCO", "knows no terms"):
        assert kind in text


@pytest.mark.filterwarnings("ignore")  # of the reader and its libraries
def test_croissant_is_valid_and_yields_all_records_twice(mixed, published, tmp_path, monkeypatch):
    monkeypatch.setenv("CROISSANT_CACHE", str(tmp_path))
    mlcroissant = pytest.importorskip("mlcroissant")
    described = json.loads((published / "croissant.json").read_text())
    for file in described["distribution"]:
        if file["@type"] == "cr:FileObject":
            data = (published / file["contentUrl"]).read_bytes()
            assert file["contentSize"] == f"{len(data)} B"
    found = mlcroissant.Dataset(jsonld=str(published / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    assert described.keys().isdisjoint({"url", "datePublished", "version"})  # nobody said them
    assert "example.org" not in (published / "croissant.json").read_text()
    sets = [one.id for one in found.metadata.record_sets]
    assert ("images-records" in sets) == (form(published) == "parquet")
    for name in sets:
        for _ in range(2):
            assert sum(1 for _ in found.records(name)) == len(mixed)


@pytest.mark.filterwarnings("ignore")
def test_address_and_date_are_those_that_are_given(mixed, tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant")
    root, url = tmp_path / "published", "https://somewhere.org/pairs"
    arguments = ["publish", str(mixed.root), str(root), "--format", "plan", "--url", url]
    run = CliRunner().invoke(command, [*arguments, "--date", "2026-11-29"])
    assert (run.exit_code, "asks for" in run.output) == (0, False), run.output
    found = mlcroissant.Dataset(jsonld=str(root / "croissant.json")).metadata
    assert not found.ctx.issues.errors
    assert (found.url, found.date_published.date().isoformat()) == (url, "2026-11-29")
    run = CliRunner().invoke(command, [*arguments[:2], str(tmp_path / "b"), *arguments[3:]])
    assert "croissant.json does not say it all: Croissant asks for --date" in run.output


def test_checksums_are_those_of_the_files(published, tmp_path):
    done = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=published, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    listed = {line.split("  ")[1] for line in (published / "SHA256SUMS").read_text().splitlines()}
    there = {str(p.relative_to(published)) for p in published.rglob("*") if p.is_file()}
    assert there - listed == {"SHA256SUMS", "gloam.json"}
    assert CliRunner().invoke(command, ["verify", str(published)]).exit_code == 0
    copy = shutil.copytree(published, tmp_path / "copy")
    (copy / "README.md").write_text("edited")
    assert CliRunner().invoke(command, ["verify", str(copy)]).exit_code == 1


def test_it_is_made_again_of_other_copies_of_the_photographs(mixed, published, sources, tmp_path):
    given = [
        f"{kind}={shutil.copytree(path, tmp_path / 'copies' / kind)}"
        for kind, path in sources.items()
    ]
    arguments = [part for one in given for part in ("--source", one)]
    run = CliRunner().invoke(
        command, ["rebuild", str(published), str(tmp_path / "set"), *arguments, "--workers", "2"]
    )
    assert run.exit_code == 0, run.output
    assert files_of(tmp_path / "set") == files_of(mixed.root)


def test_what_keeps_a_set_from_being_made_again_is_said(mixed, published, sources, tmp_path):
    given = [f"{kind}={path}" for kind, path in sources.items()]
    with pytest.raises(ConfigError, match="--source is missing for coco"):
        rebuild(published, tmp_path / "a", [given[0], given[2]])
    with pytest.raises(ConfigError, match="is not a source of the set; it has voc"):
        rebuild(published, tmp_path / "a", [*given, "folder=x"])
    other = shutil.copytree(sources["classes"], tmp_path / "other")
    path = next(other.rglob("*.png"))
    path.unlink()
    with pytest.raises(SourceError, match="is gone since the set was planned"):
        rebuild(published, tmp_path / "b", [*given[:2], f"classes={other}"])
    again = regenerate(mixed, tmp_path / "again", overrides=["camera.iso=800"])
    assert again.build.origin is not None
    with pytest.raises(SetError, match="was made from another set"):
        rebuild(tmp_path / "again", tmp_path / "c", given)


@pytest.mark.slow
def test_another_photograph_of_the_same_size_is_found(photographs, tmp_path):
    source = shutil.copytree(photographs, tmp_path / "photographs")
    gloam.build(tmp_path / "set", f"folder={source}", select=False, low_codec="none")
    publish(tmp_path / "set", tmp_path / "published", "plan")
    path = sorted(source.glob("*.jpg"))[0]
    data = bytearray(path.read_bytes())
    with Image.open(io.BytesIO(data)) as image:
        pixels = np.asarray(image)
    data[-20] ^= 1  # a bit of the last block
    path.write_bytes(data)
    assert not np.array_equal(np.asarray(Image.open(path)), pixels)
    with pytest.raises(SetError, match="is not what was published"):
        rebuild(tmp_path / "published", tmp_path / "again", [f"folder={source}"])


def test_what_cannot_be_published_is_said(mixed, tmp_path):
    with pytest.raises(ConfigError, match="must be one of webdataset, parquet, plan"):
        publish(mixed, tmp_path / "a", "tfrecord")
    with pytest.raises(ConfigError, match=r"--date yesterday: .* write YYYY-MM-DD"):
        publish(mixed, tmp_path / "a", date="yesterday")
    for url in ("here", "https://me:secret@host/x", "https://host/\n- x"):
        with pytest.raises(ConfigError, match=r"--url .+: write a whole address") as told:
            publish(mixed, tmp_path / "a", url=url)
        assert "secret" not in str(told.value)
    large = tmp_path / "large.bib"
    large.touch()
    os.truncate(large, 1 << 40)
    for path, said in ((large, "more than the 1,048,576"), ("/dev/zero", "is not a regular file")):
        arguments = ["publish", str(mixed.root), str(tmp_path / "a"), "--citation", str(path)]
        assert said in CliRunner().invoke(command, arguments).stderr
    with pytest.raises(ConfigError, match=r"--citation: 'M.* is no text in UTF-8"):
        publish(mixed.root, tmp_path / "a", citation=b"M\xfcller".decode(errors="surrogateescape"))
    with pytest.raises(ConfigError, match="then upload it"):
        publish(mixed, "s3://bucket/set")


def test_a_citation_ends_its_lines_as_the_card_does(tmp_path, monkeypatch):
    path, given = tmp_path / "windows.bib", {}
    path.write_bytes(b"@misc{a,\r\n}\r\n")
    monkeypatch.setattr("gloam.cli.publish.publish_set", lambda *paths, **own: given.update(own))
    CliRunner().invoke(command, ["publish", "set", str(tmp_path / "a"), "--citation", str(path)])
    assert given["citation"] == "@misc{a,\n}"


def test_a_set_without_pairs_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"no image")
    empty = tmp_path / "empty"
    monkeypatch.setattr(build, "read_receipts", lambda *_: {})  # as builds of earlier states did
    gloam.build(empty, f"folder={tmp_path / 'photos'}", select=False, val=0)
    with pytest.raises(SetError, match="holds no pairs to publish"):
        gloam.publish(empty, tmp_path / "given")
    with pytest.raises(SetError, match="holds no pairs to measure"):
        gloam.stats(empty)
    checks = gloam.report(empty, out=tmp_path / "page.html")
    assert all(check.passed for check in checks)


def test_a_folder_may_have_a_name_that_is_no_text(mixed, tmp_path):
    root = tmp_path / os.fsdecode(b"M\xfcller")
    publish(mixed, root, "plan")
    assert (root / "README.md").is_file()


def test_a_damaged_draw_is_one_line(mixed, tmp_path):
    root = shutil.copytree(mixed.root, tmp_path / "set")
    shard = next((root / "shards").glob("train-*.tar"))
    shard.write_bytes(re.sub(rb'("ev":)\d\.', rb"\g<1>99", shard.read_bytes()))
    with pytest.raises(SetError, match=r"train-\d+: \S+: the stored draw is damaged: exposure\.ev"):
        publish(root, tmp_path / "published")
