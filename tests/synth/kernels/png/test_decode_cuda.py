"""Files decoded by a GPU's kernels: there, where there is one; here their logic and their PTX."""

from __future__ import annotations

import threading
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gloam.synth.kernels.png.decode import NOT_OURS, decode_png
from gloam.synth.kernels.png.deflate import deflate
from gloam.synth.kernels.png.deflate import room as room_for
from gloam.synth.kernels.png.file import encode_png
from gloam.synth.kernels.png.inflate import (
    SLACK,
    block_head,
    fill_look,
    join_looks,
    look_up,
    new_room,
)

from .test_file import made_up

pytest.importorskip("numba_cuda")
import numba
from numba import cuda

from gloam.synth.kernels.png import decode_cuda

KINDS = ["noise", "one value", "rare", "smooth"]
SIZES = [(1, 1), (7, 30), (23, 31), (130, 9)]
GPU = cuda.is_available()


def encoded(pixels: np.ndarray) -> np.ndarray:
    return np.frombuffer(encode_png(pixels), np.uint8)


def damaged(data: np.ndarray, place: int) -> np.ndarray:
    made = data.copy()
    made[place] ^= 255
    return made


def run(kernel: Any, blocks: int, threads: int, *arguments: Any, **names: Any) -> None:
    """Run a kernel by threads of this process, its blocks one after the other."""
    local = threading.local()
    for block in range(blocks):
        barrier, shared = threading.Barrier(threads), {}

        def array(shape, dtype, shared=shared):
            local.arrays += 1
            return shared.setdefault(local.arrays, np.zeros(shape, dtype))

        fake = SimpleNamespace(
            shared=SimpleNamespace(array=array),
            syncthreads=barrier.wait,
            blockIdx=SimpleNamespace(x=block),
            threadIdx=local,
        )
        source = kernel.py_func
        known = source.__globals__ | {"cuda": fake} | names
        function = FunctionType(source.__code__, known)
        failed = []

        def work(number, function=function, barrier=barrier, failed=failed):
            local.x, local.arrays = number, 0
            try:
                function(*arguments)
            except Exception as error:  # told below
                failed.append(error)
                barrier.abort()

        workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        assert not failed, failed


HOST = {
    "_begin_of": decode_cuda.begin_of,
    "_is_over": decode_cuda.is_over,
    "_number_at": decode_cuda.number_at,
    "_is_last": decode_cuda.is_last,
    "_block_head": decode_cuda.block_head,
    "_block_bytes": decode_cuda.block_bytes,
    "_fill_look": fill_look,
    "_join_looks": join_looks,
    "_plus_byte": decode_cuda.plus_byte,
    "_followed_by": decode_cuda.followed_by,
    "_unfiltered": decode_cuda.unfiltered,
    "_is_known": decode_cuda.is_known,
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("size", SIZES)
def test_the_kernels_decode_and_find_damage(size):
    """With few threads: a file's rows are then worked on in several parts."""
    height, width = size
    pictures = [made_up(kind, height, width, seed) for seed, kind in enumerate(KINDS)]
    files = [encoded(one) for one in pictures]
    files += [damaged(files[0], len(files[0]) // 2), damaged(files[1], 16), files[2][:-1]]
    files += [
        damaged(files[3], len(files[3]) - 17),
        damaged(files[3], len(files[3]) - 13),
        damaged(files[2], 29),
        encoded(made_up("noise", width + 1, height, 0)),
    ]
    data = np.concatenate([*files, np.zeros(16, np.uint8)])
    ends = np.cumsum([len(one) for one in files])
    count, columns, threads = len(files), 3 * width, 4
    filtered = np.zeros((count, height * (columns + 1) + SLACK), np.uint8)
    behind, pixels = np.zeros(count, np.int64), np.zeros((count, height, columns), np.uint8)
    common = height, columns, filtered, behind
    run(decode_cuda.inflate_files, count, 3, data, ends, *common, **HOST, _CODING=3)
    common = data, ends, *common
    run(decode_cuda.unfilter_files, count, threads, *common, pixels, **HOST, THREADS=threads)
    found = behind != NOT_OURS
    assert found.tolist() == [decode_png(one) is not None and i < 10 for i, one in enumerate(files)]
    assert found[:4].all()
    for i in np.flatnonzero(found):
        np.testing.assert_array_equal(pixels[i].reshape(height, width, 3), decode_png(files[i]))


@pytest.mark.parametrize("length", [40, 999, 20_000])
@pytest.mark.parametrize("spread", range(1, 5))
def test_bytes_are_looked_up_as_on_the_cpu(length, spread):
    rng = np.random.default_rng(spread)
    data = (rng.exponential(3, length) ** spread).clip(0, 255).astype(np.uint8)
    packed = np.zeros(-(-(room_for(length, length) + 100) // 4) * 4, np.uint8)
    deflate(data, length, packed)
    room = new_room()
    place = block_head(packed, 0, room)
    room.singles[:] = 0
    for symbol in range(257):
        fill_look(symbol, room)
    for i in range(len(room.table)):
        join_looks(i, room)
    narrowly = numba.njit(decode_cuda.look_up_narrowly.py_func)
    for begin in (0, 5, length // 2):
        made = [np.zeros(length + SLACK, np.uint8) for _ in range(2)]
        wanted = look_up(packed, place, room.table, made[0], begin)
        assert narrowly(packed, place, room.table, made[1], begin) == wanted
        reached = wanted[1]
        assert reached > begin or length == 40
        np.testing.assert_array_equal(made[1][:reached], made[0][:reached])


def test_the_kernels_compile_to_ptx():
    pytest.importorskip("nvidia.cuda_nvcc", reason="NVIDIA's compiler is not installed")
    from ...render.ptx import array_type, ptx_of

    whole, data, ends = numba.int64, array_type("u1", 1), array_type("i8", 1)
    common = whole, whole, array_type("u1", 2), ends
    texts = [
        ptx_of(decode_cuda.inflate_files, data, ends, *common),
        ptx_of(decode_cuda.unfilter_files, data, ends, *common, array_type("u1", 3)),
    ]
    assert all(".target sm_90" in text and "fma" not in text for text in texts)


def test_threads_leave_the_compiler_as_it_was():
    from numba.cuda.cudadrv import nvvm

    from gloam.synth.kernels.compiling.for_cuda import plain_arithmetic

    before, inside = nvvm.compile_ir, threading.Barrier(3)

    def work():
        for _ in range(50):
            with plain_arithmetic():
                inside.wait()
                assert nvvm.compile_ir is not before

    workers = [threading.Thread(target=work) for _ in range(3)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert nvvm.compile_ir is before


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore")
def test_the_gpu_decodes_and_finds_damage():
    decoder = decode_cuda.PngDecoder(0)
    for count, (height, width) in zip((1, 9, 200, 4), SIZES, strict=True):
        pictures = [made_up(KINDS[i % 4], height, width, i) for i in range(count)]
        files = [encoded(one) for one in pictures]
        for place in (17, 13):  # of the pixels' sum, and of the chunk's
            wrong = [*files[:-1], damaged(files[-1], len(files[-1]) - place)]
            pixels, found = decoder.decode(wrong, height, width)
            assert found.tolist() == [True] * (count - 1) + [False]
        np.testing.assert_array_equal(pixels.copy_to_host()[:-1], pictures[:-1])
