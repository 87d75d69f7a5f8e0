"""The options of loaders: their names and types, and one checked object that all parts share."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ..errors import GloamWarning, LoaderError
from ..storage.untrusted import Whole

if TYPE_CHECKING:
    import torch

    from ..synth.recipes.load import Recipe

BACKENDS = ("auto", "dali", "torch")
EXTRAS = (
    *("component", "draw", "ev", "mask", "emitter-light"),
    *("noise", "noise-linear", "light", "clean", "linear"),
)
"""What `PairOptions.extras` may name."""
MOST = 1 << 16
"""Largest number of samples, pixels, workers and the like."""
Size = int | tuple[int, int]
Crop = Literal["resize", "random", "random-resized"]
Backend = Literal["auto", "dali", "torch"]


class LoaderOptions(TypedDict, total=False):
    """The options of every loader; all but `batch_size` may be left out.

    Attributes
    ----------
    batch_size : int
        Samples a batch, of this rank.
    size : (height, width), int, dict of step to either, or None
        Size of the images that come out; None, the default, keeps each pair's own. PairLoader
        takes a schedule, too, {0: 128, 20000: 192}: from which step on, each a batch of all ranks.
    crop : str
        How `size` is reached: "random" (a window at native resolution; smaller images are enlarged
        first), "resize" (the whole image, aspect not kept, which averages most of a low's noise
        away) or "random-resized" (a window of .35 to 1 of the area, as in ImageNet training).
        Loaders of pairs and clips take "random" for split train where a size is given, and "resize"
        otherwise; ImageLoader takes "resize". Windows and flips are a function of seed, epoch, key
        and the image's size, the same for every loader and backend.
    augment : bool
        Flips and rotations by 90 degrees, all eight equally likely (four for images that are not
        square). The same for both images of a pair, as is every crop. By default False.
    pad : bool
        With size None: fill up to the largest image of a batch with black, to the right and below.
        By default False.
    dtype : str
        "float32", the default, "float16" or "uint8".
    value_range : (low, high)
        (0, 1), the default, or (-1, 1); for uint8 always 0 to 255.
    layout : str
        "CHW", the default, or "HWC".
    framework : str
        "torch" tensors, the default, "numpy" arrays (on the CPU) or "cupy" arrays (on a GPU), over
        the same memory.
    shuffle : bool
        Draw a new order in every epoch. By default True for split train, False otherwise.
    seed : int
        Random seed of order, crops, flips and new lows; 0 by default.
    last_batch : str, optional
        "drop" gives every rank equally many whole batches, as many as all samples fill; "partial"
        every sample once; "even" every sample once and every rank equally many batches, of one
        sample only where `batch_size` is not 1; "padded" every rank equally many whole batches,
        samples from the beginning of the epoch filling the last ones: rank r has batch
        b * world_size + r of the epoch, and `padded` of the loader says how many samples at the end
        of a batch are such repetitions. By default "drop" for train, and for validation "padded"
        where Accelerate gathers from several ranks (so Hugging Face's Trainer does), "even" in
        another process group of torch.distributed, else "partial".
    keys : bool
        Yield the samples' keys, after the images. By default False.
    device : str, int or torch.device
        "cuda" (or "gpu"), "cuda:1", "cpu", or "auto", the default: a GPU if torch sees one. Where
        no number is given, torch's current one when the first batch is made. backend="torch" knows
        Apple's "mps" as well.
    rank, world_size : int
        This process among those that train together. By default found at the first batch, from
        torch.distributed, torchrun's or SLURM's environment, or 0 of 1.
    workers : int
        Threads that read and decode (DALI), or processes (torch; 0 decodes in this one). By default
        this rank's share of the cores.
    prefetch : int
        Batches made ahead, of each process with torch; 4 by default, which keeps a GPU's decoders
        busy while a step of training holds its cores.
    backend : str
        "dali" (NVIDIA DALI: reads, decodes and resizes, on a GPU or the CPU), "torch" (a DataLoader
        with processes that decode on the CPU), or "auto", the default: DALI where it is installed
        and knows the device; torch for mixtures and `extras` on a CPU. Batches differ by decoder
        and resizer alone.
    """

    batch_size: Required[int]
    size: Size | Mapping[int, Size] | None
    crop: Crop | None
    augment: bool
    pad: bool
    dtype: Literal["float32", "float16", "uint8"]
    value_range: tuple[float, float]
    layout: Literal["CHW", "HWC"]
    framework: Literal["torch", "numpy", "cupy"]
    shuffle: bool | None
    seed: int
    last_batch: Literal["drop", "partial", "even", "padded"] | None
    keys: bool
    device: str | int | torch.device
    rank: int | None
    world_size: int | None
    workers: int | None
    prefetch: int
    backend: Backend


class ImageOptions(LoaderOptions, total=False):
    """The options of ImageLoader.

    Attributes
    ----------
    hw_decoder_load : float
        Share of JPEGs that the GPU's hardware decoder takes, the rest goes to its cores: .9 by
        default, and 1 for live lows and where four processes or more of one host train together.
        On an H200 that is fastest when nothing else runs (benchmarks/results/loaders-h200.txt); 1
        is for models that train as fast as pairs are decoded, as they need the cores themselves.
        Coefficients that the cores decode pass the host's memory, which several GPUs share
        (benchmarks/results/several-gpus-h200.txt).
    cache : str or Path
        Folder of this machine that the shards of a set in a store are copied to while they are
        loaded.
    cache_gb : float
        10^9 bytes that they may take.
    """

    hw_decoder_load: float | None
    cache: str | Path | None
    cache_gb: float | None


class PairOptions(ImageOptions, total=False):
    """The options of PairLoader and TorchLoader.

    Attributes
    ----------
    extras : sequence of str
        Yield what draws know, as a dict, the last item: "draw" (a dict: `records`, and `table` of
        float64 columns (N) by the numbers' paths), "ev" (N), "noise" (standard deviation of each
        pixel's noise, from the model, in the images' units), "noise-linear" (the same in linear
        light, 0 to 1), "light" (the illumination field, EV), "clean" (the low without noise, not
        rounded), "linear" (that in linear light), "mask" (1 within emitters' discs),
        "emitter-light" (what they add, linear, 1 is what the sensor holds), "component" (names, of
        mixtures). Maps are (N, C, H, W) in the images' layout, float32 (float16 with such images),
        moved as the pixels are; where a picture is resized, noise is that before. What is not known
        (of lists, of real pairs) is NaN, or None. backend="auto" takes torch then on a
        CPU.
    unpaired : bool
        Give dark and bright pictures that have nothing to do with each other, each list in an order
        of its own: `data` is two lists, (DARK, BRIGHT), as `pairs_in` has them of one folder, and
        `size` must be given. By default False.
    labels : bool
        Yield the labels of a set that was built with `--labels`, as the last item: a dict, see
        `gloam.loaders.labels.batch_labels`. By default False.
    normals : str or Path
        The set that a set of lows only (`gloam regenerate --low-only`) was made from.
    live : bool
        Make each low when its pair is read, from the decoded normal: exact noise without stored
        lows, new noise in every epoch, or another recipe. `data` may then be a list of normals
        alone. By default so for sets that hold no lows (`gloam build --low-codec none`).
    recipe : Recipe, str, or dict of step to either
        Recipe of live lows; by default the set's own, or "train-any" for lists. PairLoader takes a
        schedule, too, {0: "train", 20000: "even"}.
    draws : str
        For live lows: "fresh" draws anew in every epoch, a function of (seed, epoch, key); "set"
        draws what the set has stored, or would have. By default "fresh" for train, "set" for val.
    exact : bool
        For live lows: decode normals as the set's lows were made from them, with libjpeg-turbo on
        the CPU. A GPU's decoder differs by up to 3 levels, and so do the lows; backend="torch" is
        always exact. Of a mixture all images are decoded so. By default False.
    resident : bool or "auto"
        With DALI: keep this rank's pairs in memory, decoded once: the GPU's, or the host's for
        device="cpu"; normals alone where lows are live. Each rank keeps its own part, shuffled anew
        in every epoch. "auto" does so where they fit, and reads them batch by batch otherwise. By
        default False.
    resident_side : int
        Longer side of what stays in memory; longer images are made smaller.
    decoder : str
        With backend="torch": "opencv", the default, or "pillow".
    """

    extras: Sequence[str]
    unpaired: bool
    labels: bool
    normals: str | Path | None
    live: bool | None
    recipe: Recipe | str | Mapping[int, Recipe | str] | None
    draws: Literal["fresh", "set"] | None
    exact: bool | None
    resident: bool | Literal["auto"]
    resident_side: int | None
    decoder: Literal["opencv", "pillow"] | None


class ClipOptions(LoaderOptions, total=False):
    """The options of ClipLoader.

    Attributes
    ----------
    frames : int
        Frames of each clip, where `data` is no set (8); a set's clips have as many as it was built
        with.
    stride, step : int
        There: from one frame of a clip to its next one (1), and from the first frame of a clip to
        that of the next clip (`frames`), as DALI's video readers have them.
    live : bool
        Make lows when a clip is read: of a set's recipe or another one; folders are always live.
    recipe, draws
        See `PairOptions`.
    decoder : str
        "dali", or "pyav" for videos: PyAV in processes, part by part, each group of frames once an
        epoch. By default what is faster and can read the clips, see `clips.clip_loader`; with
        backend="torch" each process decodes its own clips.
    """

    frames: int | None
    stride: int | None
    step: int | None
    live: bool | None
    recipe: Recipe | str | None
    draws: Literal["fresh", "set"] | None
    decoder: Literal["dali", "pyav"] | None


_ELSEWHERE = {
    "workers=4": "threads num_workers nworkers n_threads num_threads n_jobs jobs nproc n_cpu"
    " num_worker_per_gpu workers_per_gpu",
    "size=128": "patch_size patch gt_size gt_sizes gt_patch_size lq_size lr_size hr_size image_size"
    " img_size imgsz input_size target_size load_size fine_size ps train_ps window window_size"
    " resolution width height",
    'size=128, crop="random"': "crop_size random_crop",
    'size=128, crop="resize"': "resize",
    "batch_size=16": "bs batch batch_size_per_gpu batch_size_per_device train_batch_size"
    " val_batch_size per_device_train_batch_size samples_per_gpu mini_batch_size mini_batch_sizes",
    'last_batch="drop" or "partial"': "drop_last drop_remainder",
    "augment=True, which flips and turns": "hflip vflip flip flips use_flip use_hflip random_flip"
    " horizontal_flip vertical_flip geometric_augs rot use_rot rotate rotation augmentation"
    " augmentations aug data_augmentation",
    "augment=True, or crop=, which change both images alike,": "transform transforms"
    " train_transform target_transform transform_fn",
    "prefetch=4": "prefetch_factor prefetch_queue_depth num_prefetch",
    "seed=0": "random_seed manual_seed random_state generator worker_seed",
    "rank= and world_size=, which are found by themselves,": "sampler distributed dist"
    " num_shards shard_id num_replicas local_rank global_rank num_gpus",
    "value_range=(-1, 1), as images keep their size,": "scale rescale",
    "value_range=(-1, 1)": "normalize normalise norm mean std",
    'layout="HWC"': "channels_last data_format channel_order",
    'dtype="float16"': "fp16 half precision amp",
    "keys=True": "return_keys return_key return_path return_paths return_names with_keys",
    "frames=8": "num_frames num_frame n_frames clip_len clip_length seq_len sequence_length",
    'device="cuda:1"': "device_id device_ids gpu gpus gpu_id gpu_ids",
    'split="train" or "val"': "phase mode train is_train training subset stage",
    "repeat= of a component of gloam.mix": "repeat repeats dataset_enlarge_ratio enlarge_ratio",
    "the first argument, a set, its folder or a list of pairs,": "root dataroot data_root data_dir"
    " dataset path folder dir low_dir dataroot_lq dataroot_gt",
}
"""What other trainers' names mean here, whatever their case."""
_OTHERS = {"PairLoader": PairOptions, "ClipLoader": ClipOptions}
_EARLIER = {"give": "extras"}
"""Options by the names that earlier states of gloam had for them."""
_WITHOUT_EFFECT = ("reader", "shuffle_buffer")  # options of earlier states
_TRUTHS = "live", "exact", "labels", "unpaired", "augment", "pad", "keys", "shuffle"
_BY_ITSELF = "pin_memory persistent_workers pin_memory_device non_blocking collate_fn timeout"
_BY_ITSELF += " worker_init_fn multiprocessing_context batch_sampler in_order"
"""Names of DataLoader's that these loaders see to."""


class Options(BaseModel):
    """Checked options, with their defaults, as pipelines and batches need them.

    `LoaderOptions`, `ImageOptions` and `PairOptions` say what each means.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch_size: Whole = Field(ge=1, le=MOST)
    size: tuple[Whole, Whole] | None = None
    crop: Literal["resize", "random", "random-resized"] = "resize"
    augment: bool = False
    pad: bool = False
    dtype: Literal["float32", "float16", "uint8"] = "float32"
    value_range: tuple[float, float] = (0, 1)
    layout: Literal["CHW", "HWC"] = "CHW"
    framework: Literal["torch", "numpy", "cupy"] = "torch"
    shuffle: bool = True
    seed: Whole = Field(default=0, ge=0, lt=2**63)
    last_batch: Literal["drop", "partial", "even", "padded"] | None = "drop"
    keys: bool = False
    labels: bool = False
    extras: tuple[str, ...] = ()
    device: Literal["gpu", "cpu"] = "cpu"
    workers: Whole = Field(default=4, ge=0, le=MOST)
    hw_decoder_load: float = Field(default=0.9, ge=0, le=1)
    exact: bool = False
    resident_side: Whole | None = Field(default=None, ge=1)
    prefetch: Whole = Field(default=4, ge=1, le=MOST)

    @field_validator("size", mode="before")
    @classmethod
    def _both_sides(cls, size: Any) -> Any:
        return size if size is None or isinstance(size, tuple | list) else (size, size)

    @model_validator(mode="after")
    def _fitting(self) -> Options:
        if self.size is not None and not 1 <= min(self.size) <= max(self.size) <= MOST:
            raise ValueError(f"size must be 1 to {MOST}")
        if self.size is None and self.crop != "resize":
            raise ValueError(f"crop={self.crop!r} needs a size")
        if self.size is not None and self.pad:
            raise ValueError("pad is for size=None")
        if self.labels and self.resident_side is not None:
            raise ValueError("labels are of whole normals: leave resident_side out")
        unknown = [name for name in self.extras if name not in EXTRAS]
        if unknown:
            raise ValueError(f"extras {unknown[0]!r}: must be some of {', '.join(EXTRAS)}")
        if tuple(self.value_range) not in ((0, 1), (-1, 1)):
            raise ValueError("value_range must be (0, 1) or (-1, 1)")
        return self

    @property
    def square(self) -> bool:
        """True if a transposed image keeps its shape."""
        return self.size is None or self.size[0] == self.size[1]

    @property
    def cuts(self) -> bool:
        """True if images are cropped."""
        return self.crop != "resize"  # which needs a size

    @property
    def maps(self) -> tuple[str, ...]:
        """Names of `extras` that are given of each pixel."""
        return tuple(name for name in self.extras if name not in ("component", "draw", "ev"))

    @property
    def mean_and_std(self) -> tuple[float, float]:
        """Mean and deviation: a level, 0 to 255, becomes (level - mean) / std."""
        if self.dtype == "uint8":
            return 0.0, 1.0
        return (127.5, 127.5) if self.value_range[0] < 0 else (0.0, 255.0)

    @property
    def levels_to_values(self) -> tuple[float, float]:
        """Shift and scale: a level, 0 to 255, becomes (level - shift) * scale."""
        mean, std = self.mean_and_std
        return mean, 1 / std

    def fingerprint(self) -> dict[str, Any]:
        """Return the options that decide which samples come in which order and form.

        A state fits only the same.
        """
        ignored = {"device", "workers", "hw_decoder_load", "prefetch", "framework", "extras"}
        if not self.labels:  # as states were before there were any
            ignored.add("labels")
        return self.model_dump(mode="json", exclude=ignored)


def _plain(name: str) -> str:
    """Return a name without what is written in one way or another."""
    return name.lower().replace("_", "")


_BY_OTHER_NAMES = {
    _plain(name): f"{meant} is meant"
    for meant, names in _ELSEWHERE.items()
    for name in names.split()
} | {_plain(name): "the loader sees to it, leave it out" for name in _BY_ITSELF.split()}


def named_options(given: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    """Return options by the names that they have, those of earlier states with a warning.

    kind: TypedDict; `PairOptions`, say.

    Raises LoaderError where there is no such option, naming the one that is meant.
    """
    known = list(kind.__annotations__)
    for name in () if kind is ClipOptions else set(given) & {*_EARLIER, *_WITHOUT_EFFECT}:
        now = _EARLIER.get(name)
        said = f"{name}= is called {now}= now" if now else f"{name}= has no effect: leave it out"
        warnings.warn(said, GloamWarning, stacklevel=3)
        given = {_EARLIER.get(one, one): given[one] for one in given if now or one != name}
    for name in given:
        if name in known:
            continue
        if name == "reader" and kind is ClipOptions:
            meant = 'backend="dali" or "torch", or decoder="dali" or "pyav", is meant'
        elif (plain := _plain(name)) in (own := {_plain(one): one for one in known}):
            meant = f"{own[plain]} is meant"
        elif plain in _BY_OTHER_NAMES:
            meant = _BY_OTHER_NAMES[plain]
        elif loaders := [one for one, has in _OTHERS.items() if name in has.__annotations__]:
            meant = f"{' or '.join(loaders)} takes it"
        elif near := difflib.get_close_matches(name, known, 1, 0.6):
            meant = f"{near[0]} is meant?"
        else:
            meant = f"there are {', '.join(known)}"
        raise LoaderError(f"{name}: no such option; {meant}")
    for name in _TRUTHS:
        if isinstance(given.get(name), str):  # "no" would be true
            raise LoaderError(f"{name} = {given[name]!r}: must be True or False")
    if given.get("backend", "auto") not in BACKENDS:
        raise LoaderError(f"backend {given['backend']!r}: must be one of {', '.join(BACKENDS)}")
    return dict(given)


def make_options(given: Mapping[str, Any], training: bool, **found: Any) -> Options:
    """Validate the options of a loader.

    given: options of `named_options`; None is the default.
    training: whether the defaults are those of training.
    **found: fields of `Options` that a loader finds by itself.

    Raises LoaderError naming the option, its value and what is allowed.
    """
    values = {
        name: value
        for name, value in {**given, **found}.items()
        if name in Options.model_fields and value is not None
    }
    if "batch_size" not in values:
        raise LoaderError("batch_size is missing: how many pairs a batch holds, as batch_size=16")
    values.setdefault("shuffle", training)
    values.setdefault("last_batch", "drop" if training else None)
    values.setdefault("crop", "random" if training and "size" in values else "resize")
    try:
        return Options(**values)
    except ValidationError as error:
        where, value, message = first_fault(error)
        if isinstance(given.get("size"), str | float):
            where = where.removesuffix(".0")  # one number was given, of both sides
        raise LoaderError(f"{where} = {value!r}: {message}" if where else message) from error


def first_fault(error: ValidationError) -> tuple[str, Any, str]:
    """Return where a model finds its first fault, the value there, and what is wrong with it."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return where, first["input"], first["msg"].removeprefix("Value error, ")
