"""States of loaders: what `state_dict` gives, and `load_state_dict` takes from anybody.

They come out of checkpoints that others made, so every field has its type and bounds here, whatever
kind of loader it is of, and places are compared with what the loader has.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, Strict, ValidationError

from ..errors import ConfigError, LoaderError
from ..manifests.sets.info import differences
from ..storage.untrusted import first_finding, whole

STATE_VERSION = 2
MOST_EPOCHS = 1 << 31
_MOST_DIFFERENCES = 8
Epoch = Annotated[int, Field(ge=0, lt=MOST_EPOCHS)]
Whole = Annotated[int, Field(ge=0, lt=1 << 62)]
Counts = Annotated[tuple[Whole, ...], Strict(False)]  # of a list, as JSON has it
Segment = Annotated[tuple[Whole, Whole, Counts], Strict(False)]


class _Fingerprinted(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    fingerprint: dict[str, JsonValue]


class LoaderState(_Fingerprinted):
    """The place of a loader: the next batch of an epoch."""

    epoch: Epoch
    batch: Whole


class MixtureState(_Fingerprinted):
    """The place of a loader of a mixture, in the order that all ranks share.

    begun: place of the epoch's first sample, counted from the training's first.
    step: number of the next batch, counted so.
    taken: samples of the epoch that all ranks have taken.
    weights: (step, place, samples of each component before it), of each change of weights.
    """

    epoch: Epoch
    begun: Whole
    step: Whole
    taken: Whole
    weights: list[Segment]

    def check_places(self, count: int, dropped: bool) -> None:
        """Check that an epoch of `count` samples has the place, `dropped` ones left out at its end.

        Raises LoaderError when it has not.
        """
        if self.taken > count:
            raise damaged("taken", f"{self.taken} of an epoch of {count} samples")
        before = self.epoch * count
        if not (self.epoch if dropped else before) <= self.begun <= before:
            raise damaged("begun", f"epoch {self.epoch} does not begin at sample {self.begun}")
        before = self.begun + self.taken
        if self.step > before or (not self.step and before):
            raise damaged("step", f"{self.step} steps for {before} samples")


S = TypeVar("S", bound=_Fingerprinted)


def read_state(kind: type[S], state: Any, own: dict[str, Any]) -> S:
    """Read a state of a loader whose fingerprint is `own`.

    Raises LoaderError with everything that differs, or with the first field that is wrong.
    """
    try:
        fingerprint = _Fingerprinted.model_validate(state).fingerprint
    except ValidationError as error:
        raise LoaderError(
            f"not a state of a gloam loader ({first_finding(error)}): load what state_dict() gave"
        ) from None
    found = differences(fingerprint, own)
    if found:
        more = len(found) - _MOST_DIFFERENCES
        found = found[:_MOST_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])
        raise LoaderError("the state is of another loader: " + "; ".join(found))
    try:
        return kind.model_validate(state)
    except ValidationError as error:
        raise LoaderError(_DAMAGED.format(first_finding(error))) from None


def damaged(field: str, what: str) -> LoaderError:
    """Return the error for a field of a state that no loader can have given."""
    return LoaderError(_DAMAGED.format(f"{field}: {what}"))


def checked_epoch(epoch: Any) -> int:
    """Return an epoch's number as an int. Raises LoaderError when it is none."""
    try:
        return whole("epoch", epoch, 0, MOST_EPOCHS - 1)
    except ConfigError as error:
        raise LoaderError(str(error)) from None


_DAMAGED = "the state is damaged: {}; load one as state_dict() gave it"
