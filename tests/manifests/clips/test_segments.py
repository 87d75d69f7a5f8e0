"""Parts of videos: other decoders find the frames there that PyAV finds in the whole."""

from __future__ import annotations

import io
import pickle

import av
import numpy as np
import pytest

from gloam.errors import ImageRefused
from gloam.manifests.clips import segments
from gloam.manifests.clips.segments import Segments, cut_segment
from gloam.manifests.clips.video import (
    decode_frames,
    decode_sequence,
    frame_times,
    probe_video,
)
from gloam.manifests.sources import Location

from ...clips import panned, write_video

FORMS = {
    "short groups and B-frames": ("a.mp4", "libx264", {"g": "9", "bf": "3"}),
    "one group": ("a.mkv", "libx264", {}),
    "open groups": ("a.mp4", "libx265", {"x265-params": "keyint=10:log-level=none"}),
    "hidden frames": ("a.webm", "libvpx-vp9", {"g": "10"}),
    "key frames alone": ("a.avi", "mjpeg", {}),
    "transport stream": ("a.ts", "libx264", {"g": "12", "bf": "2"}),
    "AV1": ("a.mkv", "libsvtav1", {"preset": "12", "g": "9"}),
    "MPEG-4": ("a.mp4", "mpeg4", {"g": "12", "bf": "2"}),
}


def video(folder, name="a.mp4", codec="libx264", count=32, times=None, **options):
    form = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    path = write_video(
        folder / name, panned(3, count), codec=codec, pix_fmt=form, times=times, **options
    )
    return Location(str(folder), name, -1, path.stat().st_size, 0)


def frames_in(data):
    with av.open(io.BytesIO(data)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


@pytest.mark.parametrize("form", FORMS)
def test_frames_of_a_part_are_those_of_the_video(tmp_path, form):
    name, codec, options = FORMS[form]
    place = video(tmp_path, name, codec, **options)
    times, kept = frame_times(place), Segments()
    for first in (20, 0, 7, 9, 10, 24, 3):
        wanted = times[first : first + 8 : 2]
        part, numbers = kept.frames(place, wanted)
        assert part.size == part.coded
        assert not part.astray(place)
        found = frames_in(part.data)
        for number, frame in zip(numbers, decode_frames(place, wanted), strict=True):
            np.testing.assert_array_equal(found[number], frame)


def test_frames_at_uneven_times(tmp_path):
    times = np.cumsum(np.random.default_rng(0).integers(1, 30, 32)).tolist()
    place = video(tmp_path, times=times, g="8")
    shown = frame_times(place)
    part, numbers = Segments().frames(place, shown[11:17])
    found = frames_in(part.data)
    for number, frame in zip(numbers, decode_frames(place, shown[11:17]), strict=True):
        np.testing.assert_array_equal(found[number], frame)


def test_a_part_is_no_longer_than_it_has_to_be_and_is_kept(tmp_path, monkeypatch):
    place = video(tmp_path, g="8", sc_threshold="0")
    times = frame_times(place)
    assert cut_segment(place, times[9:12]).times == tuple(times[8:16])
    kept, cut = Segments(), []
    monkeypatch.setattr(
        segments, "cut_segment", lambda *rest: cut.append(rest) or cut_segment(*rest)
    )
    for first in (9, 10, 8, 14, 14, 1):  # 14: over the end of its group
        kept.frames(place, times[first : first + 3])
    assert [rest[1][0] for rest in cut] == [times[9], times[14], times[1]]


def test_few_bytes_are_kept(tmp_path, monkeypatch):
    place = video(tmp_path, g="4", sc_threshold="0")
    times, kept = frame_times(place), Segments()
    monkeypatch.setattr(segments, "_MOST_BYTES", 3000)
    for first in (0, 4, 8, 12, 0, 16, 4):
        part, numbers = kept.frames(place, times[first : first + 4])
        assert numbers == [0, 1, 2, 3]
        np.testing.assert_array_equal(
            frames_in(part.data)[:4], decode_frames(place, times[first : first + 4])
        )
        assert len(kept._kept) == sum(map(len, kept._begins.values()))
        assert kept._bytes == sum(len(segment.data) for segment in kept._kept.values())
        assert kept._bytes <= 3000 or len(kept._kept) == 1


@pytest.mark.parametrize(
    ("codec", "size", "coded"),
    [
        ("libx264", (70, 94), (80, 96)),
        ("libx264", (64, 96), None),
        ("libx265", (70, 94), (72, 96)),
        ("libvpx-vp9", (70, 94), None),
    ],
)
def test_frames_keep_their_margins(tmp_path, codec, size, coded):
    frames = [
        np.ascontiguousarray(frame[: size[0], : size[1]]) for frame in panned(3, 24, shape=(80, 96))
    ]
    options = {"x265-params": "log-level=none"} if codec == "libx265" else {"g": "9"}
    path = write_video(tmp_path / "a.mkv", frames, codec=codec, **options)
    place = Location(str(tmp_path), path.name, -1, path.stat().st_size, 0)
    assert segments.coded_size(place) == coded
    times, kept = frame_times(place), pickle.loads(pickle.dumps(Segments(margins=True)))
    for first in (10, 0):
        part, numbers = kept.frames(place, times[first : first + 8])
        assert (part.size, part.coded) == (size, coded or size)
        assert not part.astray(place)
        found = np.stack([frames_in(part.data)[number] for number in numbers])
        assert found.shape[1:3] == part.coded
        exact = decode_frames(place, times[first : first + 8])
        np.testing.assert_array_equal(found[:, : size[0], : size[1]], exact)


def test_margins_at_the_left_are_told(tmp_path):
    path, moved = write_video(tmp_path / "a.mkv", panned(3, 12)), tmp_path / "b.mkv"
    with av.open(str(path)) as container, av.open(str(moved), "w") as made:
        stream = container.streams.video[0]
        into = made.add_stream_from_template(stream, opaque=True)
        header = av.BitStreamFilterContext("h264_metadata=crop_left=64", stream, into)
        for packet in container.demux(stream):
            for changed in header.filter(packet) if packet.size else ():
                changed.stream = into
                made.mux(changed)
    place = Location(str(tmp_path), moved.name, -1, moved.stat().st_size, 0)
    times = frame_times(place)
    assert decode_frames(place, times[:1])[0].shape == (72, 32, 3)
    part, _ = Segments(margins=True).frames(place, times[:4])
    assert part.astray(place) == "has margins above its frames or at their left"


def test_sequences_fill_the_room_that_they_are_given(tmp_path):
    place = video(tmp_path)
    times, rooms = frame_times(place)[3:20:2], []

    def room(shape):
        rooms.append(np.zeros(shape, np.uint8))
        return rooms[-1]

    made = decode_sequence(place, times, room)
    np.testing.assert_array_equal(made, decode_frames(place, times))
    assert len(rooms) == 1
    assert made is rooms[0]


def test_what_is_not_there_is_refused(tmp_path):
    place = video(tmp_path)
    with pytest.raises(ImageRefused, match="1 frames are not there"):
        Segments().frames(place, [10**9])
    (tmp_path / "none.mp4").write_bytes(b"nothing" * 90)
    with pytest.raises(ImageRefused):
        Segments().frames(Location(str(tmp_path), "none.mp4", -1, 630, 0), [0])


def test_facts_of_videos(tmp_path):
    facts = probe_video(video(tmp_path))
    assert (facts.codec, facts.form, facts.size) == ("h264", "yuv420p", (72, 96))
    assert facts.upright
    assert probe_video(video(tmp_path, "b.mkv", "libvpx-vp9", 3)).codec == "vp9"


def test_colours_of_videos(tmp_path):
    frames = panned(0, 3)
    for space, known in ((1, False), (5, True), (6, True), (9, False)):
        path = tmp_path / f"{space}.mkv"
        with av.open(str(path), "w") as made:
            stream = made.add_stream("libx264", rate=25)
            stream.height, stream.width, stream.pix_fmt = 72, 96, "yuv420p"
            stream.codec_context.colorspace = space
            for frame in frames:
                image = av.VideoFrame.from_ndarray(frame, format="rgb24")
                for packet in stream.encode(image.reformat(format="yuv420p")):
                    made.mux(packet)
            for packet in stream.encode():
                made.mux(packet)
        place = Location(str(tmp_path), path.name, -1, path.stat().st_size, 0)
        assert probe_video(place).bt601 is known


def test_a_video_that_is_refreshed_bit_by_bit_is_told(tmp_path):
    place = video(tmp_path, count=60, g="20", **{"x264-params": "intra-refresh=1:bframes=0"})
    times = frame_times(place)
    assert not cut_segment(place, times[:4]).astray(place)
    assert (
        cut_segment(place, times[45:49]).astray(place)
        == "is refreshed bit by bit, without key frames"
    )
    plain = video(tmp_path, "b.mp4", g="20", bf="3")
    times = frame_times(plain)
    assert not cut_segment(plain, times[25:29]).astray(plain)
