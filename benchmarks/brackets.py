"""`gloam.brackets` on known brackets: what it groups, puts back, fuses and leaves out.

    python benchmarks/brackets.py FRAMES [--seeds 52 53] [--record brackets]

Files are named SCENE_NUMBER.*, as SICE's. For each seed frames are shuffled, renamed, moved by up
to 8.5 pixels and cut by as much; one in ten is tampered with: in one of five of these another
scene's frame is in its place, the others get a patch that is 3 to 30 % of the width wide, of
another place of the frame, of the place itself, rotated, or of another scene's frame of like mean.
A patch counts as visible where means of 5 x 5 pixels differ from what it covers by over 6 levels in
a colour, over .3 of its area; clear where they do by 15 levels over half of it.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from recording import options_of, recorded

import gloam
from gloam.manifests.images.decode import read_rgb
from gloam.synth.brackets.alignment import align

_REACH, _MARGIN = 8.5, 11
_KINDS, _SHARES = ("other scene", "moved", "rotated", "foreign"), (0.2, 0.35, 0.25, 0.2)
_SIZES = ((0.03, 0.06), (0.06, 0.12), (0.12, 0.3))


def wilson(number: int, of: int) -> str:
    """Return a share and its 95 % interval (Wilson 1927), in percent."""
    share, square = number / max(of, 1), 1.96**2 / max(of, 1)
    middle, half = share + square / 2, np.sqrt(share * (1 - share) * square + square**2 / 4)
    low, high = (100 * (middle + side * half) / (1 + square) for side in (-1, 1))
    return f"{number}/{of}  {100 * share:.2f} % [{low:.2f}, {high:.2f}]"


def like(scenes: dict[str, list[Path]], but: str, mean: float, rng: np.random.Generator):
    """Return the frame of a drawn other scene whose mean level is nearest."""
    name = rng.choice([one for one in scenes if one != but])
    frames = [read_rgb(path) for path in scenes[name]]
    return min(frames, key=lambda frame: abs(float(frame.mean()) - mean))


def where(paths: list[Path]) -> list[tuple[str, np.ndarray]]:
    """Return where frames lie as they came: tripods move."""
    frames = [(cv2.cvtColor(read_rgb(path), cv2.COLOR_RGB2GRAY), path.name) for path in paths]
    frames.sort(key=lambda frame: frame[0].mean())
    places = align([grey for grey, _ in frames])
    return [(name, place) for (_, name), place in zip(frames, places, strict=True)]


def paste(frame: np.ndarray, other: np.ndarray | None, kind: str, rng: np.random.Generator):
    """Return a frame with a patch in it, the patch's width over the frame's, and how it is seen."""
    height, width = frame.shape[:2]
    share = float(np.exp(rng.uniform(np.log(_SIZES[0][0]), np.log(_SIZES[-1][1]))))
    across = round(share * width)
    down = across if kind == "rotated" else round(across * rng.uniform(0.7, 1.4))
    y, x = (
        int(rng.integers(14, size - 14 - side)) for size, side in ((height, down), (width, across))
    )
    source, top, left = (frame if other is None else other), y, x
    while kind != "rotated":
        top, left = int(rng.integers(0, height - down)), int(rng.integers(0, width - across))
        if kind == "foreign" or abs(top - y) >= down or abs(left - x) >= across:
            break
    patch = source[top : top + down, left : left + across]
    mask = np.zeros((height, width), np.float32)
    if rng.random() < 0.5:
        mask[y : y + down, x : x + across] = 1
    else:
        half = across // 2, down // 2
        cv2.ellipse(mask, (x + half[0], y + half[1]), half, 0, 0, 360, 1.0, -1)
    full = frame.astype(np.float32)
    full[y : y + down, x : x + across] = (
        np.rot90(patch, rng.integers(1, 4)) if kind == "rotated" else patch
    )
    soft = cv2.GaussianBlur(mask, (0, 0), 0.6)[..., None]
    made = np.rint(frame + soft * (full - frame)).astype(np.uint8)
    off = np.abs(
        cv2.blur(made.astype(np.float32), (5, 5)) - cv2.blur(frame.astype(np.float32), (5, 5))
    )
    off = off.max(2)[mask > 0.5]
    seen = "clear" if (off > 15).mean() > 0.5 else "visible" if (off > 6).mean() > 0.3 else "unseen"
    return made, share, seen


def write(scenes: dict[str, list[Path]], folder: Path, seed: int) -> dict[str, dict]:
    """Write the frames of a seed; returns what each file is."""
    rng = np.random.default_rng(seed)
    paths = [(name, path) for name, own in scenes.items() for path in own]
    told = {}
    for number, at in enumerate(rng.permutation(len(paths))):
        name, path = paths[at]
        frame, kind, size, seen = read_rgb(path), "good", 0.0, ""
        if rng.random() < 0.1:
            kind = str(rng.choice(_KINDS, p=_SHARES))
            far = kind in ("other scene", "foreign")
            other = like(scenes, name, float(frame.mean()), rng) if far else None
            if kind == "other scene":
                frame = other
            else:
                frame, size, seen = paste(frame, other, kind, rng)
        move = rng.uniform(-_REACH, _REACH, 2)
        matrix = np.array([[1, 0, _MARGIN + move[1]], [0, 1, _MARGIN + move[0]]])
        sides = frame.shape[1] - 2 * _MARGIN, frame.shape[0] - 2 * _MARGIN
        moved = cv2.warpAffine(frame, matrix, sides, flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP)
        file = f"{number:05}.png"
        Image.fromarray(moved).save(folder / file, compress_level=1)
        told[file] = {
            "scene": name,
            "from": path.name,
            "kind": kind,
            "size": size,
            "seen": seen,
            "move": move,
        }
    return told


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("frames", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[52, 53])
    parser.add_argument("--every", type=int, nargs=2, default=(1, 0), help="of N scenes the Mth")
    parser.add_argument("--workers", type=int)
    args = parser.parse_args()
    scenes = defaultdict(list)
    for path in sorted(args.frames.iterdir()):
        scenes[path.stem.split("_")[0]].append(path)
    scenes = {name: scenes[name] for name in list(scenes)[args.every[1] :: args.every[0]]}
    out, moved, fused, grouped = Counter(), Counter(), Counter(), Counter()
    near: list[bool] = []
    lies = {one: place for paths in scenes.values() for one, place in where(paths)}
    with recorded(args.record):
        for seed in args.seeds:
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "in").mkdir()
                told = write(scenes, Path(folder) / "in", seed)
                uses = gloam.brackets(f"{folder}/in", f"{folder}/out", workers=args.workers).uses
            names, owners = defaultdict(list), defaultdict(set)
            for use in uses:
                one = told[use.file]
                if one["kind"] == "good":
                    names[one["scene"]].append(use)
                    owners[use.bracket].add(one["scene"])
                    if use.role == "left out":
                        out[use.note] += 1
                        print(f"seed {seed}: {one['from']} left out: {use.note}")
            for use in uses:
                one = told[use.file]
                if one["kind"] == "good":
                    continue
                size = next((size for size in _SIZES if size[0] <= one["size"] < size[1]), None)
                row = one["kind"], one["seen"], size
                moved[row] += 1  # another scene's frame may be fused with that scene's
                if use.role != "left out" and one["scene"] in owners[use.bracket]:
                    fused[row] += 1
                    what = f"{one['kind']}, {one['size']:.3f}, {one['seen']}"
                    print(f"seed {seed}: {one['from']} fused: {what}")
            for own in names.values():
                brackets = Counter(use.bracket for use in own if use.bracket)
                ((most, number),) = brackets.most_common(1) or [("", 0)]
                grouped["right"] += number if len(owners[most]) == 1 else 0
                grouped["all"] += len(own)
                held = [use for use in own if use.down is not None]
                if held:
                    truth = [told[use.file]["move"] - lies[told[use.file]["from"]] for use in held]
                    places = np.array([(use.down, use.across) for use in held]) + truth
                    near += list(np.abs(places - np.median(places, 0)).max(1) <= 0.2)
        print(f"frames grouped as known: {wilson(grouped['right'], grouped['all'])}")
        print(f"within .2 pixels: {wilson(sum(near), len(near))}")
        print(f"good frames left out: {wilson(sum(out.values()), grouped['all'])}")
        for why, number in out.most_common():
            print(f"  {number} {why}")
        for kind in _KINDS:
            for seen in ("", "clear", "visible", "unseen"):
                for size in (None, *_SIZES):
                    row = kind, seen, size
                    if moved[row]:
                        words = [kind, seen, size and f"{size[0]:.0%} to {size[1]:.0%} wide"]
                        held = ", ".join(word for word in words if word)
                        print(f"fused all the same, {held}: {wilson(fused[row], moved[row])}")


if __name__ == "__main__":
    main()
