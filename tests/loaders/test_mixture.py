"""Mixtures: exact, each sample once before any twice, the same on any number of ranks."""

from __future__ import annotations

import itertools
import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import gloam
from gloam.errors import LoaderError
from gloam.loaders import PairLoader, TorchLoader, mix, pairs_in
from gloam.loaders.backend import converted
from gloam.manifests.images.normals import encode
from gloam.manifests.sets.stage import stage

from .numbered import TRAIN, VAL, numbered

PLAIN = {"device": "cpu", "workers": 0, "size": (40, 56), "batch_size": 4, "seed": 3}


def pair(i):
    return encode(numbered(i, 50 + i, 60) // 2, "png"), encode(numbered(i, 50 + i, 60), "png")


PAIRS = [pair(i) for i in range(7)]


@pytest.fixture(scope="module")
def real_sets(tmp_path_factory):
    """LOL v1 and SICE as their authors' archives unpack: PNGs; and JPEGs, many lows to a normal."""
    root = tmp_path_factory.mktemp("real")
    pictures = {
        f"our485/{side}/{i}.png": (i, 44, 64) for side in ("low", "high") for i in (2, 5, 9)
    }
    for scene in (1, 12):
        pictures[f"Dataset_Part1/Label/{scene}.JPG"] = scene, 64, 48
        pictures |= {f"Dataset_Part1/{scene}/{shot}.JPG": (shot, 64, 48) for shot in (1, 2, 7)}
    for name, values in pictures.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(encode(numbered(*values), name[-3:].lower()))
    return gloam.real("lol-v1", root, "train"), gloam.real("sice", root, "train")


# Numbered pictures are as bright as their numbers say.
pytestmark = pytest.mark.filterwarnings("ignore:component unpaired")


@pytest.fixture
def mixture(shards, files, photos, real_sets, bucket):
    """Sources of every kind, of several sizes and codecs."""
    stage(shards, f"{bucket}/set")
    lol, sice = real_sets
    return mix(
        {
            "live": {"data": shards, "weight": 3, "live": True},
            "stored": (shards, 2),
            "files": (files, 2),
            "list": (PAIRS, 1),
            "lol": (lol, 1),
            "sice": (sice, 1),
            "store": (f"{bucket}/set", 1.5),
            "unpaired": {
                "data": {"dark": photos, "bright": [normal for _, normal in PAIRS]},
                "weight": 1,
                "unpaired": True,
            },
        },
        epoch=150,
    )


def samples(loaders, epochs=1):
    """Return what ranks give, in the order of steps: component, key and bytes of each sample."""
    found = []
    for _ in range(epochs):
        for row in itertools.zip_longest(*map(iter, loaders)):
            for batch in row:
                if batch is not None:
                    low, normal, keys, given = batch
                    found += [
                        (name, key, low[i].numpy().tobytes(), normal[i].numpy().tobytes())
                        for i, (name, key) in enumerate(zip(given["component"], keys, strict=True))
                    ]
    return found


def ranks(mixture, world, state=None, backend="torch", **options):
    made = [
        PairLoader(
            mixture,
            backend=backend,
            rank=rank,
            world_size=world,
            last_batch="partial",
            keys=True,
            extras=["component"],
            augment=True,
            **PLAIN | options,
        )
        for rank in range(world)
    ]
    for loader in made:
        if state is not None:
            loader.load_state_dict(json.loads(json.dumps(state)))
    return made


@pytest.mark.slow
def test_what_is_left_does_not_depend_on_the_number_of_ranks(mixture):
    whole = samples(ranks(mixture, 4), 3)
    assert len(whole) == 3 * 150
    loaders = ranks(mixture, 4)
    running = [iter(loader) for loader in loaders]
    taken = sum(len(next(one)[0]) for _ in range(3) for one in running)
    states = [loader.state_dict() for loader in loaders]
    assert all(state == states[0] for state in states)
    for world in (1, 3, 5):
        left = samples(ranks(mixture, world, states[world % 4]), 3)
        assert left == whole[taken:]
    assert samples(ranks(mixture, 2, states[1], batch_size=3), 3) == whole[taken:]


def test_dali_gives_the_same_and_goes_on_where_torch_was(mixture):
    options = {"dtype": "uint8", "crop": "random-resized"}
    mixture = replace(mixture, epoch=60)
    both = [ranks(mixture, 2, backend=backend, **options) for backend in ("torch", "dali")]
    runs = [[iter(loader) for loader in loaders] for loaders in both]
    wanted, made = (samples([itertools.islice(run, 3) for run in own]) for own in runs)
    states = [loader.state_dict() for loaders in both for loader in loaders]
    assert all(state == states[0] for state in states)
    wanted += samples(runs[0])
    made += samples(ranks(mixture, 3, states[0], "dali", **options))
    for one, other in zip(made, wanted, strict=True):
        assert one[:2] == other[:2]
        most = 3 if one[0] == "sice" else 0  # JPEGs, by another decoder
        for image in (2, 3):
            levels = (np.frombuffer(own[image], np.uint8).astype(int) for own in (one, other))
            assert abs(np.subtract(*levels)).max() <= most


def test_every_sample_of_a_component_comes_once_before_any_comes_twice(mixture):
    found = samples(ranks(mixture, 3), 3)
    counts = {"live": TRAIN, "stored": TRAIN, "files": TRAIN, "store": TRAIN}
    counts |= {"list": 7, "lol": 3, "sice": 6, "unpaired": TRAIN + VAL}
    for name, count in counts.items():
        keys = [key for component, key, *_ in found if component == name]
        passes = [keys[i : i + count] for i in range(0, len(keys), count)]
        assert all(len(set(one)) == len(one) for one in passes)
        assert len(passes) == 1 or len(set(map(tuple, passes))) > 1
    for name, component in mixture.components.items():
        share = component.weight[0] / 12.5 * len(found)
        assert [own for own, *_ in found].count(name) == pytest.approx(share, abs=1)


def test_epochs_end_with_the_longest_or_shortest_component(shards):
    parts = {"set": (shards, 2), "few": {"data": PAIRS, "weight": 1, "repeat": 2}}
    options = PLAIN | {"batch_size": 1, "last_batch": "partial"}
    longest, shortest = (
        TorchLoader(mix(parts, epoch=e), **options) for e in ("longest", "shortest")
    )
    assert len(longest) in range(TRAIN * 3 // 2, TRAIN * 3 // 2 + 3)
    assert len(shortest) in range(3 * 14 - 2, 3 * 14 + 3)


@pytest.mark.filterwarnings("ignore:.*brighter")  # photographs stand for the dark pictures
def test_identity_gives_the_normal_twice_and_unpaired_pictures_nothing_in_common(photos):
    lit = mix({"lit": {"data": PAIRS, "weight": 1, "identity": True}})
    for low, normal in TorchLoader(lit, augment=True, **PLAIN):
        assert torch.equal(low, normal)
    lists = pairs_in(photos), [normal for _, normal in PAIRS]
    loader = TorchLoader(lists, unpaired=True, keys=True, **PLAIN)
    assert len(loader) == len(lists[0]) // 4
    darks = [key for _, _, keys in loader for key in keys]
    assert len(set(darks)) == len(darks)


@pytest.mark.parametrize("backend", ["torch", "dali"])
def test_weights_and_sizes_change_by_step(shards, backend):
    changing = mix({"a": (shards, {0: 1, 3: 0}), "b": ([*PAIRS], {0: 0, 3: 1})}, epoch=40)
    options = PLAIN | {"backend": backend, "size": {0: 32, 2: (24, 40)}}
    loader = PairLoader(changing, extras=["component"], **options)
    batches = list(loader)
    assert [set(given["component"]) for *_, given in batches] == [{"a"}] * 3 + [{"b"}] * 7
    shapes = [tuple(low.shape[2:]) for low, *_ in batches]
    assert shapes == [(32, 32)] * 2 + [(24, 40)] * 8
    begun = iter(PairLoader(changing, extras=["component"], **options))
    for _ in range(4):
        next(begun)
    other = PairLoader(changing, extras=["component"], **options)
    other.load_state_dict(json.loads(json.dumps(begun._loader.state_dict())))
    for (low, *_), (wanted, *_) in zip(other, batches[4:], strict=True):
        assert torch.equal(low, wanted)


@pytest.mark.parametrize("shuffle", [True, False])
def test_epochs_that_are_left_count_for_dali_too(shards, shuffle):
    lit = {"data": PAIRS, "weight": 2, "identity": True}
    data = mix({"set": (shards, 1), "lit": lit}, epoch=24)
    given = PLAIN | {"dtype": "uint8", "shuffle": shuffle, "keys": True}
    found = []
    for backend in ("torch", "dali"):
        with PairLoader(data, backend=backend, **given) as loader:
            next(iter(loader))
            epochs = [list(loader), next(iter(loader))]
            loader.set_epoch(1)
            parts = loader.dataset, loader.batch_sampler, loader.collate_fn
            data_loader = torch.utils.data.DataLoader(
                parts[0], batch_sampler=parts[1], collate_fn=parts[2]
            )
            epochs += [list(loader), list(data_loader), list(pickle.loads(pickle.dumps(loader)))]
            found.append([loader.epoch, *epochs])
    (epoch, *made), (epoch2, *made2) = found
    assert epoch == epoch2
    assert converted(made, torch.Tensor.tolist) == converted(made2, torch.Tensor.tolist)


def test_a_file_says_the_same(shards, photos, tmp_path):
    (tmp_path / "mix.yaml").write_text(
        f"mix:\n  set: [{shards}, 2]\n  photos:\n    data: {{photos: {photos}}}\n    weight: 1\n"
        "    recipe: gamma\nepoch: 60\n"
    )
    plain = mix(
        {
            "set": (shards, 2),
            "photos": {"data": pairs_in(photos), "weight": 1, "recipe": "gamma"},
        },
        epoch=60,
    )
    with (
        PairLoader(tmp_path / "mix.yaml", **PLAIN) as one,
        PairLoader(plain, **PLAIN) as other,
    ):
        assert one.backend.name.startswith("torch")  # of "auto"
        for (low, normal), (low2, normal2) in zip(one, other, strict=True):
            assert torch.equal(low, low2)
            assert torch.equal(normal, normal2)


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ({}, "give components by their names"),
        ({"a": 3}, "mix: a: must be (SOURCE, WEIGHT)"),
        ({"a": (PAIRS, -1)}, "weight.0: Input should be greater than or equal to 0"),
        ({"a": (PAIRS, float("nan"))}, "weight.0: Input should be a finite number"),
        ({"a": (PAIRS, 0)}, "all weights are 0 from step 0"),
        ({"a": (PAIRS, {5: 1})}, "a schedule is"),
        ({"a": {"data": PAIRS, "weight": 1, "colour": 2}}, "mix: a: colour"),
        ({"a": {"data": PAIRS, "weight": 1, "identity": True, "unpaired": True}}, "exclude"),
        ({"a": ({"dark": PAIRS[0], "bright": PAIRS[1]}, 1)}, "add unpaired: true"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(components, message):
    with pytest.raises(LoaderError) as caught:
        mix(components)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_opened_is_named(shards, tmp_path):
    broken = mix({"good": (shards, 1), "gone": (tmp_path / "no", 1)})
    with pytest.raises(LoaderError, match="mix: gone: "):
        TorchLoader(broken, **PLAIN)
    with pytest.raises(LoaderError, match="mix: rare: its share is so small"):
        TorchLoader(mix({"good": (shards, 1), "rare": (shards, 1e-320)}), **PLAIN)
    one = [PAIRS[0]]  # whose only sample would come once in 10^12
    with pytest.raises(LoaderError, match="mix: rare: its share is so small"):
        TorchLoader(mix({"good": (shards, 1), "rare": (one, 1e-12)}), **PLAIN)
    with pytest.raises(LoaderError, match="epoch a number: must be 1 to"):
        mix({"good": (shards, 1)}, epoch=10**400)
    for data in ({"real": "lol-v1"}, {"low": 5, "normal": 6}):
        with pytest.raises(LoaderError, match="mix: a: data: "):
            TorchLoader(mix({"a": {"data": data, "weight": 1}}), **PLAIN)
    dali = PLAIN | {"backend": "dali"}
    for option in ({"extras": ["ev"]}, {"decoder": "pillow"}):
        with pytest.raises(LoaderError, match=f"^{next(iter(option))} .*(torch|leave it out)"):
            PairLoader(mix({"good": (shards, 1)}), **dali, **option)
    small = encode(numbered(1, 30, 40), "png")
    for image, message in ((b"no image", "pair 1, low cannot be decoded"), (small, "in size")):
        torn = mix({"good": (shards, 5), "torn": ([PAIRS[0], (image, PAIRS[1][1])], 1)})
        with (
            PairLoader(torn, **dali) as loader,
            pytest.raises(LoaderError, match=message) as caught,
        ):
            list(loader)
        assert "\n" not in str(caught.value)
    with pytest.raises(LoaderError, match="labels goes with one set"):
        TorchLoader(mix({"good": (shards, 1)}), labels=True, **PLAIN)
    state = TorchLoader(mix({"good": (shards, 1)}), **PLAIN).state_dict()
    with pytest.raises(LoaderError, match="another loader"):
        TorchLoader(mix({"good": (shards, 2)}), **PLAIN).load_state_dict(state)
    assert repr(gloam.mix({"good": (shards, 1)})) == "mixture of good"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1: 2\nb: 3\nmix: 2\n", "1: no such key"),
        ("mix:\n  a: {1: 2, data: x, weight: 1}\n", "must be"),
        ("mix:\n  a: {data: [[1, 2]], weight: 1}\n", "entry 0 of the list is no pair"),
        ("mix:\n  a: {data: [[[1], [2]]], weight: 1}\n", "entry 0 of the list is no pair"),
        ('mix:\n  a: {data: "a\\0b", weight: 1}\n', "no file can have such a name"),
        ('mix:\n  a: {data: "\\ud800", weight: 1}\n', "no file can have such a name"),
        ('mix:\n  "a\\nb": [x, 1]\n', "one line of text"),
        ("mix:\n  a: {data: x, weight: true}\n", "valid number"),
        ("mix:\n  a: {data: x, weight: {true: 1, 0: 1}}\n", "a schedule is"),
        *(
            (
                f'mix:\n  a: {{data: x, weight: 1, {name}: "no"}}\n',
                f"line 2: mix: a: {name}: must be",
            )
            for name in ("live", "identity", "unpaired", "repeat")
        ),
        ("mix:\n  a: {data: !!set {x, y}, weight: 1}\n", "folder of a set, or a list"),
        (f"mix:\n  a: {{data: {'x' * 300}, weight: 1}}\n", "no file can have such a name"),
        (f"mix:\n  a: {{data: {{photos: {'x' * 300}}}, weight: 1}}\n", "too long"),
    ],
)
def test_a_file_of_a_mixture_that_is_wrong_is_one_line(tmp_path, text, said):
    (tmp_path / "mix.yaml").write_text(text)
    with pytest.raises(LoaderError, match=said) as caught:
        TorchLoader(tmp_path / "mix.yaml", **PLAIN)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ("other: 1", 9),
        ("epoch: -1", 9),
        ("  b: 3", 9),
        ("  b: {data: x, weight: -1}", 9),
        ("  b:\n    data: x\n    weight: 1\n    live: 2", 12),
        ("  b.weight:\n    data: x\n    weight: x", 11),
        ("  b:\n    data: x", 9),
        ("  b:\n    data: x\n    weight: 1\n    weights: 1", 12),
        ("  b:\n    data: x\n    weight:\n      0: 1\n      -3: 1", 11),
    ],
)
def test_what_is_wrong_in_a_file_of_a_mixture_has_its_line(tmp_path, wrong, line):
    begin = "# one\n\nmix:\n  a:\n    data: x\n    weight:\n      0: 1\n      50: 3\n"
    (tmp_path / "mix.yaml").write_text(f"{begin}{wrong}\n")
    with pytest.raises(LoaderError, match=rf"mix\.yaml: line {line}: "):
        TorchLoader(tmp_path / "mix.yaml", **PLAIN)


def test_a_component_of_a_file_that_cannot_be_opened_has_its_line(tmp_path):
    (tmp_path / "mix.yaml").write_text("mix:\n\n  a: [nowhere, 1]\n")
    with pytest.raises(LoaderError, match=r"mix\.yaml: line 3: mix: a: .*nowhere"):
        TorchLoader(tmp_path / "mix.yaml", **PLAIN)


def test_a_file_names_recipes_and_pairs_relative_to_itself(tmp_path, photos, monkeypatch):
    (tmp_path / "own.yaml").write_text("name: own\nexposure: {ev: 3}\n")
    for side, data in zip(("low", "normal"), PAIRS[0], strict=True):
        (tmp_path / f"{side}.png").write_bytes(data)
    recipes = "{0: even, 5: 'even:1,own.yaml:2'}"
    (tmp_path / "mix.yaml").write_text(
        f"mix:\n  made: {{data: {{photos: {photos}}}, weight: 1, recipe: {recipes}}}\n"
        "  pairs: {data: [[low.png, normal.png]], weight: 1}\n"
    )
    loader = TorchLoader(tmp_path / "mix.yaml", **PLAIN)
    names = loader.components[0].live[5].recipe.mixture.keys()
    assert {Path(name).stem for name in names} == {"even", "own"}
    assert len(next(iter(loader))[0]) == 4
