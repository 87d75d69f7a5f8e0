"""The studio while a slider is dragged: pictures a second, and how long each takes to be seen.

    python benchmarks/studio.py [--seconds 4] [--record studio]

A photograph of 500 x 375 and the recipes `even` and `uneven`, in Debian's chromium by Playwright
(`pip install playwright`, `apt-get install chromium`), on whatever cores this machine has. A delay
is the time from the slider's event to the frame that shows the picture of that event, or of a
later one. Beside it stands what the same requests take without a browser: drawing, lows, PNG.
"""

from __future__ import annotations

import io
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import skimage.data
from PIL import Image
from playwright.sync_api import sync_playwright
from recording import options_of, recorded

from gloam.engines.process import available_cores
from gloam.synth.recipes.load import load_recipe
from gloam.synth.studio.server import StudioServer
from gloam.synth.studio.workbench import Photographs, Workbench

_WATCH = """() => {
  window.seen = []; window.asked = {};
  new MutationObserver((changes) => {
    for (const { attributeName } of changes) {
      const { revision, shown } = document.body.dataset, now = performance.now();
      if (attributeName === "data-revision") window.asked[revision] = now;
      else requestAnimationFrame((at) => window.seen.push(at - window.asked[shown]));
    }
  }).observe(document.body, { attributeFilter: ["data-revision", "data-shown"] });
}"""


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    args = parser.parse_args()
    data = io.BytesIO()
    Image.fromarray(skimage.data.coffee()).resize((500, 375)).save(data, "jpeg", quality=92)
    with recorded(args.record), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        print(f"{available_cores()} cores, chromium {browser.version}")
        for name in ("even", "uneven"):
            photographs = Photographs([("coffee.jpg", data.getvalue())])
            bench = Workbench(photographs, load_recipe(name), name, Path())
            values = bench.described(load_recipe(name))["values"]
            bench.low(0, values, 0)
            start = time.perf_counter()
            for seed in range(50):
                bench.low(0, values, seed)
            alone = (time.perf_counter() - start) / 50
            with StudioServer(bench) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                rate, delays = dragged(browser, server.address, args.seconds)
                server.shutdown()
            print(
                f"{name}: {rate:.0f} pictures a second, delay {np.median(delays):.0f} ms, 95th"
                f" percentile {np.percentile(delays, 95):.0f} ms; {1000 * alone:.0f} ms without a"
                " browser"
            )
        browser.close()


def dragged(browser, address: str, seconds: float) -> tuple[float, list[float]]:
    """Drag the slider of the exposure to and fro; returns pictures a second, and delays in ms."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    slider = page.get_by_label("exposure.ev: mean", exact=True)
    slider.wait_for()
    page.wait_for_timeout(1500)
    page.evaluate(_WATCH)
    box = slider.bounding_box()
    y, left, right = box["y"] + box["height"] / 2, box["x"] + 20, box["x"] + box["width"] - 20
    page.mouse.move(left, y)
    page.mouse.down()
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        share = abs((passed / 2) % 2 - 1)
        page.mouse.move(right + (left - right) * share, y)
        page.wait_for_timeout(8)
    page.mouse.up()
    seen = page.evaluate("window.seen")
    page.close()
    return len(seen) / seconds, seen


if __name__ == "__main__":
    main()
