"""Labels as members of a sample: `KEY.cls`, `KEY.boxes.npy`, `KEY.classes.npy`, `KEY.mask.png`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..images.normals import encode_grey
from ..images.npy import npy_bytes
from ..labels.labels import BOXES, CLASS, CLASSES, MASK, NO_CLASS, VOID, Labels
from .sample import Encoded


def members_of(
    labels: Labels, roles: Sequence[str], classes: Mapping[str, int]
) -> dict[str, Encoded]:
    """Return the members that hold a photograph's labels.

    All samples of a set have the same: one without a class has the number -1, one without objects
    arrays of none, one without a mask a mask of 255.

    labels: on the stored normal.
    roles: which of "cls", "boxes", "classes", "mask" the set has.
    classes: mapping of name to number.
    """
    marked = labels.marked
    made: dict[str, Encoded] = {}
    if CLASS in roles:
        number = classes[labels.name] if labels.name else NO_CLASS
        made[CLASS] = Encoded(str(number).encode(), "")
    if BOXES in roles:
        boxes = np.array([one.box for one in marked], np.float32).reshape(-1, 4)
        made[BOXES] = Encoded(npy_bytes(boxes), "npy")
        numbers = np.array([classes[one.name] for one in marked], np.int32)
        made[CLASSES] = Encoded(npy_bytes(numbers), "npy")
    if MASK in roles:
        width, height = labels.size
        nothing = np.full((height, width), VOID, np.uint8)
        made[MASK] = Encoded(labels.mask or encode_grey(nothing), "png")
    return made
