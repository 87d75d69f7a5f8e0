"""A real browser for tests of pages: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NEEDED = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")


@contextmanager
def browser() -> Iterator[Any]:
    """A browser that is closed in the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield opened
        finally:
            opened.close()


class Watched:
    """A page whose complaints and requests are kept."""

    def __init__(self, opened: Any, address: str, **options: Any) -> None:
        self.page = opened.new_page(**options)
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def until(self, what: Callable[[], Any]) -> None:
        """Wait for something on the page; a page that forbids eval cannot be told to."""
        for _ in range(1200):
            if what():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never: {self.page.inner_text('body')[:500]}; {self.said}")


def accessible(page: Any) -> None:
    """Let axe-core look at a page for contrast, labels, roles."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
