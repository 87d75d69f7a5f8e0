"""A page about a mixture: pairs as training is given them, and medians of each component."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..engines.local import local_engine
from ..errors import LoaderError
from ..manifests.images.normals import encode
from ..progress import Progress, Silent
from ..storage.atomic import write_bytes
from ..synth.measures.checks import Check
from ..synth.measures.report import folder_subject, report
from .mixture import Mixture, at, mixture_in
from .pair_loader import TorchLoader

_LONGEST = 80  # letters of a file's name: keys of lists are paths


def report_mixture(
    mixture: Mixture | str | Path,
    *,
    pairs: int = 600,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[Check]:
    """Write a page about a mixture; see `gloam.report`, whose options are taken.

    Its first `pairs` samples by the weights of step 0 are measured whole, lows made live. Unpaired
    components are left out, as their pictures have nothing in common.

    Raises LoaderError when the file holds no mixture, a component cannot be opened, or all are
    unpaired.
    """
    name = "mixture" if isinstance(mixture, Mixture) else Path(mixture).stem
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
        components = _write(Mixture(kept, pairs), lows, normals)
        subject = folder_subject(lows, normals, pairs, local_engine(workers), shown.at)
    rows = zip(subject.measured.pairs, components, strict=True)
    subject = replace(
        subject,
        name=name,
        about="A mixture of sources, as training is given it.",
        facts=facts,
        measured=replace(
            subject.measured, pairs=[one._replace(component=own) for one, own in rows]
        ),
    )
    return report(subject, pairs=pairs, workers=workers, progress=progress, **options)


def _write(mixture: Mixture, lows: Path, normals: Path) -> list[str]:
    """Write an epoch's pairs as PNGs of equal names, in their order; returns their components."""
    lows.mkdir()
    normals.mkdir()
    options: dict[str, Any] = {"batch_size": 1, "size": None, "dtype": "uint8", "layout": "HWC"}
    options |= {"workers": 0, "device": "cpu", "rank": 0, "world_size": 1, "seed": 0}
    components = []
    with TorchLoader(mixture, extras=["component"], keys=True, **options) as loader:
        for number, (low, normal, (key,), given) in enumerate(loader):
            name = f"{number:06d} {given['component'][0]} {key}".replace("/", "-")
            file = f"{name[:_LONGEST]}.png"
            for folder, image in ((lows, low), (normals, normal)):
                write_bytes(folder / file, encode(image[0].numpy(), "png"))
            components += given["component"]
    return components
