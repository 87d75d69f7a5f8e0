"""Frames of video files, by PyAV: every frame by its own presentation time, exactly."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from PIL import Image

from ...errors import ImageRefused, Reason, first_line, needed
from ...storage.stores import refuse_hollow
from ...storage.untrusted import open_regular
from ..images.colour import HIGH_RANGE, cicp_profile, to_srgb
from ..images.decode import over_white
from ..images.opening import Pixels, check_pixels, pixel_limit
from ..sources.containers import Location, path_of, read
from .mov_index import check_index

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
T = TypeVar("T")
_FORMATS = (
    "mov", "matroska", "avi", "mpeg", "mpegvideo", "m4v", "mpegts", "asf", "flv", "ogg", "mxf",
    "dv", "yuv4mpegpipe",
)  # fmt: skip
"""Container formats, by FFmpeg's names, of `SUFFIXES`. Others, whatever a file is called, may name
further files or addresses, which FFmpeg would open."""
_OPTIONS = {"format_whitelist": ",".join(_FORMATS), "protocol_whitelist": "none"}
_UNSAID = 0, 2, 3  # code points of H.273 that say nothing, of a matrix and of YUV
_BT601 = 5, 6  # matrices of ITU-R BT.601, which is meant where nothing is said
_MATRICES = 1, 4, *_BT601, 7, 9
"""Those that FFmpeg knows, of H.273: not YCgCo, ICtCp, nor constant luminance."""
_BT2020 = 9  # its primaries, and its matrix
_PROGRESSIVE = 1  # of AVFieldOrder: 0 is unknown, and all others are of fields
_PIECE = 1 << 17  # bytes that FFmpeg asks for at a time
_PICTURES = 3  # a clip has no more pixels than so many of the largest pictures
_MOST_FRAMES = 1 << 22  # of a video: 19 hours of 60 a second
_MOST_BYTES = 1 << 34  # of a video in an archive or a store, which is read whole


def frame_times(location: Location, max_pixels: int | None = None) -> list[int]:
    """Return the presentation times of a video's frames, in order: of those that are shown.

    It reads the file's packets and decodes none but the first frame, which shows whether the
    decoder leaves out what the packets begin with. Raises ImageRefused when it holds no video that
    `open_video` takes, or is damaged from its beginning on; ConfigError when PyAV is missing.
    """
    with open_video(location, max_pixels, indexed=True) as (container, stream):
        times: list[int] = []
        bare, latest, second = 0, -math.inf, int(1 / (stream.time_base or 1))
        with as_far_as_sound(times):
            for packet in islice(container.demux(stream), _MOST_FRAMES + 1):
                if packet.dts is not None:
                    if packet.dts < latest - second:
                        raise ImageRefused(Reason.UNSUPPORTED, _BACK)
                    latest = max(latest, packet.dts)
                if packet.size and packet.pts is None:
                    bare += 1
                elif packet.size and not packet.is_discard:
                    times.append(int(packet.pts))
    if len(times) + bare > _MOST_FRAMES:
        raise ImageRefused(Reason.UNSUPPORTED, f"more frames than {_MOST_FRAMES:,}; cut it first")
    if bare or len(set(times)) < len(times):  # raw streams have no times: what is decoded counts
        return _decoded_times(location, max_pixels)
    times.sort()
    with open_video(location, max_pixels) as (container, stream):
        first = _frame_time(first_frame(container, stream)[0]) or 0
    if first not in times:
        return _decoded_times(location, max_pixels)
    return [time for time in times if time >= first]


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


def decode_frames(
    location: Location, times: Sequence[int], max_pixels: int | None = None
) -> list[Pixels]:
    """Decode frames of a video, upright and in sRGB, uint8 RGB (H, W, 3) each.

    location: location of the file.
    times: presentation times in rising order, of `frame_times`.
    max_pixels: of a frame, see `opening.check_pixels`; of all together, see `check_clip`.

    Raises ImageRefused when one of them is not there, cannot be decoded, is interlaced, or too
    large.
    """
    return convert_frames(location, times, max_pixels, lambda pixels: pixels.copy())


def convert_frames(
    location: Location, times: Sequence[int], max_pixels: int | None, made: Callable[[Pixels], T]
) -> list[T]:
    """Return what a function makes of each frame; its pixels last until the next frame.

    location, times, max_pixels, and what is raised: as of `decode_frames`.
    """
    found = {time: made(pixels) for time, pixels in _decode_wanted(location, times, max_pixels)}
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
    for time, pixels in _decode_wanted(location, times):
        if made is None:
            made = allocate((len(times), *pixels.shape))
        if pixels.shape != made.shape[1:]:
            raise ImageRefused(Reason.DAMAGED, "its frames differ in size")
        made[number[time]] = pixels
    assert made is not None
    return made


def _decode_wanted(
    location: Location, times: Sequence[int], max_pixels: int | None = None
) -> Iterator[tuple[int, Pixels]]:
    """Yield the time and the pixels of each frame that is wanted; they last until the next one."""
    wanted = set(times)
    reformatter = pyav().video.reformatter.VideoReformatter()  # frames share its tables
    with open_video(location, max_pixels) as (container, stream):
        told = _Signal.of(stream.codec_context)
        for start in (int(times[0]), 0):  # from the beginning where an index leads astray
            container.seek(start, stream=stream, backward=True)
            for frame in container.decode(stream):
                time = _frame_time(frame)
                if time in wanted:
                    wanted.discard(time)
                    check_pixels(frame.width, frame.height, max_pixels)
                    check_clip(frame.height, frame.width, len(times), max_pixels)
                    yield time, _upright_pixels(frame, told.with_frame(frame), reformatter)
                if time is not None and time >= times[-1]:
                    break
            if not wanted:
                return
    raise ImageRefused(Reason.DAMAGED, f"{len(wanted)} of {len(times)} frames cannot be decoded")


def check_clip(height: int, width: int, frames: int, max_pixels: int | None) -> None:
    """Raise ImageRefused: "too large", for frames that have too many pixels together."""
    most = _PICTURES * (pixel_limit() if max_pixels is None else max_pixels)
    if height * width * frames > most:
        raise ImageRefused(
            Reason.TOO_LARGE,
            f"{frames} frames of {width} x {height} pixels, the limit of a clip is {most:,} in all",
        )


def _decoded_times(location: Location, max_pixels: int | None) -> list[int]:
    times: list[int] = []
    with open_video(location, max_pixels) as (container, stream), as_far_as_sound(times):
        told = _Signal.of(stream.codec_context)
        for frame in islice(container.decode(stream), _MOST_FRAMES):
            if not times:
                told.with_frame(frame)
            time = _frame_time(frame)
            if time is not None and times and time <= times[-1]:
                raise ImageRefused(Reason.UNSUPPORTED, _BACK if time < times[-1] else _ALIKE)
            times.append(len(times) if time is None else time)
    return times


def first_frame(container: Any, stream: Any) -> tuple[Any, _Signal]:
    """Decode the first frame of an opened video; returns it, and what is said of its colours.

    Raises ImageRefused where there is none, or it is interlaced or of a high dynamic range.
    """
    told = _Signal.of(stream.codec_context)
    frame = next(container.decode(stream), None)
    if frame is None:
        raise ImageRefused(Reason.DAMAGED, "no frame of it can be decoded")
    return frame, told.with_frame(frame)


def _frame_time(frame: Any) -> int | None:
    return None if frame.pts is None else int(frame.pts)


class _Signal(NamedTuple):
    """Code points of ITU-T H.273 that a file, or a frame in it, says of colours.

    Files and what is coded in them say it both, or one of them alone. What is coded comes first, as
    FFmpeg has it, but a high dynamic range that either says is one.

    span: FFmpeg's AVColorRange: 0 (nothing is said), 1 (16 to 235), 2 (0 to 255).
    """

    primaries: int
    transfer: int
    matrix: int
    span: int
    profile: bytes = b""

    @classmethod
    def of(cls, one: Any) -> _Signal:
        """Return what a stream's codec context says before anything is decoded, or a frame.

        Raises ImageRefused: "unsupported", for a high dynamic range.
        """
        primaries, transfer = int(one.color_primaries), int(one.color_trc)
        made = cls(primaries, transfer, int(one.colorspace), int(one.color_range))
        _profile(made.primaries, made.transfer)
        return made

    def with_frame(self, frame: Any) -> _Signal:
        """Return what is said of a frame of the file that says this.

        Raises ImageRefused: "unsupported", for a high dynamic range, other matrices than FFmpeg
        knows, and interlaced frames.
        """
        if frame.interlaced_frame:
            raise ImageRefused(Reason.UNSUPPORTED, INTERLACED)
        coded = _Signal.of(frame)
        silent = coded.primaries in _UNSAID and coded.transfer in _UNSAID
        primaries, transfer, matrix = (
            own if own not in _UNSAID else other
            for own, other in zip(coded[:3], self[:3], strict=True)
        )
        # Decoders of HEVC and AV1 say 16 to 235 where nothing is coded.
        span = (self.span if silent else 0) or coded.span or self.span
        if transfer in _UNSAID and any(one.type in _high_range_data() for one in frame.side_data):
            raise ImageRefused(Reason.UNSUPPORTED, HIGH_RANGE)
        if matrix not in (*_UNSAID, *_MATRICES) and not frame.format.is_rgb:
            raise ImageRefused(Reason.UNSUPPORTED, f"a colour matrix that is not read ({matrix})")
        if primaries in _UNSAID and matrix == _BT2020:
            primaries = _BT2020
        return _Signal(primaries, transfer, matrix, span, _profile(primaries, transfer))


INTERLACED = "interlaced frames; make it progressive first (ffmpeg -i VIDEO -vf bwdif NEW)"
"""Why a video is refused whose frames are two fields of different times."""
_BACK = "times that go back, as of films one after the other; write it anew (ffmpeg -i VIDEO NEW)"
_ALIKE = "frames of one time; write it anew at a constant rate (ffmpeg -i VIDEO -fps_mode cfr NEW)"
_profile = lru_cache(maxsize=64)(cicp_profile)


@lru_cache(maxsize=1)
def _high_range_data() -> frozenset[Any]:
    """Return the kinds of side data that only frames of a high dynamic range have."""
    kinds = pyav().sidedata.sidedata.Type
    names = "MASTERING_DISPLAY_METADATA CONTENT_LIGHT_LEVEL DYNAMIC_HDR_PLUS DOVI_METADATA"
    return frozenset(getattr(kinds, name) for name in names.split())


def _upright_pixels(frame: Any, signal: _Signal, reformatter: Any) -> Pixels:
    """Return a frame's pixels in sRGB where FFmpeg put them, turned as its metadata says."""
    matrix = None if signal.matrix in _UNSAID else signal.matrix
    clear = any(one.is_alpha for one in frame.format.components)
    shown = reformatter.reformat(
        frame,
        format="rgba" if clear else "rgb24",
        src_colorspace=matrix,
        src_color_range=signal.span,
    )
    plane, channels = shown.planes[0], 4 if clear else 3
    rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    pixels = rows[: shown.height, : channels * shown.width].reshape(shown.height, -1, channels)
    if clear:
        pixels = over_white(Image.fromarray(pixels), signal.profile)
    elif signal.profile:
        pixels = np.asarray(to_srgb(Image.fromarray(pixels), signal.profile))
    across, flips = _display_turns(frame)
    return (pixels.transpose(1, 0, 2) if across else pixels)[flips]


def _display_turns(frame: Any) -> tuple[bool, tuple[slice, slice]]:
    """Return how a frame is to be shown, by its display matrix, to the next quarter of a turn.

    FFmpeg's libavutil/display.h: what is coded at (x, y) is shown at (a x + c y, b x + d y), for
    the matrix (a, b, u, c, d, v, ...). Cameras turn pictures, and front ones mirror them.

    Returns (bool, (slice, slice)): whether rows become columns; and then, which way rows and
    columns go.
    """
    kind = pyav().sidedata.sidedata.Type.DISPLAYMATRIX
    matrix = frame.side_data.get(kind)
    if matrix is None:
        return False, (slice(None), slice(None))
    a, b, _, c, d = (int(value) for value in np.frombuffer(matrix, np.int32)[:5])
    across = abs(b) + abs(c) > abs(a) + abs(d)
    rows, columns = (b, c) if across else (d, a)
    return across, (_slice_towards(rows), _slice_towards(columns))


def _slice_towards(sign: int) -> slice:
    return slice(None, None, -1 if sign < 0 else None)


@dataclass(frozen=True)
class VideoFacts:
    """Facts of a video that a decoder has to know.

    codec: FFmpeg's name: "h264", "hevc", ...
    form: FFmpeg's pixel format: "yuv420p", ...
    size: (height, width); size of its frames as they are coded.
    upright: whether they are shown as they are coded: neither turned nor mirrored.
    bt601: whether colours are coded as ITU-R BT.601 says, which is meant where nothing is said.
    srgb: whether its colours are shown as sRGB's are.
    """

    codec: str
    form: str
    size: tuple[int, int]
    upright: bool
    bt601: bool
    srgb: bool


def probe_video(location: Location) -> VideoFacts:
    """Return the codec, size and format of a video, by its first frame.

    Raises ImageRefused when it holds no video that `open_video` takes, or its first frame cannot be
    decoded.
    """
    with open_video(location) as (container, stream):
        frame, signal = first_frame(container, stream)
        upright = _display_turns(frame) == (False, (slice(None), slice(None)))
        codec, size = stream.codec_context.codec.canonical_name, (frame.height, frame.width)
        bt601, srgb = signal.matrix in (*_UNSAID, *_BT601), not signal.profile
        return VideoFacts(codec, frame.format.name, size, upright, bt601, srgb)


@contextmanager
def open_video(
    location: Location, max_pixels: int | None = None, indexed: bool = False
) -> Iterator[tuple[Any, Any]]:
    """Open a video; yields its container and its first video stream, of PyAV.

    Cover art and thumbnails, which FFmpeg gives as streams of their own, are none.

    max_pixels: of a frame, by the header and as decoded.
    indexed: whether its index is looked at before, as of a file that was not opened yet.

    Raises ImageRefused when it holds no video, or one that is interlaced, of a high dynamic range
    or of an unknown codec, when its frames are larger, or it is found to be damaged within the
    block; ConfigError when PyAV is missing.
    """
    if not location.size:
        raise ImageRefused(Reason.EMPTY, "the file has no bytes")
    with _bytes_of(location) as file, opened(file, max_pixels, indexed) as container:
        kinds = pyav().stream.Disposition
        pictures = kinds.attached_pic | kinds.timed_thumbnails
        stream = next((s for s in container.streams.video if not s.disposition & pictures), None)
        if stream is None:
            raise ImageRefused(Reason.NOT_AN_IMAGE, "it has no video stream")
        codec = stream.codec_context
        if codec is None:
            raise ImageRefused(Reason.UNSUPPORTED, "a codec that FFmpeg does not know")
        check_pixels(codec.width, codec.height, max_pixels)
        _Signal.of(codec)
        if codec.field_order > _PROGRESSIVE:
            raise ImageRefused(Reason.UNSUPPORTED, INTERLACED)
        stream.thread_type = "SLICE"  # workers are the parallelism
        codec.thread_count = 1
        codec.options = {"max_pixels": _ffmpeg_pixel_limit(max_pixels)}
        try:
            yield container, stream
        except errors() as error:
            raise ImageRefused(Reason.DAMAGED, first_line(error)) from error


def _bytes_of(location: Location) -> BinaryIO:
    """Return a video's bytes as a file that has no name, so that FFmpeg opens nothing by one."""
    if location.offset == -1 and path_of(location.container).is_dir():
        try:
            path = path_of(f"{location.container}/{location.member}")
            file = open_regular(path)
            try:
                if not path.remote:
                    refuse_hollow(file.fileno(), 0, location.size)
            except OSError:
                file.close()
                raise
            return file
        except OSError as error:
            raise ImageRefused(Reason.UNREADABLE, error.strerror or str(error)) from error
    return io.BytesIO(read(location, _MOST_BYTES))


def opened(file: BinaryIO, max_pixels: int | None = None, indexed: bool = False) -> Any:
    """Open a file of a video with PyAV, if it is of a container format that is meant.

    indexed: see `open_video`.

    Raises ImageRefused: "not an image", when it is not, or too damaged to tell.
    """
    if indexed:
        check_index(file)
    try:
        return pyav().open(
            file,
            options=_OPTIONS | {"max_pixels": _ffmpeg_pixel_limit(max_pixels)},
            metadata_errors="replace",
            buffer_size=_PIECE,
        )
    except errors() as error:
        raise ImageRefused(Reason.NOT_AN_IMAGE, first_line(error)) from error


def _ffmpeg_pixel_limit(max_pixels: int | None) -> str:
    """Return the limit of FFmpeg's decoders, which count what is coded beyond the margins, too."""
    most = pixel_limit() if max_pixels is None else max_pixels
    return str(2 * most + (1 << 20))


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
    return (pyav().FFmpegError, ValueError, OSError)


def pyav() -> Any:
    """Return PyAV, silent. Raises ConfigError when it is not installed."""
    av = needed("av", "video files need PyAV", "video")
    # What a damaged stream makes FFmpeg say is raised too, where it matters.
    av.logging.set_level(av.logging.PANIC)
    return av
