"""Clips in training: every clip once, in step, the same change for all frames."""

from __future__ import annotations

import pickle
import shutil

import cv2
import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch.utils.data import DataLoader

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import GloamWarning, LoaderError
from gloam.loaders.clips import clip_loader as backend
from gloam.loaders.clips import video_frames
from gloam.loaders.clips.video_frames import DecodingFailed
from gloam.loaders.dali import decoder
from gloam.loaders.options import Options
from gloam.manifests.clips.listing import video_and_times
from gloam.manifests.clips.video import decode_frames
from gloam.manifests.images.normals import encode
from gloam.synth.clips import frames_of, render_clip
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe

from ...clips import davis, davis_and_video, panned, write_video


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return davis_and_video(tmp_path_factory.mktemp("loaded") / "davis", 4)


@pytest.fixture(scope="module")
def made(source, tmp_path_factory):
    root = tmp_path_factory.mktemp("loaded") / "set"
    options = {"frames": 4, "select": False, "shard_size": 3, "val": 2}
    gloam.build(root, f"clips={source}", recipe="even", **options)
    return root


@pytest.fixture(scope="module")
def stored(made):
    return {clip.key: frames_of(clip) for clip in gloam.open_set(made).pairs("train")}


def loader(data, **options):
    common = {"batch_size": 2, "device": "cpu", "workers": 0, "keys": True, "seed": 1}
    return gloam.ClipLoader(data, **(common | options))


WAYS = {
    "stored": {},
    "processes": {"workers": 2},
    "live": {"live": True, "draws": "set"},
    "live, processes": {"live": True, "draws": "set", "workers": 2},
    "dali": {"backend": "dali", "workers": 2},
    "dali, live": {"backend": "dali", "workers": 2, "live": True, "draws": "set"},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_clip_once_and_whole(made, stored, way):
    more, seen = WAYS[way], []
    options = {"dtype": "uint8", "layout": "HWC", "last_batch": "partial"}
    with loader(made, **options, **more) as loaded:
        for lows, normals, keys in loaded:
            assert lows.shape[1:] == normals.shape[1:] == (4, 72, 96, 3)
            for low, normal, key in zip(lows, normals, keys, strict=True):
                seen.append(key)
                np.testing.assert_array_equal(low.numpy(), stored[key][0])
                np.testing.assert_array_equal(normal.numpy(), stored[key][1])
    assert sorted(seen) == sorted(stored)


def test_frames_share_crop_flips_and_step(made, stored):
    options = {"size": 32, "crop": "random", "augment": True, "dtype": "uint8", "layout": "HWC"}
    found = 0
    for stored_way in ({}, WAYS["live"], WAYS["dali"], WAYS["dali, live"]):
        for lows, normals, keys in loader(made, **options, **stored_way):
            for low, normal, key in zip(lows.numpy(), normals.numpy(), keys, strict=True):
                place = where(stored[key][1][0], normal[0])
                assert place is not None
                for frame in range(4):
                    np.testing.assert_array_equal(
                        normal[frame], placed(stored[key][1][frame], place)
                    )
                    np.testing.assert_array_equal(low[frame], placed(stored[key][0][frame], place))
                found += 1
    assert found >= 32


def turns(image):
    for turned in (False, True):
        for down in (False, True):
            for across in (False, True):
                made = image.transpose(1, 0, 2) if turned else image
                made = made[::-1] if down else made
                yield (turned, down, across), made[:, ::-1] if across else made


def where(whole, part):
    """The window and the turn by which a part is in a whole."""
    for turn, image in turns(whole):
        height, width = part.shape[:2]
        for top in range(image.shape[0] - height + 1):
            for left in range(image.shape[1] - width + 1):
                if (image[top, left] == part[0, 0]).all() and (
                    image[top : top + height, left : left + width] == part
                ).all():
                    return turn, top, left
    return None


def placed(whole, place):
    turn, top, left = place
    image = dict(turns(whole))[turn]
    return image[top : top + 32, left : left + 32]


@pytest.mark.parametrize("way", ["live", "dali", "dali, live"])
def test_ranks_resume_and_epochs(made, stored, way):
    options = {"size": 32, "dtype": "uint8", "batch_size": 1} | WAYS[way]
    parts = [
        [key for *_, keys in loader(made, rank=rank, world_size=2, **options) for key in keys]
        for rank in range(2)
    ]
    assert not set(parts[0]) & set(parts[1])
    assert set(parts[0]) | set(parts[1]) <= set(stored)
    whole = loader(made, crop="random", augment=True, **options)
    batches = [*whole, *whole]
    begun = loader(made, crop="random", augment=True, **options)
    running = iter(begun)
    for _ in range(3):
        next(running)
    state = pickle.loads(pickle.dumps(begun.state_dict()))
    other = loader(made, crop="random", augment=True, **options)
    other.load_state_dict(state)
    rest = [*other, *other]
    assert len(rest) == len(batches) - 3
    for one, two in zip(batches[3:], rest, strict=True):
        assert one[2] == two[2]
        assert torch.equal(one[0], two[0])
        assert torch.equal(one[1], two[1])
    assert [b[2] for b in batches[: len(whole)]] != [b[2] for b in batches[len(whole) :]]


@pytest.mark.parametrize("more", [{}, {"live": True}, {"live": True, "recipe": "mbllen"}])
def test_dali_draws_what_processes_draw(made, more):
    options = {"size": 40, "crop": "random-resized", "augment": True, "batch_size": 3} | more
    whole = loader(made, last_batch="partial", **options)
    by_dali = loader(made, last_batch="partial", **options, **WAYS["dali"])
    for _ in range(2):
        for one, other in zip(whole, by_dali, strict=True):
            assert one[2] == other[2]
            for images, others in zip(one[:2], other[:2], strict=True):
                assert images.shape == others.shape
                assert (images - others).abs().max() < 2 / 255


def test_dali_begins_an_epoch_that_is_set_and_one_that_was_left(made):
    options = {"size": 32, "crop": "random", "batch_size": 2}
    whole, by_dali = loader(made, **options), loader(made, **options, **WAYS["dali"])
    for epoch in (3, 0):
        for one in (whole, by_dali):
            one.set_epoch(epoch)
        assert [b[2] for b in whole] == [b[2] for b in by_dali]
    for one in (whole, by_dali):
        next(iter(one))
    again = pickle.loads(pickle.dumps(by_dali))
    for first, second in zip(whole, again, strict=True):
        assert first[2] == second[2]
        assert torch.equal(first[1], second[1])
    by_dali.close()


def test_an_interrupt_leaves_keys_in_step(made):
    options = {"size": 32, "batch_size": 1} | WAYS["dali"]
    whole = list(loader(made, **options))
    hurt = loader(made, **options)
    run = hurt.backend._run

    def interrupted(*place):
        run(*place)
        hurt.backend._run = run
        raise KeyboardInterrupt

    hurt.backend._run = interrupted
    with pytest.raises(KeyboardInterrupt):
        next(iter(hurt))
    hurt.set_epoch(0)
    for one, other in zip(whole, hurt, strict=True):
        assert one[2] == other[2]
        assert torch.equal(one[1], other[1])


def test_tools_that_skip_batches_get_those_of_dali(made):
    by_dali = loader(made, size=32, batch_size=1, **WAYS["dali"])
    assert by_dali.num_workers == 0
    assert by_dali.prefetch_factor is None
    whole = list(loader(made, size=32, batch_size=1, **WAYS["dali"]))
    taken = DataLoader(
        by_dali.dataset, batch_sampler=by_dali.batch_sampler, collate_fn=by_dali.collate_fn
    )
    for one, other in zip(whole, taken, strict=True):
        assert torch.equal(one[1], other[1])


@pytest.mark.parametrize(
    ("asked", "decoder", "dali", "pyav", "device", "installed", "expected"),
    [
        ("auto", None, "", "", "gpu", True, "dali"),
        ("auto", None, "", "faster", "gpu", True, "pyav"),
        ("auto", None, "", "no", "gpu", True, "dali"),
        ("auto", None, "", "no", "gpu", False, "workers"),
        ("auto", None, "", "", "gpu", False, "pyav"),
        ("auto", None, "no", "", "gpu", True, "pyav"),
        ("auto", None, "no", "no", "gpu", True, "workers"),
        ("auto", None, "", "", "cpu", True, "pyav"),
        ("auto", None, "", "no", "cpu", True, "workers"),
        ("torch", None, "", "", "gpu", True, "workers"),
        ("torch", "pyav", "", "", "gpu", True, "workers"),
        ("auto", "pyav", "", "", "cpu", False, "pyav"),
        ("dali", "pyav", "", "", "gpu", True, "pyav"),
        ("dali", None, "", "no", "cpu", True, "dali"),
        ("auto", "dali", "", "faster", "gpu", True, "dali"),
    ],
)
def test_who_decodes(monkeypatch, asked, decoder, dali, pyav, device, installed, expected):
    monkeypatch.setattr(backend, "is_installed", lambda: installed)
    faster = pyav == "faster"
    why_not = {"dali": dali, "pyav": "" if faster else pyav}
    monkeypatch.setattr(backend, "why_not_by", lambda decoder, *_: why_not[decoder])
    monkeypatch.setattr(backend, "pyav_is_faster", lambda *_: faster)
    options = Options(batch_size=1, device=device)
    assert backend.choose_decoder(asked, decoder, None, options, None) == expected


def test_many_pyav_is_faster_at_small_frames(videos):
    loaded = loader(videos, frames=4)
    few, many = (loaded.options.model_copy(update={"workers": count}) for count in (0, 1))
    assert backend.pyav_is_faster(loaded.contents, many)  # 96 x 72
    assert not backend.pyav_is_faster(loaded.contents, few)


@pytest.mark.parametrize(
    ("recipe", "size", "device", "expected"),
    [
        (None, None, "gpu", ""),
        ("even", 32, "gpu", ""),
        ("even", None, "gpu", "give size="),
        ("even", None, "cpu", ""),
        ("mbllen", 32, "gpu", "recipes of the camera model"),
        ("mbllen", 32, "cpu", ""),
    ],
)
def test_what_dali_makes_live(made, recipe, size, device, expected):
    given = {} if recipe is None else {"live": True, "recipe": recipe}
    loaded = loader(made, size=size, **given)
    options = loaded.options.model_copy(update={"device": device})
    found = backend.why_not_by("dali", loaded.contents, options, loaded.live)
    assert expected in found if expected else found == ""


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    root = tmp_path_factory.mktemp("videos")
    for seed, (name, codec) in enumerate((("a.webm", "libvpx-vp9"), ("b.avi", "mjpeg"))):
        form = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        write_video(root / name, panned(seed, 23), codec, form, g="7")
    return root


def test_dali_decodes_videos(videos):
    options = {"frames": 4, "stride": 2, "step": 3, "recipe": "uneven", "size": 40}
    options |= {"crop": "random", "augment": True, "batch_size": 3, "last_batch": "partial"}
    whole, by_dali = loader(videos, **options), loader(videos, **options, **WAYS["dali"])
    assert len(whole) == len(by_dali) == 4
    for _ in range(2):
        for one, other in zip(whole, by_dali, strict=True):
            assert one[2] == other[2]
            # DALI takes the nearest colour where PyAV interpolates.
            grey, others = (normal.mean(dim=2) for normal in (one[1], other[1]))
            assert (grey - others).abs().mean() < 4 / 255
            assert (one[0] - other[0]).abs().mean() < 0.02
    by_dali.close()


@pytest.mark.parametrize(
    ("name", "codec", "form", "shape", "expected"),
    [
        ("c.mp4", "libx264", "yuv420p", (72, 96), "c.mp4 is h264; on this device it decodes vp8"),
        ("c.webm", "libvpx-vp9", "yuv444p", (72, 96), "pixels of yuv444p, not of 8 bits and 4:2:0"),
        ("c.avi", "mjpeg", "yuvj420p", (71, 96), "turned, interlaced or of odd size"),
    ],
)
def test_videos_that_dali_does_not_decode(tmp_path, name, codec, form, shape, expected):
    write_video(tmp_path / name, panned(0, 5, shape=shape), codec, form)
    with pytest.raises(LoaderError, match=f"backend 'dali' does not decode all.*{expected}"):
        loader(tmp_path, frames=3, backend="dali", size=32, batch_size=1)
    options = {"frames": 3, "size": 32, "batch_size": 1}
    assert len(list(loader(tmp_path, **options))) == 1


def test_frames_that_are_not_those_of_pyav_are_noticed(videos, monkeypatch, capsys):
    whole = loader(videos, frames=4, size=32)
    right = video_frames.bytes_of

    def bytes_of(*given, **more):
        data, numbers, size = right(*given, **more)
        return data, numbers[::-1].copy(), size

    monkeypatch.setattr(video_frames, "bytes_of", bytes_of)
    options = {"frames": 4, "size": 32} | WAYS["dali"]
    with pytest.raises(DecodingFailed, match="are not those that PyAV decodes"):
        list(loader(videos, **options))
    falling = loader(videos, **options)
    falling.backend._falls_back = True  # as of backend="auto" on a GPU
    assert falling.num_workers == 0
    for one, other in zip(whole, falling, strict=True):
        assert one[2] == other[2]
        assert torch.equal(one[1], other[1])
    assert falling.backend.name == "pyav (DALI failed)"
    said = capsys.readouterr().err
    assert "DALI: " in said
    assert "; PyAV decodes from here on" in said
    falling.close()


def test_pyav_decodes_videos_exactly(tmp_path):
    for seed, (name, group) in enumerate((("a.mp4", "9"), ("b.mkv", "250"))):
        write_video(tmp_path / name, panned(seed, 30), g=group, bf="2")
    options = {"frames": 4, "stride": 2, "step": 3, "recipe": "even", "draws": "set"}
    options |= {"dtype": "uint8", "layout": "HWC", "batch_size": 3, "last_batch": "partial"}
    loaded = loader(tmp_path, decoder="pyav", workers=2, **options)
    places = {clip.key: clip.place for clip in loaded.contents.clips}
    epochs = []
    for _ in range(2):
        seen = []
        for lows, normals, keys in loaded:
            for low, normal, key in zip(lows.numpy(), normals.numpy(), keys, strict=True):
                seen.append(key)
                exact = decode_frames(*video_and_times(places[key]))
                np.testing.assert_array_equal(normal, exact)
                wanted = render_clip(exact, draw(load_recipe("even"), 1, key))
                np.testing.assert_array_equal(low, wanted)
        assert sorted(seen) == sorted(places)
        epochs.append(seen)
    assert epochs[0] != epochs[1]
    begun = loader(tmp_path, decoder="pyav", workers=2, **options)
    running = iter(begun)
    taken = [next(running)[2] for _ in range(2)]
    other = loader(tmp_path, backend="torch", **options)  # processes go on from its state
    other.load_state_dict(pickle.loads(pickle.dumps(begun.state_dict())))
    rest = [keys for *_, keys in other]
    assert [key for keys in (*taken, *rest) for key in keys] == epochs[0]
    for one in (loaded, begun):
        one.close()


def test_pyav_names_a_damaged_video(tmp_path):
    path = write_video(tmp_path / "a.mkv", panned(0, 30), g="5")
    loaded = loader(tmp_path, frames=4, size=32, decoder="pyav", workers=2, shuffle=False)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    path.write_bytes(data)
    with pytest.raises(LoaderError, match=r"a\.mkv: .*gloam build passes such clips over"):
        list(loaded)


def test_a_pipeline_that_cannot_be_built_is_no_end(made, capsys, monkeypatch):
    def broken(pipeline, name):
        raise LoaderError(f"{name}: DALI: libnvcuvid.so.1 is missing")

    monkeypatch.setattr(decoder, "built", broken)
    options = {"size": 32, "batch_size": 1} | WAYS["dali, live"]
    with pytest.raises(LoaderError, match="DALI: libnvcuvid"):
        list(loader(made, **options))
    falling = loader(made, **options)
    falling.backend._falls_back = True
    assert len(list(falling)) == len(falling)
    assert "libnvcuvid.so.1 is missing; processes decode" in capsys.readouterr().err
    falling.close()


def test_a_failure_amid_an_epoch_goes_on_by_processes(made, capsys):
    options = {"size": 32, "batch_size": 1} | WAYS["dali, live"]
    whole = list(loader(made, **options))
    hurt = loader(made, **options)
    hurt.backend._falls_back = True
    running = iter(hurt)
    taken = [next(running)]

    def broken(*args):
        raise RuntimeError("no such device")

    hurt.backend._renderer.next = broken
    taken += running
    for one, other in zip(whole, taken, strict=True):
        assert one[2] == other[2]
        assert torch.equal(one[0], other[0])
    assert "DALI: no such device; processes decode" in capsys.readouterr().err
    assert len(list(hurt)) == len(whole)
    hurt.close()


def test_a_damaged_frame_is_named_by_dali_too(made, tmp_path):
    root = tmp_path / "damaged"
    shutil.copytree(made, root)
    shard = sorted(root.rglob("*train*.tar"))[0]
    data = bytearray(shard.read_bytes())
    at = data.find(b"IDAT") + 40
    data[at : at + 64] = bytes(64)
    shard.write_bytes(data)
    options = {"batch_size": 1, "shuffle": False} | WAYS["dali"]
    with pytest.raises(LoaderError, match=r"low\.000.* cannot be decoded.*gloam verify"):
        list(loader(root, **options))


def test_wrong_backends_get_a_line(made, source, monkeypatch):
    for options, words in (
        ({"backend": "x"}, "backend 'x': must be one of auto, dali, torch"),
        ({"decoder": "x"}, "decoder 'x': must be dali or pyav"),
        ({"decoder": "pyav"}, "decoder 'pyav' reads videos alone: leave decoder out"),
        ({"backend": "torch", "decoder": "dali"}, "goes with backend='dali'"),
        ({"reader": "pyav"}, 'reader: no such option; backend="dali" or "torch", or decoder='),
    ):
        with pytest.raises(LoaderError, match=words):
            loader(made, **options)
    with pytest.raises(LoaderError, match="backend 'dali' reads JPEGs and PNGs, or videos"):
        loader(source, backend="dali", frames=3)
    monkeypatch.setattr(backend, "is_installed", lambda: False)
    with pytest.raises(LoaderError, match="needs NVIDIA DALI: pip install"):
        loader(made, backend="dali")


def test_folders_and_videos_without_a_set(source):
    options = {"frames": 3, "stride": 2, "step": 4, "recipe": "even", "draws": "set"}
    options |= {"dtype": "uint8", "layout": "HWC", "batch_size": 1, "shuffle": False}
    seen = []
    for low, normal, (key,) in loader(source, **options):
        seen.append(key)
        normals = list(normal[0].numpy())
        wanted = render_clip(normals, draw(load_recipe("even"), 1, key))
        np.testing.assert_array_equal(low[0].numpy(), wanted)
    assert len(seen) == len(set(seen)) == 5 * 2
    video = [key for key in seen if "more-a" in key]
    assert len(video) == 2


def test_dali_reads_folders_of_frames(tmp_path):
    root = davis(tmp_path / "davis", 3, 9)
    options = {"frames": 3, "recipe": "uneven", "batch_size": 2, "shuffle": False}
    options |= {"dtype": "uint8", "layout": "HWC", "last_batch": "partial"}
    whole = list(loader(root, **options))
    for one, other in zip(whole, loader(root, **options, **WAYS["dali"]), strict=True):
        assert one[2] == other[2]
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[1])


def test_frames_of_different_sizes_get_a_line(tmp_path):
    root = davis(tmp_path / "davis", 1, 3)
    last = sorted(root.rglob("*.jpg"))[-1]
    cv2.imwrite(str(last), cv2.imread(str(last))[:40])
    with pytest.raises(LoaderError, match=r"different sizes|differ in size"):
        list(loader(root, frames=3, batch_size=1, size=24, **WAYS["dali"]))


def test_dataset_and_floats(made, stored):
    loaded = loader(made, size=(24, 40), value_range=(-1, 1), batch_size=3)
    low, normal, _ = next(iter(loaded))
    assert low.shape == (3, 4, 3, 24, 40)
    assert low.dtype == torch.float32
    assert -1 <= float(normal.min()) < float(normal.max()) <= 1
    assert len(loaded.dataset) == len(stored)
    lows, normals = loaded.dataset[0]
    assert len(lows) == len(normals) == 4
    array, _, _ = next(iter(loader(made, size=24, framework="numpy")))
    assert isinstance(array, np.ndarray)
    assert array.shape == (2, 4, 3, 24, 24)


def test_wrong_use_gets_a_line(made, source, photographs, tmp_path):
    gloam.build(tmp_path / "pairs", f"folder={photographs}", select=False, pairs=4)
    with pytest.raises(LoaderError, match="PairLoader reads them"):
        loader(tmp_path / "pairs")
    for name in ("PairLoader", "TorchLoader", "ImageLoader"):
        with pytest.raises(LoaderError, match="ClipLoader reads them"):
            getattr(gloam, name)(made, batch_size=1, size=32, device="cpu")
    with pytest.raises(LoaderError, match="no clips in test"):
        loader(made, split="test")
    with pytest.raises(LoaderError, match="no clip of 50 frames"):
        loader(source, frames=50)
    with pytest.raises(LoaderError, match="frames = 0"):
        loader(source, frames=0)
    gloam.regenerate(made, tmp_path / "lows", lows_only=True)
    with pytest.raises(LoaderError, match="without --low-only"):
        loader(tmp_path / "lows")
    with pytest.raises(LoaderError, match="no such option"):
        loader(made, pictures=3)
    with pytest.raises(LoaderError, match="leave them out"):
        loader(made, frames=4)


def test_bench_shows_clips_and_frames(made, source):
    run = CliRunner()
    common = ["--seconds", "0.1", "--workers", "0", "--size", "32", "--batch-size", "2"]
    said = run.invoke(command, ["bench", str(made), *common])
    assert said.exit_code == 0, said.output
    assert "clips of 4 frames" in said.output
    assert "ClipLoader, stored, 0 workers" in said.output
    assert "frames, first batch" in said.output
    said = run.invoke(command, ["bench", str(source), "--frames", "3", "--json", *common])
    assert said.exit_code == 0, said.output
    assert '"frames": 3' in said.output


@pytest.mark.parametrize("way", ["stored", "processes", "dali", "dali, live"])
def test_padded_ranks_have_equally_many_whole_batches(made, stored, way):
    counted, lengths = [], set()
    for rank in range(2):
        options = {"rank": rank, "world_size": 2, "last_batch": "padded", "batch_size": 3}
        with loader(made, size=32, **options, **WAYS[way]) as loaded:
            assert loaded.options.crop == "random"
            lengths.add(len(loaded))
            for low, _, keys in loaded:
                assert len(low) == len(keys) == 3
                counted += keys[: 3 - loaded.padded]
    assert len(lengths) == 1
    assert sorted(counted) == sorted(stored)


def test_clips_are_counted_from_the_end_too(made):
    with loader(made) as loaded:
        clips = loaded.dataset
        assert (clips[-1][1][0] == clips[len(clips) - 1][1][0]).all()
        with pytest.raises(IndexError):
            clips[-len(clips) - 1]


def test_photographs_that_are_taken_for_a_clip_are_warned_of(tmp_path):
    for i in range(4):
        picture = np.random.default_rng(i).integers(0, 256, (2, 2, 3), np.uint8)
        large = np.kron(picture, np.ones((32, 32, 1), np.uint8))
        (tmp_path / f"{i}.png").write_bytes(encode(large, "png"))
    with pytest.warns(GloamWarning, match="its first frames show two scenes"):
        loader(tmp_path, frames=4, size=32, batch_size=1)
