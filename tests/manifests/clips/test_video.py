"""Which videos are taken: container formats, codecs, colours, fields, sizes; all others counted."""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from gloam.errors import GloamWarning, ImageRefused, SourceError
from gloam.loaders.clips.stored_clips import clips_in
from gloam.manifests.clips.listing import Windows, list_clips, video_and_times
from gloam.manifests.clips.load_clip import load_clip
from gloam.manifests.clips.video import decode_frames, frame_times, probe_video
from gloam.manifests.images.colour import cicp_profile, to_srgb
from gloam.manifests.sources.containers import file_entry

from ...clips import panned, write_frames, write_video

SILENT = "log-level=none:colorprim=unknown:transfer=unknown:colormatrix=unknown"
CODECS = {
    "coded and said": ("a.mp4", "libx264", "yuv420p", {}),
    "10 bit": ("a.mp4", "libx265", "yuv420p10le", {"x265-params": "log-level=none"}),
    "said alone": ("a.mkv", "libx265", "yuv420p10le", {"x265-params": SILENT}),
    "said alone, in QuickTime": ("a.mov", "prores_ks", "yuv422p10le", {}),
    "coded alone": ("a.ts", "libx264", "yuv420p", {}),
    "said alone, in WebM": ("a.webm", "libvpx-vp9", "yuv420p", {}),
    "lossless": ("a.mkv", "ffv1", "yuv420p", {}),
}


def tagged(root: Path, how: str, points: tuple[int, int, int]) -> tuple[Path, np.ndarray]:
    """A video of one smooth picture with code points of H.273, and the picture."""
    name, codec, form, options = CODECS[how]
    down, across = np.mgrid[0:64, 0:96] / 96
    picture = np.stack([60 + 120 * across, 70 + 110 * down, 150 - 90 * across * down], 2)
    picture = picture.astype(np.uint8)
    root.mkdir(exist_ok=True)
    with av.open(str(root / name), "w") as made:
        stream = made.add_stream(codec, rate=25)
        stream.height, stream.width, stream.pix_fmt = 64, 96, form
        stream.options = {"crf": "2", **options}
        context = stream.codec_context
        context.color_primaries, context.color_trc, context.colorspace = points
        for number in range(4):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame = frame.reformat(format=form, dst_colorspace=points[2])
            frame.pts, frame.time_base = number, Fraction(1, 25)
            made.mux(stream.encode(frame))
        made.mux(stream.encode(None))
    return root / name, picture


def passed_over(path: Path) -> str:
    """What is said of a folder that holds no video that can be taken."""
    with pytest.raises(SourceError) as refused:
        list(list_clips(str(path), Windows(4), Counter()))
    return str(refused.value).partition("passed over: ")[2]


@pytest.mark.parametrize("how", CODECS)
@pytest.mark.parametrize("transfer", [16, 18])
def test_a_high_dynamic_range_is_refused_whoever_says_it(
    tmp_path: Path, how: str, transfer: int
) -> None:
    tagged(tmp_path / "v", how, (9, transfer, 9))
    assert passed_over(tmp_path / "v").startswith("videos of a high dynamic range (PQ or HLG)")


@pytest.mark.parametrize("how", CODECS)
@pytest.mark.parametrize("points", [(9, 1, 9), (1, 17, 1), (1, 1, 1)])
def test_other_colours_become_those_that_a_still_of_them_has(
    tmp_path: Path, how: str, points: tuple[int, int, int]
) -> None:
    path, picture = tagged(tmp_path / "v", how, points)
    (clip,) = list_clips(str(path), Windows(4), Counter())
    made = decode_frames(*video_and_times(clip.location))[0].astype(int)
    profile = cicp_profile(*points[:2])
    wanted = np.asarray(to_srgb(Image.fromarray(picture), profile)) if profile else picture
    assert np.abs(made - wanted).mean() < 3.5
    assert probe_video(file_entry(path).location).srgb == (not profile)


@pytest.mark.parametrize(
    ("points", "said"), [((1, 9, 1), "logarithmic"), ((10, 17, 1), "XYZ"), ((9, 14, 10), "matrix")]
)
def test_colours_that_are_not_converted_are_refused(
    tmp_path: Path, points: tuple[int, int, int], said: str
) -> None:
    path, _ = tagged(tmp_path / "v", "lossless", (*points[:2], 1))
    if points[2] != 1:
        data = path.read_bytes()
        assert data.count(b"\x55\xb1\x81\x01") == 1  # MatrixCoefficients of Matroska
        path.write_bytes(data.replace(b"\x55\xb1\x81\x01", b"\x55\xb1\x81" + bytes([points[2]])))
    assert said in passed_over(path)


def joined(path: Path, *parts: dict[str, str]) -> Path:
    """An MPEG transport stream whose parts were coded in different ways."""
    with av.open(str(path), "w", "mpegts") as made:
        stream, before = None, 0
        for number, options in enumerate(parts):
            write_video(path.parent.parent / f"{number}.ts", panned(number, 8), bf="0", **options)
            file = av.open(str(path.parent.parent / f"{number}.ts"))
            stream = stream or made.add_stream_from_template(file.streams.video[0])
            packets = [one for one in file.demux(video=0) if one.size]
            begin = packets[0].pts
            for packet in packets:
                packet.pts = packet.dts = packet.pts - begin + before + 90_000
                packet.stream = stream
                made.mux(packet)
            before = packets[-1].pts - 90_000 + 3600
    return path


def test_interlaced_frames_are_refused(tmp_path: Path) -> None:
    fields = {"x264-params": "interlaced=1"}
    for name in ("a.mp4", "a.mkv", "a.ts"):
        write_video(tmp_path / name[2:] / name, panned(1, 8), **fields)
        assert "interlaced frames" in passed_over(tmp_path / name[2:])
    (tmp_path / "v").mkdir()
    path = joined(tmp_path / "v" / "a.ts", {}, fields)
    clips = [one.location for one in list_clips(str(path), Windows(4), Counter())]
    assert len(clips) == 4
    assert len(load_clip(clips[0])) == 4
    with pytest.raises(ImageRefused, match="interlaced frames"):
        load_clip(clips[2])


def test_a_high_dynamic_range_that_begins_in_mid_stream_is_refused(tmp_path: Path) -> None:
    high = {"x264-params": "colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc"}
    (tmp_path / "v").mkdir()
    path = joined(tmp_path / "v" / "a.ts", {}, high)
    clips = [one.location for one in list_clips(str(path), Windows(4), Counter())]
    assert len(load_clip(clips[0])) == 4
    with pytest.raises(ImageRefused, match="high dynamic range"):
        load_clip(clips[-1])


def test_an_unknown_codec_is_counted(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v" / "a.mkv", panned(1, 8))
    path.write_bytes(path.read_bytes().replace(b"V_MPEG4/ISO/AVC", b"V_MPEG4/ISO/XYZ"))
    assert passed_over(path) == "videos of a codec that FFmpeg does not know 1"
    with pytest.raises(ImageRefused, match="a codec that FFmpeg does not know"):
        probe_video(file_entry(path).location)


SCRIPTS = {
    "concat": "ffconcat version 1.0\nfile {0}\n",
    "playlist": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{0}\n#EXT-X-ENDLIST\n",
    "session": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nt=0 0\nm=video 9 RTP/AVP 96\n",
    "manifest": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"'
    ' mediaPresentationDuration="PT1S"><Period><AdaptationSet mimeType="video/mp4"><Representation'
    ' id="1" bandwidth="1"><BaseURL>{0}</BaseURL></Representation></AdaptationSet></Period></MPD>',
    "text": "hello\n" * 99,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_file_that_names_others_is_no_video(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    own = write_video(tmp_path / "private" / "holiday.mp4", panned(1, 8))
    monkeypatch.chdir(tmp_path)
    for place in ("private/holiday.mp4", str(own)):
        text = SCRIPTS[script].format(place)
        folder = tmp_path / "v"
        folder.mkdir(exist_ok=True)
        for suffix in (".mp4", ".mkv", ".ts", ".y4m", ".mpg"):
            (folder / f"clip{suffix}").write_text(text)
        with tarfile.open("clips.tar", "w") as tar:
            tar.add(folder, "v")
        with zipfile.ZipFile("clips.zip", "w") as archive:
            archive.write(folder / "clip.mp4", "clip.mp4")
        for path in ("v", "clips.tar", "clips.zip"):
            assert "files that are no videos, for all their names" in passed_over(Path(path))


def test_a_picture_is_no_video(tmp_path: Path) -> None:
    (frame,) = write_frames(tmp_path / "p", panned(1, 1)).iterdir()
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a%05d.mp4").write_bytes(frame.read_bytes())
    assert "files that are no videos" in passed_over(tmp_path / "v")


def test_frames_are_bounded_by_the_header_and_clips_by_all_frames(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v" / "a.mkv", panned(1, 8))
    place = file_entry(path).location
    with pytest.raises(ImageRefused, match="96 x 72 pixels, the limit is 6,911"):
        frame_times(place, 6911)
    times = frame_times(place, 6912)
    assert len(decode_frames(place, times[:3], 6912)) == 3
    with pytest.raises(ImageRefused, match="4 frames of 96 x 72 pixels, the limit of a clip"):
        decode_frames(place, times[:4], 6912)
    passed: Counter[str] = Counter()
    with pytest.raises(SourceError, match="videos of too large frames 1"):
        list(list_clips(str(path), Windows(4), passed, 6911))
    write_frames(tmp_path / "f" / "a", panned(1, 5))
    (clip,) = list_clips(str(tmp_path / "f"), Windows(5), Counter())
    with pytest.raises(ImageRefused, match="the limit of a clip"):
        load_clip(clip.location, None, 6912)


def test_a_film_of_which_next_to_nothing_is_stored_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    film = write_video(folder / "a.mkv", panned(1, 4), codec="ffv1")
    (folder / "b.mkv").write_bytes(film.read_bytes())
    os.truncate(folder / "b.mkv", 1 << 40)
    zeros = film.read_bytes() + bytes(40 << 20)
    with zipfile.ZipFile(tmp_path / "films.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(film, "a.mkv")
        archive.writestr("b.mkv", zeros)
    for path in (folder, tmp_path / "films.zip"):
        passed: Counter[str] = Counter()
        listed = list(list_clips(str(path), Windows(4), passed))
        assert [one.path for one in listed] == ["a.mkv@0"]
        assert passed == {"videos that are damaged": 1}


def test_loaders_warn_of_videos_that_they_leave_out(tmp_path: Path) -> None:
    tagged(tmp_path / "v", "lossless", (9, 18, 9))
    write_video(tmp_path / "v" / "b.mp4", panned(1, 8))
    with pytest.warns(GloamWarning, match="passed over: videos of a high dynamic range"):
        assert len(clips_in(tmp_path / "v", Windows(4)).clips) == 2
