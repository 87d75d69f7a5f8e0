"""Clips in training: ClipLoader's readers beside a plain DataLoader, as ratios within one run.

    python benchmarks/clips.py FOLDER [--videos 24] [--seconds 10] [--record clips]

FOLDER takes a set of clips and H.264 videos of panned pictures (those inside scikit-image). Timed
are clips of 8 frames, whole ones resized to 192 x 192 in batches of 16: stored lows and normals out
of tar members, live lows of the same, and live lows of the videos; by DALI where it decodes them,
by workers, and those of videos by PyAV, part after part. Beside them stands a DataLoader of PyAV as
one writes it by hand, with as many processes: it seeks, decodes and resizes a clip's frames, and
darkens nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import skimage.data
import torch
from recording import options_of, recorded
from torch.utils.data import DataLoader, Dataset

import gloam
from gloam.engines.process import available_cores
from gloam.errors import LoaderError

FRAMES, SIZE, BATCH = 8, 192, 16
HEIGHT, WIDTH, LENGTH = 270, 480, 96


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--videos", type=int, default=24, help=f"of {LENGTH} frames each")
    parser.add_argument("--seconds", type=float, default=10.0, help="that each way is timed")
    args = parser.parse_args()
    cores = available_cores()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    videos, root = args.folder / "videos", args.folder / "set"
    videos.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(cores) as pool:
        list(pool.map(partial(write_video, videos), range(args.videos)))
    gloam.build(
        root, f"clips={videos}", recipe="even", frames=FRAMES, select=False, shard_size=16,
        workers=cores,
    )  # fmt: skip
    common = {
        "batch_size": BATCH,
        "size": SIZE,
        "crop": "resize",
        "device": device,
        "workers": cores,
    }
    ways: dict[str, Callable[[], Iterable[Any]]] = {
        "PyAV by hand, videos, no lows": partial(by_hand, videos, cores)
    }
    pyav = {"pyav": {"decoder": "pyav"}}
    for name, data, more in (
        ("tar members, stored", root, {}),
        ("tar members, live", root, {"live": True}),
        ("tar members, live, random crops", root, {"live": True, "crop": "random"}),
        ("videos, live", videos, {"frames": FRAMES, "recipe": "even"}),
    ):
        who = {"dali": {"backend": "dali"}, "workers": {"backend": "torch"}}
        for how, asked in who.items() if data == root else (who | pyav).items():
            make = partial(gloam.ClipLoader, data, **common | more | asked)
            ways[f"ClipLoader, {name}, {how}"] = make
    with recorded(args.record):
        on = torch.cuda.get_device_name() if device == "cuda" else "no GPU"
        print(f"{cores} cores, {on}; clips of {FRAMES} frames, {WIDTH} x {HEIGHT} to {SIZE}")
        floor = None
        for name, make in ways.items():
            try:
                speed = clips_a_second(make(), args.seconds)
            except LoaderError as error:
                print(f"{name}: {error}")
                continue
            floor = floor or speed
            print(f"{name}: {speed:,.0f} clips/s, {speed / floor:.2f} of PyAV by hand")


def clips_a_second(loader: Iterable[Any], seconds: float) -> float:
    """Count all passes that fit into a time, after two for warming up.

    Not the fastest one: what is decoded ahead may be a whole pass.
    """
    for _ in range(2):
        for _ in loader:
            pass
    clips, begin = 0, time.perf_counter()
    while (now := time.perf_counter()) < begin + seconds:
        clips += sum(len(batch[0]) for batch in loader)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    if hasattr(loader, "close"):
        loader.close()
    return clips / (now - begin)


def write_video(folder: Path, number: int) -> None:
    """A camera that pans over a picture."""
    path = folder / f"v{number:04d}.mp4"
    if path.is_file():
        return
    names = ("astronaut", "coffee", "chelsea", "rocket")
    whole = getattr(skimage.data, names[number % 4])()[..., :3]
    whole = cv2.resize(whole, (WIDTH + 2 * LENGTH, HEIGHT + LENGTH))
    rng = np.random.default_rng(number)
    with av.open(str(path), "w") as made:
        stream = made.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.options = {"crf": "18"}
        steps = rng.uniform(-1, 1, 2)
        for n in range(LENGTH):
            y, x = (
                round(LENGTH / 2 * (1 + step * (n / LENGTH - 0.5)) * side)
                for step, side in zip(steps, (1, 2), strict=True)
            )
            frame = np.ascontiguousarray(whole[y : y + HEIGHT, x : x + WIDTH])
            for packet in stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                made.mux(packet)
        for packet in stream.encode():
            made.mux(packet)


class ByHand(Dataset[torch.Tensor]):
    """Clips of videos as one writes it: seek, decode, resize."""

    def __init__(self, folder: Path) -> None:
        files = sorted(folder.iterdir())
        self.clips = [(file, n) for file in files for n in range(0, LENGTH, FRAMES)]

    def __len__(self) -> int:
        return len(self.clips)

    def __getitem__(self, number: int) -> torch.Tensor:
        file, first = self.clips[number]
        with av.open(str(file)) as container:
            stream = container.streams.video[0]
            begin = int(first / stream.average_rate / stream.time_base)
            container.seek(begin, stream=stream, backward=True)
            shown = (f for f in container.decode(stream) if f.pts is not None and f.pts >= begin)
            frames = [
                cv2.resize(f.to_ndarray(format="rgb24"), (SIZE, SIZE), interpolation=cv2.INTER_AREA)
                for f in islice(shown, FRAMES)
            ]
        return torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2).float().div_(255)


def by_hand(folder: Path, workers: int) -> DataLoader[torch.Tensor]:
    return DataLoader(
        ByHand(folder), BATCH, shuffle=True, num_workers=workers, drop_last=True,
        persistent_workers=True, collate_fn=_pair,
    )  # fmt: skip


def _pair(frames: list[torch.Tensor]) -> tuple[torch.Tensor]:
    return (torch.stack(frames),)


if __name__ == "__main__":
    main()
