"""The loader without DALI: the same order, epochs, ranks, states and errors."""

from __future__ import annotations

import gc
import itertools
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gloam.errors import LoaderError
from gloam.loaders import PairLoader, TorchLoader
from gloam.loaders.buffers import BufferHandle, SharedBufferPool
from gloam.loaders.contents import Contents
from gloam.manifests.images.normals import encode
from gloam.manifests.sets.pair_set import open_set
from gloam.manifests.sets.split_files import open_files

from .numbered import TRAIN, VAL, mixed_sizes, numbers

PLAIN = {"device": "cpu", "workers": 0, "size": (40, 56)}


@pytest.fixture(params=["shards", "files"])
def root(request, shards, files):
    return shards if request.param == "shards" else files


def test_batches_are_those_of_dali(root):
    pytest.importorskip("nvidia.dali")
    options = {"batch_size": 4, "size": (40, 56), "seed": 3, "keys": True, "device": "cpu"}
    with (
        TorchLoader(root, workers=0, **options) as plain,
        PairLoader(root, **options) as dali,
    ):
        for _ in range(2):
            for (low, normal, keys), (other_low, other_normal, other_keys) in zip(
                plain, dali, strict=True
            ):
                assert keys == other_keys
                assert (low - other_low).abs().max() < 1e-6
                assert (normal - other_normal).abs().max() < 1e-6


def test_epochs_are_exact_and_in_step(root):
    with TorchLoader(root, batch_size=4, augment=True, **PLAIN) as loader:
        for _ in range(3):
            found = []
            for low, normal in loader:
                assert (low - normal / 2).abs().max() <= 0.5 / 255 + 1e-6
                found += numbers(normal)
            assert len(found) == len(set(found)) == TRAIN // 4 * 4
    for world in (2, 3, 7):
        found = []
        for rank in range(world):
            with TorchLoader(
                root, "val", batch_size=2, rank=rank, world_size=world, **PLAIN
            ) as loader:
                for _, normal in loader:
                    found += numbers(normal)
        assert sorted(found) == sorted(set(found))
        assert len(found) == VAL


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"value_range": (-1, 1)},
        {"dtype": "float16", "value_range": (-1, 1), "layout": "HWC"},
        {"dtype": "uint8"},
    ],
)
def test_worker_processes_give_the_same_batches(root, form):
    """They send bytes, which become values here."""
    options = form | {
        "batch_size": 8,
        "augment": True,
        "crop": "random-resized",
        "size": 24,
        "device": "cpu",
    }
    with (
        TorchLoader(root, workers=0, **options) as alone,
        TorchLoader(root, workers=2, **options) as several,
    ):
        for (low, normal), (other_low, other_normal) in zip(alone, several, strict=True):
            assert low.dtype == other_low.dtype
            assert torch.equal(low, other_low)
            assert torch.equal(normal, other_normal)


def test_batches_that_are_kept_stay_what_they_were(root):
    """Memory of those that were dropped is taken again; views and arrays hold theirs."""
    options = {"batch_size": 4, "size": 24, "device": "cpu"}
    with (
        TorchLoader(root, workers=0, **options) as alone,
        TorchLoader(root, workers=1, **options) as other,
    ):
        kept, places = [], set()
        for number, (low, normal) in enumerate(other):
            places |= {low.data_ptr(), normal.data_ptr()}
            if number % 3 == 0:
                kept.append((low[1], normal.numpy()[2:]))
            del low, normal
        expected = [batch for number, batch in enumerate(alone) if number % 3 == 0]
        assert len(kept) == len(expected) > 2
        for (low, normal), (whole_low, whole_normal) in zip(kept, expected, strict=True):
            assert torch.equal(low, whole_low[1])
            assert np.array_equal(normal, whole_normal[2:].numpy())
        assert len(places) < 2 * len(other)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rooms_are_written_to_again_and_no_batch_changes(root, dtype):
    """More batches than rooms; passes that are left in the middle; what is kept stays."""
    options = {**PLAIN, "batch_size": 3, "dtype": dtype, "augment": True, "last_batch": "partial"}
    with (
        TorchLoader(root, **options) as plain,
        TorchLoader(root, **{**options, "workers": 2, "prefetch": 1}) as loader,
    ):
        for epoch in range(6):
            plain.set_epoch(epoch)
            loader.set_epoch(epoch)
            kept = []
            for number, batch in enumerate(loader):
                kept.append(batch)
                if epoch % 2 and number == 1:
                    break
            for batch, expected in zip(kept, plain, strict=False):
                assert all(map(torch.equal, batch, expected))
            assert epoch % 2 or len(kept) == len(plain) > 6
        assert loader.backend._buffers is not None


def test_buffers_that_are_taken_are_not_given_out(monkeypatch):
    buffers = SharedBufferPool(12, workers=2, prefetch=1)
    monkeypatch.setattr("gloam.loaders.buffers.get_worker_info", lambda: SimpleNamespace(id=1))
    taken = [buffers.take((2, 6)) for _ in range(4)]
    assert [one and one.number for one in taken] == [3, 4, 5, None]
    buffers.open(taken[1])[:] = 7
    buffers.give_back(taken[1])
    assert buffers.take((2, 7)) is None  # too small
    assert buffers.take((3, 4)) == (4, (3, 4))
    assert buffers.open(BufferHandle(4, (12,))).tolist() == [7] * 12
    buffers.begin()
    assert buffers.take((1,)).number == 3


@pytest.mark.parametrize("batches", [1, None], ids=["abandoned", "ended"])
def test_processes_of_a_loader_that_is_dropped_end_by_themselves(shards, batches):
    """They are told to: not waited for, and stopped by a signal after five seconds each."""
    loader = TorchLoader(shards, batch_size=4, size=24, device="cpu", workers=2)
    assert list(itertools.islice(loader, batches))
    processes = loader.backend._loader._iterator._workers
    assert all(process.is_alive() for process in processes)
    del loader
    gc.collect()
    assert [process.exitcode for process in processes] == [0, 0]


def test_what_is_padded_is_so_by_processes_too():
    options = {"batch_size": 3, "pad": True, "device": "cpu", "value_range": (-1, 1)}
    with (
        TorchLoader(mixed_sizes(), "val", workers=0, **options) as alone,
        TorchLoader(mixed_sizes(), "val", workers=1, **options) as other,
    ):
        for one, two in zip(alone, other, strict=True):
            assert one[1].min() == -1
            assert all(map(torch.equal, one, two))


def test_resume_in_mid_epoch(root):
    options = PLAIN | {"batch_size": 4, "augment": True, "crop": "random", "size": 24}
    with TorchLoader(root, **options) as whole:
        expected = [low for low, _ in whole]
    for stop in range(len(expected) + 1):
        with TorchLoader(root, **options) as first:
            for _, _ in zip(range(stop), first, strict=False):
                pass
            state = json.loads(json.dumps(first.state_dict()))
        assert (state["epoch"], state["batch"]) == (0, stop)
        with TorchLoader(root, **options) as second:
            second.load_state_dict(state)
            rest = [low for low, _ in second]
            assert second.epoch == 1
        assert len(rest) == len(expected) - stop
        assert all(torch.equal(a, b) for a, b in zip(rest, expected[stop:], strict=True))
    with (
        TorchLoader(root, **options | {"seed": 4}) as other,
        pytest.raises(LoaderError, match="seed"),
    ):
        other.load_state_dict(state)


@pytest.mark.parametrize("options", [{"batch_size": 3, "pad": True}, {"batch_size": 1}])
@pytest.mark.parametrize("kind", ["torch", "resident"])
def test_pictures_that_are_turned_come_whole(options, kind):
    """Whatever their sides: rows become columns, and none of them goes astray."""
    pytest.importorskip("nvidia.dali")
    random = np.random.default_rng(0)
    pictures = [random.integers(1, 256, (20 + 5 * i, 53 - 3 * i, 3), np.uint8) for i in range(6)]
    pairs = [(encode(one, "png"), encode(one, "png")) for one in pictures]
    wanted = [
        {np.rot90(one[:, ::flip], turns).tobytes() for flip in (1, -1) for turns in range(4)}
        for one in pictures
    ]
    make = TorchLoader if kind == "torch" else PairLoader
    more = {"workers": 0} if kind == "torch" else {"resident": True, "workers": 2}
    seen = set()
    with make(
        pairs, device="cpu", layout="HWC", dtype="uint8", augment=True, **options, **more
    ) as loader:
        for low, normal in (batch for _ in range(6) for batch in loader):
            assert torch.equal(low, normal)
            for image in normal.numpy():
                rows, columns = image.any((1, 2)), image.any((0, 2))
                whole = np.ascontiguousarray(image[rows][:, columns])
                number = next(i for i in range(6) if whole.tobytes() in wanted[i])
                seen.add((number, whole.shape == pictures[number].shape))
    assert len(seen) == 12  # each, turned and not


def test_sizes_and_damage_are_named(root, tmp_path):
    with TorchLoader(
        mixed_sizes(), "val", batch_size=3, pad=True, device="cpu", workers=0
    ) as loader:
        assert [low.shape for low, _ in loader] == [(3, 3, 32, 50), (3, 3, 35, 50)]
    with (
        TorchLoader(mixed_sizes(), "val", batch_size=3, device="cpu", workers=0) as loader,
        pytest.raises(LoaderError, match="different sizes"),
    ):
        next(iter(loader))
    copy = shutil.copytree(root, tmp_path / "copy")
    stored = Contents(**vars(open_files(open_set(copy), "train"))).pairs[3]
    key, low = stored.key, stored.lows[0]
    with open(low.path, "r+b") as handle:
        handle.seek(max(low.offset, 0) + 60)
        handle.write(bytes(200))
    for decoder in ("opencv", "pillow"):
        with (
            TorchLoader(copy, batch_size=2, decoder=decoder, **PLAIN) as loader,
            pytest.raises(LoaderError, match=rf"{key}\.low cannot be decoded"),
        ):
            list(loader)


def processes_of(loader) -> list:
    return loader.backend._loader._iterator._workers


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_died_is_told_and_the_next_pass_has_new_ones(shards, number):
    few = {"batch_size": 2, "prefetch": 1}  # so that most is still to be made
    with TorchLoader(shards, **few, size=24, device="cpu", workers=2) as loader:
        passing = iter(loader)
        next(passing)
        for process in processes_of(loader):
            os.kill(process.pid, number)
            process.join()
        with pytest.raises(LoaderError, match="a process that makes batches ended"):
            list(passing)
        assert len(list(loader)) == len(loader)
        for process in processes_of(loader):
            os.kill(process.pid, number)
            process.join()
        assert len(list(loader)) == len(loader)  # between passes nothing is lost


def test_ctrl_c_ends_a_pass_and_no_process(shards):
    with TorchLoader(shards, batch_size=4, size=24, device="cpu", workers=1) as loader:
        passing = iter(loader)
        next(passing)
        (process,) = processes_of(loader)
        os.kill(process.pid, signal.SIGINT)  # a terminal's goes to all of a program
        assert len(list(passing)) == len(loader) - 1
        assert processes_of(loader) == [process]
        assert process.is_alive()


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("of", ["files", "sizes", "bytes"])
def test_refusals_are_one_line_whoever_makes_batches(workers, of, tmp_path):
    (tmp_path / "empty.png").write_bytes(b"")
    given, word = {
        "files": (
            [str(tmp_path / "empty.png")] * 2,
            r"empty\.png: \S+/empty\.png\.low cannot be decoded",
        ),
        "sizes": (mixed_sizes()[0][:1] + mixed_sizes()[1][1:], "low and normal differ in size"),
        "bytes": ([b"GIF", b"GIF"], r"pair \d, low cannot be decoded"),
    }[of]
    with (
        TorchLoader([tuple(given)] * 2, batch_size=2, device="cpu", workers=workers) as loader,
        pytest.raises(LoaderError, match=word) as raised,
    ):
        list(loader)
    assert len(str(raised.value).splitlines()) == 1
    assert "gloam build" not in str(raised.value)


SMALL = """
import sys
from gloam.loaders import TorchLoader

options = {"batch_size": 128, "size": 192, "device": "cpu", "last_batch": "partial"}
for more in ({}, {"size": None, "pad": True}):
    with TorchLoader(sys.argv[1], workers=2, **options | more) as loader:
        print(sum(len(low) for low, normal in loader))
"""


@pytest.mark.slow
def test_batches_pass_where_shared_memory_is_small(shards):
    """Containers have little too, though 64 MB."""
    run = f'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec {sys.executable} -c "$0" {shards}'
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        pytest.skip("namespaces of mounts are not to be had")
    done = subprocess.run(
        [*command, run, SMALL], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == [str(TRAIN)] * 2


ORPHANS = """
import signal, sys, time
from gloam.loaders import TorchLoader

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which `nohup` ignores

loader = TorchLoader(sys.argv[1], batch_size=4, size=24, device="cpu", workers=2)
passing = iter(loader)
next(passing)
print(*(process.pid for process in loader.backend._loader._iterator._workers), flush=True)
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_processes_end_with_their_program_however_it_ends(shards, number):
    command = [sys.executable, "-c", ORPHANS, str(shards)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        processes = [int(pid) for pid in program.stdout.readline().split()]
        assert len(processes) == 2
        program.send_signal(number)
    for pid in processes:
        while running(pid):
            time.sleep(0.05)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _in_daemon(root, queue):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        batches = sum(
            1 for _ in TorchLoader(root, "val", **PLAIN | {"batch_size": 2, "workers": 2})
        )
    queue.put((batches, [str(one.message) for one in said]))


@pytest.mark.slow
def test_a_daemon_which_may_have_no_processes_decodes_by_itself(shards):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_in_daemon, args=(shards, queue), daemon=True)
    process.start()
    batches, said = queue.get(timeout=120)
    process.join()
    assert batches == len(TorchLoader(shards, "val", **PLAIN | {"batch_size": 2}))
    assert [one for one in said if "a daemon" in one and "workers=0" in one]
