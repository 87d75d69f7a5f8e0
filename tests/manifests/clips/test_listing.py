"""Which clips a source holds, and what their frames are."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
import zipfile
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gloam.errors import ImageRefused, SourceError
from gloam.manifests.clips.listing import Windows, frame_files, list_clips, video_and_times
from gloam.manifests.clips.load_clip import is_cut, load_clip, refuse_cut
from gloam.manifests.clips.video import decode_frames, frame_times, probe_video
from gloam.manifests.sources.containers import list_container

from ...clips import davis, decoded, panned, write_frames, write_video
from ...conftest import picture


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 4), st.integers(0, 12))
def test_windows_are_those_of_dali(count, frames, stride, step):
    windows = Windows(frames, stride, step)
    starts = list(windows.starts(count))
    assert starts == [
        first for first in range(0, count, step or frames) if first + (frames - 1) * stride < count
    ]
    for first in starts:
        numbers = list(windows.numbers(first))
        assert len(numbers) == frames
        assert numbers[-1] < count


def test_folders_as_davis_and_reds_have_them(tmp_path):
    root = davis(tmp_path / "davis", 2, 9)
    passed = Counter()
    found = list(list_clips(str(root), Windows(4), passed))
    assert [one.path for one in found] == [
        f"JPEGImages/480p/seq-{n}@{first}" for n in range(2) for first in (0, 4)
    ]
    assert passed == {"masks": 2}
    files = frame_files(found[1].location)
    assert [file.member.rpartition("/")[2] for file in files] == [
        f"{n:05d}.jpg" for n in range(4, 8)
    ]
    short = Counter()
    with pytest.raises(SourceError, match="no clip of 10 frames"):
        list(list_clips(str(root), Windows(10), short))
    assert short["sequences that are too short"] == 2


def test_numbers_in_names_are_ordered_as_numbers(tmp_path):
    frames = panned(1, 12)
    folder = write_frames(tmp_path / "a", frames)
    for number in range(12):
        (folder / f"{number:05d}.jpg").rename(folder / f"frame {number}.jpg")
    (found,) = list_clips(str(tmp_path), Windows(12), Counter())
    names = [file.member for file in frame_files(found.location)]
    assert names == [f"a/frame {number}.jpg" for number in range(12)]


def test_archives(tmp_path):
    root = davis(tmp_path / "davis", 1, 5)
    shutil.make_archive(str(tmp_path / "a"), "tar", root)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for path in sorted(root.rglob("*.jpg")):
            archive.write(path, path.relative_to(root).as_posix())
    (plain,) = list_clips(str(root), Windows(5), Counter())
    wanted = [frame.data for frame in load_clip(plain.location)]
    for name in ("a.tar", "a.zip"):
        (one,) = list_clips(str(tmp_path / name), Windows(5), Counter())
        assert [frame.data for frame in load_clip(one.location)] == wanted


def frames_of(path, stride=1):
    """The frames of all clips of one frame: every frame of a video as gloam has it."""
    times = frame_times(next(one.location for one in list_container(path.parent)))
    place = next(one.location for one in list_container(path.parent))
    return times, [decode_frames(place, [time])[0] for time in times[::stride]]


@pytest.mark.parametrize(
    "how",
    [
        {"bf": "3", "g": "12"},
        {"bf": "0", "g": "250"},
        {"bf": "2", "g": "6", "x264-params": "open-gop=1:scenecut=0"},
        {"pix_fmt": "yuv420p10le", "codec": "libx265", "x265-params": "log-level=none"},
        {"pix_fmt": "yuv444p"},
        {"codec": "libvpx-vp9", "suffix": "webm"},
        {"codec": "mpeg4", "suffix": "avi", "bf": "2"},
        {"codec": "mjpeg", "pix_fmt": "yuvj420p", "suffix": "mkv"},
        {"times": [0, 4, 9, 10, 11, 30, 31, 40, 44, 80, 81, 82, 90, 91, 99, 130]},
    ],
)
def test_frames_are_those_that_pyav_decodes(tmp_path, how):
    options = dict(how)
    suffix = options.pop("suffix", "mp4")
    path = write_video(tmp_path / "v" / f"a.{suffix}", panned(3, 16), **options)
    wanted = decoded(path)
    times, found = frames_of(path)
    assert len(times) == len(wanted) == 16
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    (clip,) = list_clips(str(path.parent), Windows(5, 3, 100), Counter())
    place, chosen = video_and_times(clip.location)
    for one, number in zip(decode_frames(place, chosen), range(0, 15, 3), strict=True):
        np.testing.assert_array_equal(one, wanted[number])


def test_odd_sizes(tmp_path):
    path = write_video(tmp_path / "v" / "a.mp4", panned(3, 6, shape=(71, 95)), pix_fmt="yuv444p")
    _, found = frames_of(path)
    assert {frame.shape for frame in found} == {(71, 95, 3)}
    (clip,) = list_clips(str(path.parent), Windows(6), Counter())
    assert {frame.size for frame in load_clip(clip.location)} == {(71, 95)}
    assert {frame.converted for frame in load_clip(clip.location)} == {"frame of a video"}


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
def test_edit_lists_and_rotation(tmp_path):
    path = write_video(tmp_path / "v" / "a.mp4", panned(3, 40), g="10", bf="2")
    cut, turned = tmp_path / "cut" / "a.mp4", tmp_path / "turned" / "a.mp4"
    for folder in (cut.parent, turned.parent):
        folder.mkdir()
    quiet = ["ffmpeg", "-v", "error", "-y"]
    subprocess.run([*quiet, "-ss", "0.5", "-i", path, "-c", "copy", cut], check=True)
    ways = (
        ["-display_rotation:v:0", "90", "-i", path],
        ["-i", path, "-metadata:s:v:0", "rotate=270"],
    )
    for way in ways:  # of newer programs, and of older ones
        if not subprocess.run([*quiet, *way, "-c", "copy", turned], check=False).returncode:
            break
    for one in (cut, turned):
        wanted = decoded(one)
        times, found = frames_of(one, 3)
        assert len(times) == len(wanted)
        for frame, other in zip(found, wanted[::3], strict=True):
            np.testing.assert_array_equal(frame, other)
    assert frames_of(turned)[1][0].shape == (96, 72, 3)
    upright = tmp_path / "upright.png"  # as the program itself turns it
    subprocess.run([*quiet, "-i", turned, "-frames:v", "1", upright], check=True)
    shown = np.asarray(Image.open(upright).convert("RGB")).astype(int)
    assert np.abs(frames_of(turned)[1][0] - shown).mean() < 3


MATRICES = {  # a, b, c, d of display.h: what is coded at (x, y) is shown at (a x + c y, b x + d y)
    "as coded": (1, 0, 0, 1),
    "mirrored": (-1, 0, 0, 1),
    "upside down and mirrored": (1, 0, 0, -1),
    "upside down": (-1, 0, 0, -1),
    "clockwise": (0, 1, -1, 0),
    "counter-clockwise": (0, -1, 1, 0),
    "clockwise, of a mirror": (0, 1, 1, 0),
    "counter-clockwise, of a mirror": (0, -1, -1, 0),
}


def with_matrix(data: bytes, matrix: tuple[int, int, int, int]) -> bytes:
    """An MP4 with another matrix in its track's header (ISO 14496-12, 8.3.2)."""
    a, b, c, d = (one << 16 for one in matrix)
    at = data.index(b"tkhd") + 4 + 40
    return data[:at] + struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30) + data[at + 36 :]


@pytest.mark.parametrize("how", MATRICES)
def test_frames_are_shown_as_the_whole_display_matrix_says(tmp_path, how):
    matrix = a, b, c, d = MATRICES[how]
    path = write_video(tmp_path / "v" / "a.mp4", panned(3, 6))
    coded = frames_of(path)[1][0]
    path.write_bytes(with_matrix(path.read_bytes(), matrix))
    y, x = np.indices(coded.shape[:2])
    right, down = a * x + c * y, b * x + d * y
    shown = np.empty((np.ptp(down) + 1, np.ptp(right) + 1, 3), np.uint8)
    shown[down - down.min(), right - right.min()] = coded
    np.testing.assert_array_equal(frames_of(path)[1][0], shown)
    (file,) = list_container(path.parent)
    assert probe_video(file.location).upright == (how == "as coded")


def test_cover_art_is_no_video_wherever_it_stands(tmp_path):
    """MP4s whose udta stands before trak, as mutagen writes them: FFmpeg's first stream is it."""
    path = write_video(tmp_path / "v" / "a.mp4", panned(3, 8))
    _, wanted = frames_of(path)
    data = path.read_bytes()
    cover = io.BytesIO()
    Image.new("RGB", (16, 16), (255, 0, 0)).save(cover, "PNG")
    art = box(b"covr", box(b"data", struct.pack(">II", 14, 0) + cover.getvalue()))
    handler = box(b"hdlr", bytes(8) + b"mdirappl" + bytes(9))
    meta = box(b"udta", box(b"meta", bytes(4) + handler + box(b"ilst", art)))
    at = data.index(b"moov") - 4  # behind mdat, so that no offset changes
    size = struct.unpack_from(">I", data, at)[0]
    assert at + size == len(data)
    header = 8 + struct.unpack_from(">I", data, at + 8)[0]  # mvhd comes first
    moov = data[at + 8 : at + header] + meta + data[at + header :]
    path.write_bytes(data[:at] + box(b"moov", moov))
    with av.open(str(path)) as container:
        assert container.streams.video[0].codec_context.name == "png"
    for frame, other in zip(frames_of(path)[1], wanted, strict=True):
        np.testing.assert_array_equal(frame, other)
    song = tmp_path / "song" / "a.mp4"
    song.parent.mkdir()
    song.write_bytes(data[:at] + box(b"moov", data[at + 8 : at + header] + meta))
    with pytest.raises(SourceError, match="no videos, for all their names 1"):
        list(list_clips(str(song.parent), Windows(6), Counter()))


def box(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data) + 8) + kind + data


@pytest.mark.parametrize(
    ("suffix", "codec", "form"),
    [("mts", "libx264", "mpegts"), ("m2ts", "mpeg2video", "mpegts"), ("3gp", "mpeg4", "3gp"),
     ("wmv", "wmv2", "asf"), ("flv", "flv", "flv"), ("mpg", "mpeg2video", "mpeg"),
     ("vob", "mpeg2video", "vob"), ("asf", "wmv1", "asf"), ("ogv", "libvpx", "ogg")],
)  # fmt: skip
def test_videos_of_cameras_and_of_the_web_are_read_by_their_suffix(tmp_path, suffix, codec, form):
    path = write_video(tmp_path / "v" / f"a.{suffix}", panned(3, 8), codec, format=form)
    (clip,) = list_clips(str(path.parent), Windows(8), Counter())
    shown = [frame.pixels.astype(int) for frame in load_clip(clip.location)]
    assert max(np.abs(a - b).mean() for a, b in zip(shown, panned(3, 8), strict=True)) < 25


def test_what_is_no_clip_is_counted(tmp_path):
    write_frames(tmp_path / "v" / "a", panned(3, 4))
    names = [
        "b.rm",
        "c.INSV",
        "a/.gif",
        "a/00009.dng",
        "a/7.jpg_large",
        "@eaDir/1.jpg",
        "a/._0.jpg",
    ]
    for name in names:
        (tmp_path / "v" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "v" / name).write_bytes(b"x")
    (tmp_path / "v" / "empty.mp4").write_bytes(b"")
    passed = Counter()
    assert len(list(list_clips(str(tmp_path / "v"), Windows(4), passed))) == 1
    assert passed == {
        ".rm": 1, ".insv": 1, ".dng": 1, ".jpg*": 1, "hidden folders": 1, "hidden files": 1,
        "videos that are damaged": 1,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["x.gif", "x.JPG", "x.h264"])
def test_a_file_that_is_no_film_is_told_from_an_archive(tmp_path, name):
    (tmp_path / name).write_bytes(b"GIF89a")
    with pytest.raises(SourceError, match=r"holds no clip .* files that end in \.mp4") as said:
        list(list_clips(str(tmp_path / name), Windows(2), Counter()))
    assert "; passed over: " in str(said.value)


def test_videos_that_cannot_be_read_are_passed_over(tmp_path):
    whole = write_video(tmp_path / "v" / "whole.mkv", panned(3, 30), g="5")
    data = whole.read_bytes()
    for name, part in {
        "a.mp4": b"hello",
        "b.mp4": b"",
        "c.mkv": data[:200],
        "d.mkv": data[: len(data) // 2],
    }.items():
        (whole.parent / name).write_bytes(part)
    import av

    with av.open(str(whole.parent / "sound.mp4"), "w") as made:
        stream = made.add_stream("aac", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        frame.sample_rate = 8000
        made.mux(stream.encode(frame))
        made.mux(stream.encode(None))
    passed = Counter()
    found = list(list_clips(str(whole.parent), Windows(4), passed))
    names = {one.path.rpartition("@")[0] for one in found}
    assert names == {"whole.mkv", "d.mkv"}
    assert sum(passed.values()) == 4
    assert set(passed) <= {
        "videos that are damaged",
        "files that are no videos, for all their names",
        "sequences that are too short",
    }
    (single,) = {
        one.path.rpartition("@")[0] for one in list_clips(str(whole), Windows(4), Counter())
    }
    assert single == "whole.mkv"
    good, refused = 0, []
    for one in found:  # of a truncated one, frames that are there, or a line
        try:
            assert len(load_clip(one.location)) == 4
            good += 1
        except ImageRefused as refusal:
            refused.append((one.path, str(refusal)))
    assert all("d.mkv" in path and "\n" not in line for path, line in refused)
    assert good >= 7


def test_films_one_after_the_other_in_a_file_are_no_clips_of_both(tmp_path):
    """Their times begin again, so that what is listed would not be what is decoded."""
    for first, second in ((4, 4), (60, 30)):
        parts = [
            write_video(tmp_path / f"{i}.ts", panned(3, count, shape=(64, 32 * i)), g="5")
            for i, count in ((2, first), (3, second))
        ]
        whole = tmp_path / "v" / "both.ts"
        whole.parent.mkdir(exist_ok=True)
        whole.write_bytes(b"".join(part.read_bytes() for part in parts))
        with pytest.raises(SourceError, match="videos of times that go back"):
            list(list_clips(str(whole.parent), Windows(3), Counter()))


def test_frames_of_one_time_are_told_as_such(tmp_path):
    """Matroska counts milliseconds: of 2,000 frames a second two have one."""
    (tmp_path / "v").mkdir()
    with av.open(str(tmp_path / "v" / "fast.mkv"), "w") as made:
        stream = made.add_stream("mpeg4", rate=2000)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for number, pixels in enumerate(panned(3, 8, shape=(64, 64))):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 2000)
            made.mux(stream.encode(frame))
        made.mux(stream.encode(None))
    with pytest.raises(SourceError, match="videos of frames of one time"):
        list(list_clips(str(tmp_path / "v"), Windows(3), Counter()))


@pytest.mark.parametrize(("codec", "form"), [("png", "rgba"), ("prores_ks", "yuva444p10le")])
def test_what_lies_behind_transparency_is_white(tmp_path, codec, form):
    (tmp_path / "v").mkdir()
    with av.open(str(tmp_path / "v" / "x.mov"), "w") as made:
        stream = made.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, form
        pixels = np.full((48, 64, 4), (200, 40, 80, 255), np.uint8)
        pixels[:, 32:, 3] = 0
        for _ in range(2):
            made.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgba")))
        made.mux(stream.encode(None))
    (clip,) = list_clips(str(tmp_path / "v"), Windows(2), Counter())
    shown = decode_frames(*video_and_times(clip.location))[0].astype(int)
    assert np.abs(shown[:, :28] - (200, 40, 80)).max() < 6
    assert (shown[:, 36:] == 255).all()


def test_scene_changes():
    for seed in range(12):
        frames = panned(seed, 8)
        assert not any(is_cut(a, b) for a, b in pairwise(frames))
    assert not is_cut(frames[0], frames[0])
    pictures = [picture(seed, 96, 72) for seed in range(12)]
    found = [is_cut(a, b) for i, a in enumerate(pictures) for b in pictures[:i]]
    assert np.mean(found) > 0.9
    one, other = pictures[1], 255 - pictures[1]
    assert is_cut(one, other)
    assert is_cut(one, one // 8)
    with pytest.raises(ImageRefused, match="frame 2"):
        refuse_cut([one, one, other])
    assert is_cut(one, picture(1, 90, 72))


def test_frames_of_different_sizes(tmp_path):
    folder = write_frames(tmp_path / "a", panned(1, 3))
    write_frames(tmp_path / "b", panned(1, 1, shape=(60, 80)))
    (tmp_path / "b" / "00000.jpg").rename(folder / "00009.jpg")
    found = list(list_clips(str(tmp_path), Windows(4), Counter()))
    with pytest.raises(ImageRefused, match="different sizes"):
        load_clip(found[0].location)
