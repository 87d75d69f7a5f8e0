"""Everything that gloam raises on purpose.

Each message names the file, shard or key, and the way out; each error has the same as attributes,
for programs.

    GloamError          root: something the user can mend; a line of the command, and exit code 1
      SourceError       a source is missing, unreadable, or not laid out as its kind says
      ConfigError       an unknown key or a wrong value; also a ValueError
      SetError          an output cannot be written, is something else, or was begun otherwise
        DamagedError    a set's own record is not as it was written
      StoreError        an object store fails or refuses a request; also an OSError
      LoaderError       a set cannot be loaded as asked; also a ValueError
      WorkerLost        a worker process ended without an answer; also a RuntimeError
      ImageRefused      one photograph cannot be used, for a `Reason`; a build counts it and goes on
    GloamWarning        something to know that goes on all the same; a UserWarning

SetError and SourceError are no OSErrors: what reads archives would take them for its own.
"""

from __future__ import annotations

import re
from enum import StrEnum
from importlib import import_module
from typing import Any, Self

_SCHEME = r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*:/+"
_SECRETS = re.compile(
    # KEY:SECRET@, with slashes as AWS's may have, or all escaped
    rf"({_SCHEME})(?:[^\s/@:]*(?::|%3A)\S*|[^\s/@]+)(?:@|%40)"
    # A signature: of a query, also escaped, or of parameters behind ; or #
    rf"|({_SCHEME}[^\s?]{{0,4096}}?(?:\?|%3F|[;#](?=[^\s/=]{{1,64}}=)))(?:[^\s:;,]|[:;,](?!\s|$))*"
    r"|((?:s3|gs|az):/+)[^\s/:]+:(?! )[^\s,;]*",
    re.IGNORECASE,
)


class GloamError(Exception):
    """Root of gloam's errors: something the user can mend.

    The command line shows its message and exits with 1.

    Parameters
    ----------
    message : str
        The fault, where it is, and the way out.
    path : object, optional
        The file or folder that it is about. Where the message begins with it, `what` is the rest.
    key : str, optional
        Key of a recipe or a file of options, such as `camera.iso`; or of a pair.
    value : object, optional
        The wrong value.
    allowed : object, optional
        Values that are right.

    Examples
    --------
    >>> import gloam
    >>> try:
    ...     gloam.load_recipe("even", ["camera.iso=1"])
    ... except gloam.errors.ConfigError as error:
    ...     print(error.key, error.value)
    camera.iso 1.0
    """

    def __init__(
        self,
        message: str,
        *,
        path: object = None,
        key: str | None = None,
        value: Any = None,
        allowed: Any = None,
    ) -> None:
        if path is not None and not str(path).isprintable():  # a message is one line
            message = message.replace(str(path), visible(path))
        if not message.isprintable():  # names of files may hold whatever moves a terminal
            message = "\n".join(map(visible, message.split("\n")))
        super().__init__(without_secrets(message))
        self.path, self.key, self.value, self.allowed = path, key, value, allowed

    @classmethod
    def at(cls, path: object, what: str) -> Self:
        """Return the error about a file or a folder, which its message begins with."""
        return cls(f"{path}: {what}", path=path)

    @property
    def what(self) -> str:
        """The message without the path that the message begins with."""
        begin = without_secrets(f"{visible(self.path)}: ")
        return str(self) if self.path is None else str(self).removeprefix(begin)


class GloamWarning(UserWarning):
    """A warning to the user; the command line shows it as one line."""


class SourceError(GloamError):
    """A source is missing, unreadable, or does not have the layout of its kind."""


class ConfigError(GloamError, ValueError):
    """An unknown key or a wrong value of a recipe, a profile, a build file or an option."""


class SetError(GloamError):
    """A set cannot be read or written, is not a set, or was begun with other settings."""


class DamagedError(SetError):
    """A set's own record is damaged; building the set again from its sources repairs it."""


class StoreError(GloamError, OSError):
    """An object store cannot be reached, fails, or refuses a request."""

    @classmethod
    def of(cls, number: int, path: object, what: str) -> Self:
        """Return the error with what an OSError of that number has."""
        made = cls.at(path, what)
        made.errno, made.strerror, made.filename = number, made.what, str(path)
        return made

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        own = {name: getattr(self, name) for name in ("errno", "strerror", "filename")}
        return type(self), self.args, self.__dict__ | own


class LoaderError(GloamError, ValueError):
    """Data cannot be loaded: wrong options or ranks, a foreign state, or a damaged image."""


class WorkerLost(GloamError, RuntimeError):
    """A worker process died, for example because memory ran out."""


class Reason(StrEnum):
    """Reason for refusing a photograph; reports count refusals by it."""

    UNREADABLE = "unreadable"
    """The file cannot be read."""
    NOT_AN_IMAGE = "not an image"
    EMPTY = "empty"
    DAMAGED = "damaged"
    UNSUPPORTED = "unsupported"
    """A format, or a variant of one, that gloam does not read."""
    TOO_LARGE = "too large"
    SCENE_CHANGE = "scene change"
    """A clip shows more than one scene."""
    FILE_NAME = "file name"
    """The name is not valid text."""


class ImageRefused(GloamError):
    """A photograph cannot be used; a build counts it and goes on.

    Attributes
    ----------
    reason : Reason
    detail : str
        The fault in words.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[ImageRefused], tuple[Reason, str]]:
        return type(self), (self.reason, self.detail)


def without_secrets(text: str) -> str:
    """Return a message whose addresses hold no credentials and no signature any more."""
    if ":/" not in text:
        return text
    return _SECRETS.sub(lambda found: f"{found[1] or found[2] or found[3]}...", text)


def visible(text: object) -> str:
    """Escape the control characters and line breaks of a foreign text, for a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def first_line(error: BaseException) -> str:
    """Return the first 200 characters of an exception's first line, or its type's name."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]


def needed(module: str, what: str, extra: str, key: str | None = None) -> Any:
    """Import a module that comes with an extra of gloam.

    what: what needs it, by the name that people know it by: "video files need PyAV".
    key: option that asks for it.

    Raises ConfigError when it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"{what}: pip install 'gloam[{extra}]'", key=key) from error
