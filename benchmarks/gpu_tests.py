"""All tests that need a GPU: exactness, live, resident, ranks, clips. `make test-gpu` runs it.

    python benchmarks/gpu_tests.py

Each test's outcome is recorded in results/gpu-tests-CARD.txt. Without a GPU the tests are skipped,
and nothing is recorded. It exits as pytest does.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from recording import recorded

ROOT = Path(__file__).parent.parent
TESTS = ["-m", "pytest", "-m", "gpu", "-n", "0", "-v", "--no-header", "--color=no"]


def files() -> list[str]:
    """The files that have such tests; others need what a machine with a GPU may lack."""
    all_of = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path) for path in all_of if "mark.gpu" in path.read_text()]


def card() -> str | None:
    """The first GPU's name, as a file may be called; None where there is none."""
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        names = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = names.splitlines()
    return re.sub(r"[^a-z0-9]+", "-", found[0].lower()).strip("-") if found else None


def main() -> int:
    name = card()
    with recorded(name and f"gpu-tests-{name}"):
        done = subprocess.run(
            [sys.executable, *TESTS, *files()],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        print(done.stdout.replace(str(ROOT), "."))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
