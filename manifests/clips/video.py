"""Frames of video files, by PyAV: every frame by its own presentation time, exactly."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ConfigError, ImageRefused, Reason, first_line
from ..images.opening import Pixels
from ..sources.containers import Location, path_of, read

SUFFIXES = (
    ".mp4", ".m4v", ".mov", ".qt", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".mpe", ".m2v", ".vob",
    ".ts", ".mts", ".m2ts", ".m2t", ".3gp", ".3g2", ".wmv", ".asf", ".flv", ".f4v", ".ogv", ".ogm",
    ".mxf", ".dv", ".divx", ".y4m",
)  # fmt: skip
"""Suffixes of files that are taken for videos."""
UNREAD = (
    ".rm", ".rmvb", ".insv", ".360", ".lrv", ".h264", ".264", ".h265", ".hevc", ".265", ".ivf",
    ".nut", ".mjpeg", ".mjpg", ".yuv", ".bik", ".swf", ".braw", ".r3d", ".crm", ".mod", ".tod",
    ".trp", ".tp", ".amv", ".wtv", ".dvr-ms",
)  # fmt: skip
"""Suffixes of videos that are not read: a source counts them."""
_BT601 = 2, 5, 6  # of FFmpeg's AVColorSpace: unspecified, and both that have its matrix
_MOST_BYTES = 1 << 34  # of a video in an archive or a store, which is read whole


def frame_times(location: Location) -> list[int]:
    """Return the presentation times of a video's frames, in order: of those that are shown.

    It reads the file's packets and decodes none but the first frame, which shows whether the
    decoder leaves out what the packets begin with. Raises ImageRefused when it holds no video, or
    is damaged from its beginning on; ConfigError when PyAV is missing.
    """
    with open_video(location) as (container, stream):
        times: list[int] = []
        bare = 0
        with as_far_as_sound(times):
            for packet in container.demux(stream):
                if packet.size and packet.pts is None:
                    bare += 1
                elif packet.size and not packet.is_discard:
                    times.append(int(packet.pts))
    if bare or len(set(times)) < len(times):  # raw streams have no times: what is decoded counts
        return _decoded_times(location)
    times.sort()
    with open_video(location) as (container, stream):
        first = _time_of(first_frame(container, stream)) or 0
    return [time for time in times if time >= first] if first in times else _decoded_times(location)


def list_key_frames(location: Location) -> tuple[list[int], tuple[int, int]]:
    """Return the presentation times of a video's key frames, in order; height and width.

    It reads packets and decodes none. Raises ImageRefused when it holds no video, or is damaged
    from its beginning on.
    """
    with open_video(location) as (container, stream):
        times: list[int] = []
        with as_far_as_sound(times):
            times.extend(
                int(packet.pts)
                for packet in container.demux(stream)
                if packet.size and packet.is_keyframe and packet.pts is not None
            )
        return sorted(times), (stream.codec_context.height, stream.codec_context.width)


def decode_frames(location: Location, times: Sequence[int]) -> list[Pixels]:
    """Decode frames of a video, upright, uint8 RGB (H, W, 3) each.

    location: location of the file.
    times: presentation times in rising order, of `frame_times`.

    Raises ImageRefused when one of them is not there, or cannot be decoded.
    """
    found = {time: np.array(pixels) for time, pixels in _decoded(location, times)}
    return [found[time] for time in times]


def decode_sequence(
    location: Location, times: Sequence[int], allocate: Callable[[tuple[int, ...]], Pixels]
) -> Pixels:
    """Decode frames of a video as `decode_frames` does, into one array.

    allocate: function of a shape (F, H, W, 3); returns the uint8 array to fill. Reused memory saves
      clearing fresh pages, which takes as long as decoding small frames.

    Raises ImageRefused as `decode_frames` does, and when frames differ in size.
    """
    number = {time: i for i, time in enumerate(times)}
    made: Pixels | None = None
    for time, pixels in _decoded(location, times):
        if made is None:
            made = allocate((len(times), *pixels.shape))
        if pixels.shape != made.shape[1:]:
            raise ImageRefused(Reason.DAMAGED, "its frames differ in size")
        made[number[time]] = pixels
    assert made is not None
    return made


def _decoded(location: Location, times: Sequence[int]) -> Iterator[tuple[int, Pixels]]:
    """Yield the time and the pixels of each frame that is wanted; they last until the next one."""
    wanted = set(times)
    reformatter = _av().video.reformatter.VideoReformatter()  # frames share its tables
    with open_video(location) as (container, stream):
        for start in (int(times[0]), 0):  # from the beginning where an index leads astray
            container.seek(start, stream=stream, backward=True)
            for frame in container.decode(stream):
                time = _time_of(frame)
                if time in wanted:
                    wanted.discard(time)
                    yield time, _upright(frame, reformatter)
                if time is not None and time >= times[-1]:
                    break
            if not wanted:
                return
    raise ImageRefused(Reason.DAMAGED, f"{len(wanted)} of {len(times)} frames cannot be decoded")


def _decoded_times(location: Location) -> list[int]:
    times: list[int] = []
    with open_video(location) as (container, stream), as_far_as_sound(times):
        for frame in container.decode(stream):
            time = _time_of(frame)
            times.append(len(times) if time is None else time)
    return times


def first_frame(container: Any, stream: Any) -> Any:
    """Decode the first frame of an opened video; raises ImageRefused where there is none."""
    frame = next(container.decode(stream), None)
    if frame is None:
        raise ImageRefused(Reason.DAMAGED, "no frame of it can be decoded")
    return frame


def _time_of(frame: Any) -> int | None:
    return None if frame.pts is None else int(frame.pts)


def _upright(frame: Any, reformatter: Any) -> Pixels:
    """Return a frame's pixels where FFmpeg put them, turned as its metadata says."""
    shown = reformatter.reformat(frame, format="rgb24")
    plane = shown.planes[0]
    rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    pixels = rows[: shown.height, : 3 * shown.width].reshape(shown.height, shown.width, 3)
    across, flips = _orientation(frame)
    return (pixels.transpose(1, 0, 2) if across else pixels)[flips]


def _orientation(frame: Any) -> tuple[bool, tuple[slice, slice]]:
    """Return how a frame is to be shown, by its display matrix, to the next quarter of a turn.

    FFmpeg's libavutil/display.h: what is coded at (x, y) is shown at (a x + c y, b x + d y), for
    the matrix (a, b, u, c, d, v, ...). Cameras turn pictures, and front ones mirror them.

    Returns (bool, (slice, slice)): whether rows become columns; and then, which way rows and
    columns go.
    """
    kind = _av().sidedata.sidedata.Type.DISPLAYMATRIX
    matrix = frame.side_data.get(kind)
    if matrix is None:
        return False, (slice(None), slice(None))
    a, b, _, c, d = (int(value) for value in np.frombuffer(matrix, np.int32)[:5])
    across = abs(b) + abs(c) > abs(a) + abs(d)
    rows, columns = (b, c) if across else (d, a)
    return across, (_way(rows), _way(columns))


def _way(sign: int) -> slice:
    return slice(None, None, -1 if sign < 0 else None)


@dataclass(frozen=True)
class VideoFacts:
    """Facts of a video that a decoder has to know.

    codec: FFmpeg's name: "h264", "hevc", ...
    form: FFmpeg's pixel format: "yuv420p", ...
    size: (height, width); size of its frames as they are coded.
    upright: whether they are shown as they are coded: neither turned, mirrored nor interlaced.
    bt601: whether colours are coded as ITU-R BT.601 says, which is meant where nothing is said.
    """

    codec: str
    form: str
    size: tuple[int, int]
    upright: bool
    bt601: bool


def probe_video(location: Location) -> VideoFacts:
    """Return the codec, size and format of a video, by its first frame.

    Raises ImageRefused when it holds no video, or its first frame cannot be decoded.
    """
    with open_video(location) as (container, stream):
        frame = first_frame(container, stream)
        turned = _orientation(frame) != (False, (slice(None), slice(None)))
        upright = not turned and not frame.interlaced_frame
        codec, size = stream.codec_context.codec.canonical_name, (frame.height, frame.width)
        bt601 = int(frame.colorspace) in _BT601
        return VideoFacts(codec, frame.format.name, size, upright, bt601)


@contextmanager
def open_video(location: Location) -> Iterator[tuple[Any, Any]]:
    """Open a video; yields its container and its first video stream, of PyAV.

    Cover art and thumbnails, which FFmpeg gives as streams of their own, are none. Raises
    ImageRefused when it holds no video, or is found to be damaged within the block; ConfigError
    when PyAV is missing.
    """
    av = _av()
    if not location.size:
        raise ImageRefused(Reason.EMPTY, "the file has no bytes")
    plain = location.offset == -1 and path_of(location.container).is_dir()
    file: Any = (
        str(path_of(f"{location.container}/{location.member}"))
        if plain
        else io.BytesIO(read(location, _MOST_BYTES))
    )
    try:
        container = av.open(file)
    except errors() as error:
        raise ImageRefused(Reason.NOT_AN_IMAGE, first_line(error)) from error
    with container:
        kinds = av.stream.Disposition
        pictures = kinds.attached_pic | kinds.timed_thumbnails
        stream = next((s for s in container.streams.video if not s.disposition & pictures), None)
        if stream is None:
            raise ImageRefused(Reason.NOT_AN_IMAGE, "it has no video stream")
        stream.thread_type = "SLICE"  # workers are the parallelism
        stream.codec_context.thread_count = 1
        try:
            yield container, stream
        except errors() as error:
            raise ImageRefused(Reason.DAMAGED, first_line(error)) from error


@contextmanager
def as_far_as_sound(found: Sequence[object]) -> Iterator[None]:
    """End the block at damage, if anything was found before."""
    try:
        yield
    except errors():
        if not found:
            raise


def errors() -> tuple[type[BaseException], ...]:
    """Return what PyAV raises of damaged videos."""
    return (_av().FFmpegError, ValueError, OSError)


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise ConfigError("video files need PyAV: pip install 'gloam[video]'") from error
    # What a damaged stream makes FFmpeg say is raised too, where it matters.
    av.logging.set_level(av.logging.PANIC)
    return av
