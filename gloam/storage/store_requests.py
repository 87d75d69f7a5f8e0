"""Requests to object stores: through which client, and made again until patience ends.

How stores are reached is read from the environment, as the stores' own tools do it.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import lru_cache
from pathlib import PurePath
from typing import Any, TypeVar

from ..errors import ConfigError, SetError, StoreError, first_line, needed, visible, without_secrets

PATIENCE = "GLOAM_STORE_PATIENCE"
"""A variable of the environment: for how many seconds a request is repeated that fails (120)."""
_VARIABLES = ("AWS_", "GOOGLE_", "AZURE_", "GLOAM_STORE_", "GLOAM_MAX_PIXELS")
_REFUSED = re.compile(r"status code: (400|401|403|404|405|411|416)")
_STALL = 20.0  # seconds without a byte, after which a request is given up and made again
_LONGEST_PATIENCE = 1e6
_MOST_LISTED = 4_000_000  # objects, of which each takes some 300 bytes of memory
_LONGEST_LISTING = 10  # times the patience
_CHECK = "check the address, and the variables of the environment that say how it is reached"
T = TypeVar("T")


def patience() -> float:
    """Return for how many seconds a failing request is repeated."""
    given = os.environ.get(PATIENCE, "120")
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= _LONGEST_PATIENCE:
        raise ConfigError(f"{PATIENCE}={visible(given)}: must be seconds, at most a million")
    return seconds


def environment() -> dict[str, str]:
    """Return the variables of the environment that workers heed: how stores are reached, limits.

    Processes that were forked from an older one have older ones.
    """
    return {name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)}


def take_environment(variables: dict[str, str]) -> None:
    """Make the same variables this process's."""
    for name in environment().keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


def obstore() -> Any:
    """Return the module that makes requests. Raises ConfigError when it is not installed."""
    return needed("obstore", "s3://, gs:// and az:// need obstore", "cloud")


def client(scheme: str, bucket: str) -> Any:
    """Return what requests to a store ("s3:") and bucket go through, as the environment says."""
    return _client_of(os.getpid(), scheme, bucket, tuple(sorted(environment().items())))


@lru_cache(maxsize=64)
def _client_of(
    process: int, scheme: str, bucket: str, variables: tuple[tuple[str, str], ...]
) -> Any:
    """Return a store's client; a forked process, and other credentials, have one of their own."""
    from obstore.store import from_url

    obstore()
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    stall = timedelta(seconds=min(_STALL, max(patience() / 4, 0.5)))
    options: dict[str, Any] = {
        "client_options": {
            "allow_http": scheme == "s3:" and endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=5),
            "read_timeout": stall,
            "timeout": timedelta(minutes=10),
        },
        # Repeated here, by `patient`, in which broken bodies count too.
        "retry_config": {"max_retries": 0, "retry_timeout": timedelta(seconds=1)},
    }
    if scheme == "s3:":
        # A signature with a sum of the whole body costs as much as sending it; TLS guards the body,
        # as the stores' own tools rely on.
        unsigned = os.environ.get("AWS_UNSIGNED_PAYLOAD", "true")
        options["config"] = {"unsigned_payload": unsigned}
        if endpoint:
            options["config"]["endpoint"] = endpoint
    try:
        return from_url(f"{scheme}//{bucket}", **options)
    except obstore().exceptions.BaseError as error:  # something that the environment lacks
        raise ConfigError(f"{scheme}//{bucket}: {without_secrets(first_line(error))}") from error


def patient(path: PurePath, call: Callable[[], T]) -> T:
    """Make a request, and make it again while the store fails and patience lasts.

    Raises FileNotFoundError, FileExistsError when the store says so; StoreError when it refuses the
    request or goes on failing: its first line, and for how long it was tried.
    """
    errors = obstore().exceptions
    begun, pause = time.monotonic(), 0.1
    while True:
        try:
            return call()
        except (errors.NotFoundError, FileNotFoundError) as error:
            raise FileNotFoundError(errno.ENOENT, "no such object", str(path)) from error
        except (errors.AlreadyExistsError, errors.PreconditionError) as error:
            raise FileExistsError(errno.EEXIST, "is there already", str(path)) from error
        except (errors.PermissionDeniedError, errors.UnauthenticatedError) as error:
            raise _denied_error(path, error) from error
        except errors.InvalidPathError as error:
            what = f"{first_line(error)}; rename such objects, or take a prefix that has none"
            raise StoreError.of(errno.EINVAL, path, what) from error
        except errors.NotSupportedError as error:
            raise StoreError.of(errno.EINVAL, path, first_line(error)) from error
        except (errors.BaseError, OSError) as error:
            refused = _REFUSED.search(str(error))
            if refused and refused[1] == "416":
                raise StoreError.of(errno.ERANGE, path, "has no such bytes") from error
            if refused and refused[1] == "404":
                raise FileNotFoundError(
                    errno.ENOENT, "there is no such bucket", str(path)
                ) from error
            if refused:
                raise _denied_error(path, error) from error
            taken = time.monotonic() - begun
            if taken + pause > patience():
                said = without_secrets(first_line(error))
                what = f"the store fails, tried for {taken:.0f} s ({PATIENCE}): {said}; {_CHECK}"
                raise StoreError.of(errno.EIO, path, what) from error
        time.sleep(pause)
        pause = min(2 * pause, 5.0)


def listed(path: PurePath, pages: Callable[[], Iterable[Sequence[T]]]) -> list[T]:
    """Return all that a store lists, which may never end.

    It is listed in another thread, which is left to itself where the store goes on for ever.

    Raises SetError when pages come again, hold more than any set, or take too long.
    """
    found: list[T] = []
    failed: list[BaseException] = []

    def take() -> None:
        try:
            firsts: set[T] = set()
            for page in pages():
                if page and page[0] in firsts:
                    raise SetError.at(path, "the store lists the same objects again and again")
                firsts.update(page[:1])
                found.extend(page)
                if len(found) > _MOST_LISTED or gone.is_set():
                    raise SetError.at(path, f"the store lists more than {_MOST_LISTED:,} objects")
        except BaseException as error:
            failed.append(error)

    gone, begun = threading.Event(), time.monotonic()
    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    while thread.is_alive():
        before, wait = len(found), max(patience(), 1)
        thread.join(wait)
        over = time.monotonic() - begun > _LONGEST_LISTING * wait
        if thread.is_alive() and (over or len(found) == before):
            gone.set()
            raise SetError.at(
                path,
                f"the store's list does not end, {len(found):,} objects so far; {PATIENCE} says for"
                " how many seconds it is waited for",
            )
    if failed:
        raise failed[0]
    return found


def _denied_error(path: PurePath, error: BaseException) -> StoreError:
    what = f"the store refuses it: {without_secrets(first_line(error))}; {_CHECK}"
    return StoreError.of(errno.EACCES, path, what)
