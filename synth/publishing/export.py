"""A set written in another way: as files or shards, as a trainer reads it, or as videos."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ...engines.engine import Engine
from ...engines.local import local_engine
from ...errors import ConfigError
from ...manifests.sets.info import SetInfo
from ...manifests.sets.pair_set import PairSet, open_set
from ...progress import Progress, Silent
from ...storage.stores import as_path
from ..building.regenerate import export_layout
from .export_for import export_for
from .trainers import TrainerFormat
from .video_files import Form, export_videos


def export(
    origin: PairSet | str | Path,
    root: str | Path,
    *,
    layout: Literal["files", "shards"] | None = None,
    for_: str | None = None,
    video: Form | None = None,
    low_codec: Literal["png", "jpeg", "none"] = "png",
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> SetInfo | TrainerFormat | int:
    """Write the pairs of a set as files or shards, as a trainer reads them, or as videos.

    Stopped, the same call continues.

    Parameters
    ----------
    origin : PairSet, str or Path
        A finished set.
    root : str or Path
        Folder to write: new, empty, or begun by the same call.
    layout : str, optional
        "files" (the default) or "shards": a set again, images and records byte for byte.
    for_ : str, optional
        Name of a trainer, such as "basicsr": the folder that its own loader reads.
    video : str, optional
        "ffv1" (lossless) or "mp4" (small): for sets of clips, a file for each.
    low_codec : str
        Codec of lows that are made of a live set for a layout: "png", "jpeg", or "none" to leave
        them to loaders. Stored lows keep their bytes.
    workers : int
        Processes; all cores by default.
    progress, engine
        See `gloam.build`.

    Returns
    -------
    SetInfo, TrainerFormat or int
        For a layout, what the new set's `set.json` says; for a trainer, what to tell it; for
        videos, their number.

    Raises
    ------
    ConfigError
        When an option is wrong, or two of `layout`, `for_` and `video` are given.
    SetError
        When the folder holds something else, or a pair cannot be read.

    Examples
    --------
    >>> import gloam
    >>> gloam.export("SET", "pairs", layout="files").counts
    {'train': 4, 'val': 2, 'refused': 0}
    """
    if sum(one is not None for one in (for_, layout, video)) > 1:
        raise ConfigError("--for, --video and --layout exclude each other: give one of them")
    pairs, folder = open_set(origin), as_path(root)
    engine, progress = engine or local_engine(workers), progress or Silent()
    if video is not None:
        return export_videos(pairs, folder, video, engine, progress)
    if for_ is not None:
        return export_for(pairs, folder, for_, engine, progress)
    codec = "jpg" if low_codec == "jpeg" else low_codec
    return export_layout(pairs, folder, layout or "files", codec, engine, progress)
