"""Parts of videos, cut out between key frames without decoding: files of their own, in memory.

For decoders that take whole files: they need not search, and frames are numbered as they are shown.
"""

from __future__ import annotations

import io
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import ImageRefused, Reason, first_line
from ..sources.containers import Location
from .video import decode_frames, errors, first_frame, open_video, opened

_MOST_BYTES = 1 << 30  # of segments that are kept
_TICK = 40  # ms from frame to frame: only their order matters
_DELAY = 32  # frames by which decoding may precede showing; standards allow 16
_WITH_MARGINS = {
    codec: f"{codec}_metadata=crop_left=0:crop_top=0:crop_right=0:crop_bottom=0"
    for codec in ("h264", "hevc")
}
"""Filters of FFmpeg that make headers say that all is shown that is coded."""


@dataclass(frozen=True)
class VideoSegment:
    """A part of a video from a key frame on.

    data: a Matroska file.
    times: when its frames are shown in the video, in order; in the file they follow one another in
      steps of 40 ms.
    size: (height, width); size of the part of a frame that is shown, from its upper left corner on.
    coded: (height, width); size of the frames in the file.
    """

    data: bytes
    times: tuple[int, ...]
    size: tuple[int, int]
    coded: tuple[int, int]

    def numbers(self, times: Sequence[int]) -> list[int] | None:
        """Return the numbers of frames in the file; None if one is not there."""
        number = {time: i for i, time in enumerate(self.times)}
        found = [number.get(time, -1) for time in times]
        return None if -1 in found else found

    def astray(self, video: Location) -> str:
        """Return why other decoders do not find frames of its video in it; "" where they do.

        In videos whose pictures are refreshed bit by bit the first frame that is decoded is not the
        first one: what lies before key frames of such is needed, too. Raises ImageRefused when
        nothing can be decoded.
        """
        try:
            with opened(io.BytesIO(self.data)) as container:
                frame = next(container.decode(video=0), None)
        except errors() as error:
            raise ImageRefused(Reason.DAMAGED, first_line(error)) from error
        if frame is None or frame.time is None or frame.time >= _TICK / 2000:
            return "is refreshed bit by bit, without key frames"
        height, width = self.size
        shown = frame.to_ndarray(format="rgb24")[:height, :width]
        exact = decode_frames(video, self.times[:1])[0]
        same = (frame.height, frame.width) == self.coded and np.array_equal(shown, exact)
        return "" if same else "has margins above its frames or at their left"


Cut = Callable[[Location, Sequence[int]], VideoSegment]


class Segments:
    """Segments of videos, the last ones of which are kept; for several threads.

    margins: whether frames of H.264 and HEVC keep what is coded to their right and below them, up
      to whole blocks. DALI 2.4 uses a GPU's decoders, which take .1 s to make, again only for
      videos that show all that is coded.
    """

    def __init__(self, margins: bool = False) -> None:
        self._margins = margins
        self._coded: dict[Location, tuple[int, int] | None] = {}
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Location, int], VideoSegment] = OrderedDict()
        self._begins: dict[Location, list[int]] = {}
        self._bytes = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Segments, (self._margins,)  # copies begin with nothing

    def frames(
        self, video: Location, times: Sequence[int], cut: Cut | None = None
    ) -> tuple[VideoSegment, list[int]]:
        """Return a part of a video that holds frames, and their numbers in it.

        times: see `video.decode_frames`.
        cut: used instead of this object's.

        Raises ImageRefused when a frame is not there, or the video is damaged.
        """
        with self._lock:
            begins = self._begins.get(video, [])
            at = bisect_right(begins, times[0])
            segment = self._kept.get((video, begins[at - 1])) if at else None
            numbers = None if segment is None else segment.numbers(times)
            if segment is not None and numbers is not None:
                self._kept.move_to_end((video, begins[at - 1]))
                return segment, numbers
        segment = (cut or self.cut)(video, times)
        numbers = segment.numbers(times)
        assert numbers is not None
        with self._lock:
            self._keep(video, segment)
        return segment, numbers

    def cut(self, video: Location, times: Sequence[int]) -> VideoSegment:
        """Cut a part out of a video; see `cut_segment`."""
        if not self._margins:
            return cut_segment(video, times)
        if video not in self._coded:
            self._coded[video] = coded_size(video)
        return cut_segment(video, times, self._coded[video])

    def _keep(self, video: Location, segment: VideoSegment) -> None:
        begin = segment.times[0]
        old = self._kept.pop((video, begin), None)  # shorter than this one
        if old is None:
            begins = self._begins.setdefault(video, [])
            begins.insert(bisect_right(begins, begin), begin)
        self._kept[video, begin] = segment
        self._bytes += len(segment.data) - (len(old.data) if old else 0)
        while self._bytes > _MOST_BYTES and len(self._kept) > 1:
            (other, first), dropped = self._kept.popitem(last=False)
            self._begins[other].remove(first)
            self._bytes -= len(dropped.data)


def coded_size(video: Location) -> tuple[int, int] | None:
    """Return height and width of a video's frames with their margins; None where it has none.

    Raises ImageRefused when nothing can be decoded.
    """
    with open_video(video) as (container, stream):
        codec = stream.codec_context
        if codec.codec.canonical_name not in _WITH_MARGINS:
            return None
        frame, _ = first_frame(container, stream)
        coded = codec.coded_height, codec.coded_width
        return None if coded == (frame.height, frame.width) else coded


def cut_segment(
    video: Location, times: Sequence[int], coded: tuple[int, int] | None = None
) -> VideoSegment:
    """Cut out of a video what frames need to be decoded, up to the next key frame.

    times: presentation times in rising order, of `video.frame_times`.
    coded: (height, width); `coded_size` of the video: its frames then keep their margins.

    Raises ImageRefused when a frame is not there, or the video is damaged.
    """
    with open_video(video) as (container, stream):
        second = max(int(1 / stream.time_base), 1)
        for back in (0, 1, 4, 16, None):  # files seek by times of decoding, which are earlier
            target = 0 if back is None else max(times[0] - back * second, 0)
            container.seek(target, stream=stream, backward=True)
            packets = _packets_around(container, stream, times)
            if set(times) <= {packet.pts for packet in packets}:
                return _segment_of(stream, packets, coded)
    raise ImageRefused(Reason.DAMAGED, f"{len(times)} frames are not there as packets")


def _packets_around(container: Any, stream: Any, times: Sequence[int]) -> list[Any]:
    """Return packets from the last key frame before a clip to the first one after it.

    Frames shown before the key frame, which may need one further back, are left out.
    """
    packets: list[Any] = []
    wanted = set(times)
    for packet in container.demux(stream):
        if packet.size == 0 or packet.pts is None:
            continue
        if packet.is_keyframe and (not packets or packet.pts <= times[0]):
            packets, wanted = [], set(times)
        elif packet.is_keyframe and not wanted:
            break
        elif not packets or packet.pts < packets[0].pts:
            continue
        packets.append(packet)
        wanted.discard(packet.pts)
    return packets


def _segment_of(stream: Any, packets: Sequence[Any], coded: tuple[int, int] | None) -> VideoSegment:
    import av

    times = sorted(packet.pts for packet in packets)
    order = {time: i for i, time in enumerate(times)}
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as made:
        # Opaque: no encoder of that name need be there.
        into = made.add_stream_from_template(stream, opaque=True)
        if coded is not None:
            how = _WITH_MARGINS[stream.codec_context.codec.canonical_name]
            header = av.BitStreamFilterContext(how, stream, into)
            packets = [changed for packet in packets for changed in header.filter(packet)]
            into.codec_context.height, into.codec_context.width = coded
        for number, packet in enumerate(packets):
            packet.pts, packet.dts = _TICK * order[packet.pts], _TICK * (number - _DELAY)
            packet.time_base, packet.stream = Fraction(1, 1000), into
            made.mux(packet)
    size = stream.codec_context.height, stream.codec_context.width
    return VideoSegment(file.getvalue(), tuple(times), size, coded or size)
