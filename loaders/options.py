"""How pairs are loaded: one validated object that all readers share."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ..errors import LoaderError


class Options(BaseModel):
    """Processing and order.

    Attributes
    ----------
    batch_size : int
        Of this rank.
    size : (height, width), int or None
        Of the images that come out; None keeps each pair's own.
    crop : str
        How `size` is reached: "random" (a window at native resolution; smaller images are enlarged
        first), "resize" (the whole image, aspect not kept, which averages most of a low's noise
        away) or "random-resized" (a window of .35 to 1 of the area, as in ImageNet training).
        Loaders of pairs and clips take "random" for split train where a size is given, and "resize"
        otherwise; ImageLoader takes "resize".
    augment : bool
        Flips and rotations by 90 degrees, all eight equally likely (four for images that are not
        square). The same for both images of a pair, as is every crop.
    pad : bool
        With size None: fill up to the largest image of a batch with black, to the right and below.
    dtype : str
        "float32", "float16" or "uint8".
    value_range : (low, high)
        (0, 1) or (-1, 1); for uint8 always 0 to 255.
    layout : str
        "CHW" or "HWC".
    framework : str
        "torch" tensors, "numpy" arrays (on the CPU) or "cupy" arrays (on a GPU), over the same
        memory.
    shuffle : bool
    shuffle_buffer : int
        Samples among which the webdataset and file readers draw the next one; shards are shuffled
        as a whole besides. (The external reader and TorchLoader shuffle without limit.) No more
        than a rank has; and at most 8,190 of files, as Linux maps no more of them at once.
    seed : int
    last_batch : str, optional
        "drop" gives every rank equally many whole batches, as many as all samples fill; "partial"
        every sample once; "even" every sample once and every rank equally many batches, of one
        sample only where `batch_size` is not 1; "padded" every rank equally many whole batches,
        samples from the beginning of the epoch filling the last ones: rank r has batch
        b * world_size + r of the epoch, and `padded` of the loader says how many samples at the end
        of a batch are such repetitions. By default None for validation: "padded" where Accelerate
        gathers from several ranks (so Hugging Face's Trainer does), "even" in another process group
        of torch.distributed, else "partial".
    keys : bool
        Yield the pairs' keys as a third item.
    labels : bool
        Yield the pairs' labels as the last item; see `labels.batch_labels`.
    device : str
        "gpu" or "cpu".
    threads : int
        That decode on the CPU, or processes of TorchLoader, which may be 0.
    hw_decoder_load : float
        Share of JPEGs that the GPU's hardware decoder takes, the rest goes to its cores. PairLoader
        takes .9, and 1 where four processes or more of one host train together. On an H200 that is
        fastest when nothing else runs (benchmarks/results/loaders-h200.txt); 1 is for models that
        train as fast as pairs are decoded, as they need the cores themselves. What the cores decode
        passes the host's memory as coefficients, which several GPUs share
        (benchmarks/results/several-gpus-h200.txt).
    exact : bool
        Of live lows: decode normals on the CPU, as libjpeg-turbo does.
    resident_side : int, optional
        Longer side of the images that stay in memory; longer ones are made smaller.
    prefetch : int
        Batches made ahead. Four keep the GPU's decoders busy while a step of training holds its
        cores.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch_size: int = Field(ge=1)
    size: tuple[int, int] | None = None
    crop: Literal["resize", "random", "random-resized"] = "resize"
    augment: bool = False
    pad: bool = False
    dtype: Literal["float32", "float16", "uint8"] = "float32"
    value_range: tuple[float, float] = (0, 1)
    layout: Literal["CHW", "HWC"] = "CHW"
    framework: Literal["torch", "numpy", "cupy"] = "torch"
    shuffle: bool = True
    shuffle_buffer: int = Field(default=4096, ge=1)
    seed: int = Field(default=0, ge=0)
    last_batch: Literal["drop", "partial", "even", "padded"] | None = "drop"
    keys: bool = False
    labels: bool = False
    device: Literal["gpu", "cpu"] = "cpu"
    threads: int = Field(default=4, ge=0)
    hw_decoder_load: float = Field(default=0.9, ge=0, le=1)
    exact: bool = False
    resident_side: int | None = Field(default=None, ge=1)
    prefetch: int = Field(default=4, ge=1)

    @field_validator("size", mode="before")
    @classmethod
    def _both_sides(cls, size: Any) -> Any:
        return (size, size) if isinstance(size, int) and not isinstance(size, bool) else size

    @model_validator(mode="after")
    def _fitting(self) -> Options:
        if self.size is not None and min(self.size) < 1:
            raise ValueError("size must be at least 1")
        if self.size is None and self.crop != "resize":
            raise ValueError(f"crop={self.crop!r} needs a size")
        if self.size is not None and self.pad:
            raise ValueError("pad is for size=None")
        if self.labels and self.resident_side is not None:
            raise ValueError("labels are of whole normals: leave resident_side out")
        if tuple(self.value_range) not in ((0, 1), (-1, 1)):
            raise ValueError("value_range must be (0, 1) or (-1, 1)")
        return self

    @property
    def square(self) -> bool:
        """Whether a transposed image keeps its shape."""
        return self.size is None or self.size[0] == self.size[1]

    @property
    def cuts(self) -> bool:
        """Whether a window of each image is kept, and not the whole."""
        return self.crop != "resize"  # which needs a size

    @property
    def changes(self) -> bool:
        """Whether images are cut or flipped."""
        return self.cuts or self.augment

    @property
    def levels_to_values(self) -> tuple[float, float]:
        """Shift and scale: a level, 0 to 255, becomes (level - shift) * scale."""
        if self.dtype == "uint8":
            return 0.0, 1.0
        return (127.5, 1 / 127.5) if self.value_range[0] < 0 else (0.0, 1 / 255)

    def fingerprint(self) -> dict[str, Any]:
        """Return the options that decide which samples come in which order and form.

        A state fits only the same.
        """
        ignored = {"device", "threads", "hw_decoder_load", "prefetch", "framework"}
        if not self.labels:  # as states were before there were any
            ignored.add("labels")
        return self.model_dump(mode="json", exclude=ignored)


class Nothing(TypedDict):
    """The type of keywords that there are not.

    Editors and type checkers show them, and `make_options` names them.
    """


def make_options(unknown: Mapping[str, object], training: bool, **values: Any) -> Options:
    """Validate the options of a loader.

    Parameters
    ----------
    unknown : mapping
        What was given besides the options that there are.
    training : bool
        Whether what is not given (None) is as for training.
    **values
        Those.

    Raises
    ------
    LoaderError
        Naming the option, its value and what is allowed.
    """
    for name in unknown:
        known = [*Options.model_fields, "workers", "rank", "world_size"]
        near = difflib.get_close_matches(name, known, 1, 0.6)
        raise LoaderError(
            f"{name}: no such option"
            + (f"; {near[0]} is meant?" if near else f"; there are {', '.join(known)}")
        )
    if values.get("batch_size") is None:
        raise LoaderError(
            "batch_size is missing: say how many pairs a batch holds, as in batch_size=16"
        )
    if values["shuffle"] is None:
        values["shuffle"] = training
    if values["last_batch"] is None and training:
        values["last_batch"] = "drop"
    if values["crop"] is None:
        values["crop"] = "random" if training and values["size"] is not None else "resize"
    try:
        return Options(**values)
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        where = ".".join(str(part) for part in first["loc"])
        raise LoaderError(
            f"{where} = {first['input']!r}: {message}" if where else message
        ) from error


def same_number(workers: int | None, threads: int | None) -> int | None:
    """Return how many decode side by side, by either of its two names.

    Raises
    ------
    LoaderError
        When they differ, or are below 0.
    """
    if None not in (workers, threads) and workers != threads:
        raise LoaderError(
            f"workers = {workers}, threads = {threads}: are two names of one number; give one of"
            " them"
        )
    name, number = ("threads", threads) if workers is None else ("workers", workers)
    if isinstance(number, int) and number < 0:
        raise LoaderError(f"{name} = {number}: must be 0 or more")
    return number
