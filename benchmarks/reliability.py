"""Kills, full disks and flipped bits: does the set always end in the same bytes? The figures stand
in docs/reliability.md.

    python benchmarks/reliability.py [--kills 100] [--terms 20] [--arrays 20] [--flips 1000]
    [--repairs 100] [--seed 0]

Builds a set of 60 random pictures, and regenerates it with another ISO, over and over: SIGKILL of
the whole process group or of one worker, SIGTERM, at random moments, and a file system that fills
up (a small tmpfs, where mounting is allowed). Each time the same command goes on; a finished set is
compared with an undisturbed one, byte by byte. Every second run has a clock that jumps by years,
forth and back, and before it the times of all the set's files are scattered over a century. Three
tasks of one build run at once, of which one is killed. Then single bits are flipped.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from recording import options_of

from gloam.errors import GloamError
from gloam.manifests.sets.info import read_set
from gloam.manifests.sets.problems import verify_set

GLOAM = "from gloam.cli.main import gloam; gloam()"
JUMPING = """
import random, time
steady = time.time
time.time = lambda: steady() + random.choice((-1e9, -3600, 0, 3600, 1e9))
time.time_ns = lambda: int(time.time() * 1e9)
"""
CENTURY = 3_155_760_000


def photographs(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    for i in range(count):
        rng = np.random.default_rng(i)
        small = rng.integers(0, 256, (12, 16, 3)).astype(np.uint8)
        Image.fromarray(small).resize((320, 240), Image.Resampling.BICUBIC).save(
            folder / f"{i:03d}.jpg", quality=90
        )
    return folder


def bytes_of(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def workers_of(pid: int) -> list[int]:
    """The worker processes of a run: children of the server that is its child."""
    return [worker for child in children(pid) for worker in children(child)]


def children(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return [int(line) for line in listed.split()]


class Ground:
    """Builds, and their undisturbed results."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.photos = photographs(folder / "photos", 60)
        self.commands = {
            "build": [
                "build",
                "{root}",
                "--source",
                f"folder={self.photos}",
                "--no-select",
                "--shard-size",
                "4",
                "--val",
                "6",
            ],
            "regenerate": [
                "regenerate",
                str(folder / "whole" / "build"),
                "{root}",
                "--set",
                "camera.iso=12800",
            ],
        }
        self.workers = workers
        self.expected: dict[str, dict[str, bytes]] = {}
        self.lasts: dict[str, float] = {}
        for name in self.commands:
            start = time.perf_counter()
            root = folder / "whole" / name
            done = self.start(name, root).wait()
            assert done == 0, done
            self.lasts[name] = time.perf_counter() - start
            self.expected[name] = bytes_of(root)

    def start(
        self, name: str, root: Path, *more: str, jumping: bool = False
    ) -> subprocess.Popen[bytes]:
        words = [word.format(root=root) for word in self.commands[name]]
        code = JUMPING + GLOAM if jumping else GLOAM
        command = [sys.executable, "-c", code, *words, "--workers", str(self.workers), *more]
        return subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def same(self, name: str, root: Path) -> bool:
        return bytes_of(root) == self.expected[name]


def disturb(process: subprocess.Popen[bytes], how: str, draws: random.Random) -> bool:
    """Whether there was something to disturb."""
    if how == "worker":
        own = workers_of(process.pid)
        if not own:
            return False
        os.kill(draws.choice(own), signal.SIGKILL)
    elif how == "term":
        process.send_signal(signal.SIGTERM)
    else:
        os.killpg(process.pid, signal.SIGKILL)
    return True


def scatter_times(root: Path, draws: random.Random) -> None:
    """Give every file a time between 1970 and 2070, as if the clock had jumped while it was
    written."""
    for path in root.rglob("*"):
        os.utime(path, (draws.uniform(0, CENTURY),) * 2)


def kills(ground: Ground, count: int, ways: tuple[str, ...], draws: random.Random) -> str:
    """Disturb `count` runs at random moments; every set is brought to its end and compared."""
    done = sets = different = 0
    codes: dict[int, int] = {}
    while done < count:
        name = draws.choice(list(ground.commands))
        root = ground.folder / "disturbed"
        shutil.rmtree(root, ignore_errors=True)
        while True:
            jumping = draws.random() < 0.5
            if jumping:
                scatter_times(root, draws)
            process = ground.start(name, root, jumping=jumping)
            how = draws.choice(ways)
            try:
                process.wait(draws.uniform(0.3, 1.1) * ground.lasts[name])
            except subprocess.TimeoutExpired:
                if done < count:
                    done += disturb(process, how, draws)
            code = process.wait(120)
            codes[code] = codes.get(code, 0) + 1
            if code == 0:
                break
        sets += 1
        different += not ground.same(name, root)
    return (
        f"{done} disturbed runs, {sets} sets finished after them, {different} differ from the"
        f" undisturbed one; exit codes {codes}"
    )


def arrays(ground: Ground, rounds: int, draws: random.Random) -> str:
    """Three tasks at once, of which one is killed and comes again; then the same command without a
    task closes the set."""
    different = killed = 0
    for _ in range(rounds):
        root = ground.folder / "array"
        shutil.rmtree(root, ignore_errors=True)
        tasks = [
            ground.start("build", root, "--task-index", str(i), "--task-count", "3")
            for i in range(3)
        ]
        victim = draws.randrange(3)
        time.sleep(draws.uniform(0.2, 1.5) * ground.lasts["build"])
        if tasks[victim].poll() is None:
            os.killpg(tasks[victim].pid, signal.SIGKILL)
            killed += 1
        codes = [task.wait(120) for task in tasks]
        if codes[victim]:
            codes[victim] = ground.start(
                "build", root, "--task-index", str(victim), "--task-count", "3"
            ).wait(120)
        different += (
            any(codes)
            or ground.start("build", root).wait(120) != 0
            or not ground.same("build", root)
        )
    return (
        f"{rounds} builds by three tasks, in {killed} one was killed in its work; {different}"
        " differ"
    )


def full_disk(ground: Ground, rounds: int, draws: random.Random) -> str:
    mount = ground.folder / "small"
    mount.mkdir()
    whole = sum(map(len, ground.expected["build"].values()))
    full = different = 0
    for _ in range(rounds):
        size = int(whole * draws.uniform(0.05, 0.95))
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(mount)],
            check=False,
            capture_output=True,
        ).returncode:
            return "not tried: mounting a tmpfs is not allowed here"
        try:
            full += ground.start("build", mount / "set").wait(120) == 1
            subprocess.run(["mount", "-o", f"remount,size={3 * whole}", str(mount)], check=True)
            code = ground.start("build", mount / "set").wait(120)
            different += code != 0 or not ground.same("build", mount / "set")
        finally:
            subprocess.run(["umount", str(mount)], check=True)
    return (
        f"{rounds} sizes, {full} ended with exit code 1, {different} differ after the same command"
        " was run with room"
    )


def flips(ground: Ground, count: int, repairs: int, draws: random.Random) -> str:
    root = ground.folder / "flipped"
    shutil.copytree(ground.folder / "whole" / "build", root)
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    sizes = [path.stat().st_size for path in files]
    missed, unnamed, unrepaired = [], [], []
    for i in range(count):
        # Half of the flips over all bytes, half over all files: most bytes are images.
        path = draws.choices(files, sizes)[0] if i % 2 else draws.choice(files)
        data = path.read_bytes()
        place, bit = draws.randrange(len(data)), draws.randrange(8)
        path.write_bytes(data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :])
        name = path.relative_to(root).as_posix()
        try:
            found = [str(problem) for problem in verify_set(root)]
        except GloamError as error:
            found = [str(error)]
        if not found:
            missed.append(f"{name} byte {place} bit {bit}")
        elif not any(path.name in line for line in found):
            unnamed.append(f"{name}: {found[0]}")
        if i % max(1, count // max(1, repairs)) == 0:
            code = ground.start("build", root).wait(120)
            if code or not ground.same("build", root):
                unrepaired.append(f"{name} byte {place} bit {bit} (exit {code})")
        path.write_bytes(data)
    assert read_set(root)
    seen = (
        f"{count} flips: {len(missed)} missed {missed[:3]}, {len(unnamed)} not named {unnamed[:3]}"
    )
    return (
        f"{seen}; {repairs} mended by building again, {len(unrepaired)} not to the same bytes"
        f" {unrepaired[:5]}"
    )


def main() -> None:
    parser = options_of(__doc__, record=False)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--terms", type=int, default=20)
    parser.add_argument(
        "--arrays", type=int, default=20, help="builds by three tasks of which one is killed"
    )
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument(
        "--repairs",
        type=int,
        default=100,
        help="of the flips, how many are also mended by building again",
    )
    parser.add_argument("--full", type=int, default=5, help="rounds on a file system that fills up")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draws = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder), args.workers)
        print(
            "undisturbed:",
            {name: f"{seconds:.1f} s" for name, seconds in ground.lasts.items()},
            flush=True,
        )
        print(
            "SIGKILL of the group or of a worker:",
            kills(ground, args.kills, ("group", "worker"), draws),
            flush=True,
        )
        print("SIGTERM:", kills(ground, args.terms, ("term",), draws), flush=True)
        print("three tasks:", arrays(ground, args.arrays, draws), flush=True)
        print("full disk:", full_disk(ground, args.full, draws), flush=True)
        print("bits:", flips(ground, args.flips, args.repairs, draws), flush=True)


if __name__ == "__main__":
    main()
