"""Everything that gloam raises on purpose. Each message names the file, shard or key, and the way
out.

    GloamError          root: something the user can mend; a line of the command, and exit code 1
      SourceError       a source is missing, unreadable, or not laid out as its kind says
      ConfigError       an unknown key or a wrong value; also a ValueError
      SetError          an output cannot be written, is something else, or was begun otherwise
        DamagedError    a set's own record is not as it was written
      LoaderError       a set cannot be loaded as asked; also a ValueError
      WorkerLost        a worker process ended without an answer; also a RuntimeError
      ImageRefused      one photograph cannot be used; a build counts it and goes on
    GloamWarning        something to know that goes on all the same; a UserWarning
"""

from __future__ import annotations


class GloamError(Exception):
    """Root of gloam's errors: something the user can mend. The command line shows its message and
    exits with 1."""


class GloamWarning(UserWarning):
    """Something that the user should know, and that goes on all the same. The command line shows it
    as a line."""


class SourceError(GloamError):
    """A source is missing, unreadable, or not laid out as its kind says."""


class ConfigError(GloamError, ValueError):
    """A recipe, a suitability profile, a build file or an option has an unknown key or a wrong
    value."""


class SetError(GloamError):
    """An output cannot be written, is something else, or was begun with other settings."""


class DamagedError(SetError):
    """A set's own record is not as it was written; building it again from its sources mends it."""


class LoaderError(GloamError, ValueError):
    """A set cannot be loaded as asked: options, ranks, a state of something else, a damaged
    image."""


class WorkerLost(GloamError, RuntimeError):
    """A worker process ended without an answer, for example because the system ran out of
    memory."""


class ImageRefused(GloamError):
    """One photograph cannot be used. The build counts it and goes on.

    Attributes
    ----------
    reason : str
        A short word that refusals are counted by, such as "damaged".
    detail : str
        What exactly was wrong.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[ImageRefused], tuple[str, str]]:
        return type(self), (self.reason, self.detail)
