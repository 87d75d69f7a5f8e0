"""`gloam.verify`: check a finished set."""

from __future__ import annotations

from pathlib import Path

from ...engines.engine import Engine
from ...engines.local import local_engine
from ...manifests.sets.pair_set import PairSet, open_set
from ...manifests.sets.problems import Problem, verify_set
from ...progress import Progress, Silent


def verify(
    root: PairSet | str | Path,
    *,
    quick: bool = False,
    deep: bool = False,
    strict: bool = False,
    normals: PairSet | str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> list[Problem]:
    """Check that a set is complete and unchanged, and report everything that is wrong.

    Parameters
    ----------
    root : PairSet, str or Path
        A finished set.
    quick : bool
        Compare sizes only, and read no checksums.
    deep : bool
        If nothing is damaged also make every low again from its normal and its draw, and compare
        pixels; of a live set, draw again and compare draws.
    strict : bool
        Take files that are not of the set for damage. Other tools leave theirs beside one:
        Energon's and webdataset's indexes, metadata of the Hub.
    normals : PairSet, str or Path, optional
        For `deep`, the set that holds the normals of a set of lows only.
    workers, progress, engine
        See `gloam.build`; all cores and no bars by default. Progress counts units, then pairs.

    Returns
    -------
    list of Problem
        Empty, or remarks alone, when all is well.

    Raises
    ------
    SetError
        When there is no set, its `set.json` cannot be trusted, or lows are to be made again and are
        of another model, or have no normals.

    Examples
    --------
    >>> import gloam
    >>> gloam.verify("SET"), gloam.verify("SET", deep=True)
    ([], [])
    """
    pairs, shown = open_set(root, normals), progress or Silent()
    shown.stage("checking", len(pairs.info.units))
    problems = verify_set(pairs, quick, shown.at, strict, engine=engine)
    if deep and all(problem.remark for problem in problems):
        from .deep_verify import recheck_set  # kernels

        shown.stage("comparing", len(pairs))
        problems += recheck_set(pairs, engine or local_engine(workers), shown.at)
    return problems
