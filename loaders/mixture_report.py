"""A page about a mixture: pairs as training is given them, and medians of each component."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ..engines.local import local_engine
from ..errors import GloamError, GloamWarning, LoaderError
from ..manifests.images.normals import encode
from ..manifests.open_data import unpaired_lists
from ..progress import Progress, Silent
from ..storage.atomic import write_bytes
from ..storage.untrusted import naming
from ..synth.measures.checks import Check
from ..synth.measures.report import folder_subject, report
from ..synth.measures.wrong_pairs import BRIGHTER, brightness, refuse_swapped, refuse_swapped_lists
from .mixture import Mixture, at, mixture_in
from .pair_loader import TorchLoader

_LONGEST = 80  # letters of a file's name: keys of lists are paths


def report_mixture(
    mixture: Mixture | str | Path,
    *,
    pairs: int = 600,
    brighter_lows: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[Check]:
    """Write a page about a mixture; see `gloam.report`, whose options are taken.

    Its first `pairs` samples by the weights of step 0 are measured whole, lows made live. Unpaired
    components are left out, as their pictures have nothing in common.

    Raises LoaderError when the file holds no mixture, a component cannot be opened, or all are
    unpaired; SourceError when lows of a component, or dark pictures of an unpaired one, are
    brighter than the normals, unless `brighter_lows`.
    """
    where = "mixture" if isinstance(mixture, Mixture) else Path(mixture)
    name = Path(where).stem
    mixture = mixture if isinstance(mixture, Mixture) else mixture_in(Path(mixture))
    shares = {key: at(one.weight, 0) for key, one in mixture.components.items()}
    kept = {
        key: one.model_copy(update={"weight": {0: shares[key]}})
        for key, one in mixture.components.items()
        if shares[key] and not one.unpaired
    }
    if not kept:
        raise LoaderError(f"{name}: has no component of pairs to report on")
    shown = progress or Silent()
    shown.stage("measuring pairs", pairs)
    facts = [
        (
            f"component {key}",
            f"{share / sum(shares.values()):.1%} of samples" + "; not measured" * (key not in kept),
        )
        for key, share in shares.items()
    ]
    with TemporaryDirectory() as folder:
        lows, normals = Path(folder, "low"), Path(folder, "normal")
        written = _write_pairs(Mixture(kept, pairs), lows, normals)
        if not brighter_lows:
            _refuse_swapped(where, mixture, written)
        engine = local_engine(workers)
        subject = folder_subject(lows, normals, pairs, engine, shown.at, brighter_lows)
    rows = zip(subject.measured.pairs, written, strict=True)
    subject = replace(
        subject,
        name=name,
        about="A mixture of sources, as training is given it.",
        facts=facts,
        measured=replace(
            subject.measured, pairs=[one._replace(component=own.component) for one, own in rows]
        ),
    )
    return report(subject, pairs=pairs, workers=workers, progress=progress, **options)


class _Written(NamedTuple):
    """A pair that was written. means: see `brightness`."""

    component: str
    key: str
    means: tuple[float, float]


def _refuse_swapped(where: object, mixture: Mixture, written: Sequence[_Written]) -> None:
    """Raise SourceError where lows and normals of a component are taken for one another."""
    for key, one in mixture.components.items():
        name = f"{where}: component {key}"
        if one.unpaired:
            with naming(name, GloamError, kind=LoaderError):
                lists = unpaired_lists(one.data)
            refuse_swapped_lists(name, *lists, "the bright ones")
        else:
            own = [pair for pair in written if pair.component == key]
            refuse_swapped(name, [pair.means for pair in own], [pair.key for pair in own])


def _write_pairs(mixture: Mixture, lows: Path, normals: Path) -> list[_Written]:
    """Write an epoch's pairs as PNGs of equal names, in their order."""
    lows.mkdir()
    normals.mkdir()
    options: dict[str, Any] = {"batch_size": 1, "size": None, "dtype": "uint8", "layout": "HWC"}
    options |= {"workers": 0, "device": "cpu", "rank": 0, "world_size": 1, "seed": 0}
    written = []
    with (
        warnings.catch_warnings(),
        TorchLoader(mixture, extras=["component"], keys=True, **options) as loader,
    ):
        warnings.filterwarnings("ignore", f".*{BRIGHTER}", GloamWarning)  # the report says it
        for number, (low, normal, (key,), given) in enumerate(loader):
            name = f"{number:06d} {given['component'][0]} {key}".replace("/", "-")
            file = f"{name[:_LONGEST]}.png"
            images = low[0].numpy(), normal[0].numpy()
            for folder, image in zip((lows, normals), images, strict=True):
                write_bytes(folder / file, encode(image, "png"))
            written.append(_Written(given["component"][0], key, brightness(*images)))
    return written
