"""Sources with labels: pictures on which coloured things are drawn, and annotations of them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image

COLOURS = {"lemon": (220, 30, 30), "mug": (30, 200, 40), "van": (40, 60, 220)}
"""What things of a class look like."""
NAMES = tuple(COLOURS)


def ground(seed: int, width: int, height: int) -> np.ndarray:
    """A grey picture with some texture, unlike any of the colours."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    grey = 120 + 60 * np.sin(x / 9 + seed) * np.cos(y / 7) + rng.normal(0, 4, (height, width))
    return np.repeat(grey.clip(0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def things(seed: int, width: int, height: int) -> list[tuple[str, tuple[int, int, int, int]]]:
    """Names and boxes (left, top, right, bottom: edges) of things that do not touch."""
    rng = np.random.default_rng(1000 + seed)
    found = []
    for column in range(3):
        if seed % 5 == 4:
            return []  # a picture of nothing
        w, h = rng.integers(16, width // 4), rng.integers(16, height // 2)
        left = column * width // 3 + int(rng.integers(0, width // 3 - w))
        top = int(rng.integers(0, height - h))
        found.append((NAMES[int(rng.integers(3))], (left, top, left + int(w), top + int(h))))
    return found


def drawn(seed: int, width: int, height: int) -> np.ndarray:
    image = ground(seed, width, height)
    for name, (left, top, right, bottom) in things(seed, width, height):
        image[top:bottom, left:right] = COLOURS[name]
    return image


def size_of(seed: int) -> tuple[int, int]:
    return 150 + 13 * (seed % 7), 120 + 9 * (seed % 5)


def saved(image: np.ndarray, path: Path, orientation: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"exif": exif} if orientation != 1 else {}
    Image.fromarray(image).save(path, quality=95, subsampling=0, **options)


def orientation_of(seed: int) -> int:
    """All eight in turn."""
    return seed % 8 + 1


def voc_source(root: Path, count: int) -> Path:
    """Lay out as VOC does: 1-based boxes, masks of every third picture, one without a file."""
    for seed in range(count):
        width, height = size_of(seed)
        saved(
            drawn(seed, width, height),
            root / "JPEGImages" / f"{seed:06d}.jpg",
            orientation_of(seed),
        )
        if seed == count - 1:
            continue
        tree = ElementTree.Element("annotation")
        size = ElementTree.SubElement(tree, "size")
        for name, value in (("width", width), ("height", height)):
            ElementTree.SubElement(size, name).text = str(value)
        mask = np.zeros((height, width), np.uint8)
        for place, (name, (left, top, right, bottom)) in enumerate(things(seed, width, height)):
            one = ElementTree.SubElement(tree, "object")
            ElementTree.SubElement(one, "name").text = name
            ElementTree.SubElement(one, "difficult").text = str(int(place == 1))
            box = ElementTree.SubElement(one, "bndbox")
            sides = {"xmin": left + 1, "ymin": top + 1, "xmax": right, "ymax": bottom}
            for side, value in sides.items():
                ElementTree.SubElement(box, side).text = str(value)
            mask[top:bottom, left:right] = NAMES.index(name) + 1
        (root / "Annotations").mkdir(exist_ok=True)
        ElementTree.ElementTree(tree).write(root / "Annotations" / f"{seed:06d}.xml")
        if seed % 3 == 0:
            (root / "SegmentationClass").mkdir(exist_ok=True)
            image = Image.fromarray(mask, "P") if seed % 2 else Image.fromarray(mask)
            if image.mode == "P":
                image.putpalette([value for colour in COLOURS.values() for value in colour])
            image.save(root / "SegmentationClass" / f"{seed:06d}.png")
    return root


def coco_source(root: Path, count: int, first: int = 100) -> Path:
    """Lay out as COCO does: gaps in the ids, polygons, crowds, a box that leaves the picture."""
    ids = {"lemon": 3, "mug": 17, "van": 90}
    images, annotations, captions = [], [], []
    for seed in range(first, first + count):
        width, height = size_of(seed)
        image = drawn(seed, width, height)
        name = f"{seed:012d}.jpg"
        images.append({"id": 7 * seed, "file_name": name, "width": width, "height": height})
        for place, (thing, (left, top, right, bottom)) in enumerate(things(seed, width, height)):
            outline: object = [[left, top, right, top, right, bottom, left, bottom]]
            if place == 2:
                mask = np.zeros((height, width), np.uint8)
                mask[top:bottom, left:right] = 1
                flat = mask.T.ravel()
                edges = [0, *(np.flatnonzero(np.diff(flat)) + 1), flat.size]
                counts = np.diff(edges).tolist()
                outline = {
                    "counts": counts if flat[0] == 0 else [0, *counts],
                    "size": [*mask.shape],
                }
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": 7 * seed,
                    "category_id": ids[thing],
                    "bbox": [left, top, right - left, bottom - top],
                    "area": (right - left) * (bottom - top),
                    "iscrowd": int(place == 2),
                    "segmentation": outline,
                }
            )
        if seed == first:  # half of it outside, and one that is outside altogether
            image[10:40, 0:20] = COLOURS["van"]
            common = {"image_id": 7 * seed, "category_id": 90, "area": 1, "iscrowd": 0}
            for box in ([-20, 10, 40, 30], [-50, 0, 20, 20]):
                annotations.append(
                    {"id": len(annotations) + 1, "bbox": box, "segmentation": [], **common}
                )
        captions.append({"id": seed, "image_id": 7 * seed, "caption": f"Picture “{seed}”\n"})
        saved(image, root / "train2017" / name, orientation_of(seed))
    (root / "annotations").mkdir(exist_ok=True)
    categories = [{"id": number, "name": name} for name, number in ids.items()]
    for kind, made in (("instances", annotations), ("captions", captions)):
        value = {"images": images, "annotations": made, "categories": categories}
        (root / "annotations" / f"{kind}_train2017.json").write_text(json.dumps(value))
    return root / "train2017"


def class_source(root: Path, count: int) -> Path:
    """A folder of class folders."""
    for seed in range(count):
        name = NAMES[seed % 3]
        width, height = size_of(seed)
        image = ground(seed, width, height)
        image[:] = image // 2 + np.array(COLOURS[name], np.uint8) // 2
        saved(
            image,
            root / name / ("deeper" if seed % 2 else "") / f"{seed}.jpg",
            orientation_of(seed),
        )
    return root


def likeness(pixels: np.ndarray, name: str) -> np.ndarray:
    """Return where a picture has the colour of a class: bool (H, W)."""
    difference = pixels.astype(np.int64) - COLOURS[name]
    return np.abs(difference).max(axis=2) < 40
