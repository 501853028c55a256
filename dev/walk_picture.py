"""Film a walk on the page of `graphwalker serve`, as animated pictures for the README and the docs.

python dev/walk_picture.py --graph GRAPH --model MODEL --out docs/pictures/walk "QUESTION"

Writes OUT-light.webp and OUT-dark.webp, and OUT-phone-light.webp and OUT-phone-dark.webp for narrow
screens. Needs Chromium.
"""

import argparse
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

SIZES: dict[str, ViewportSize] = {
    "": {"width": 920, "height": 720},
    "-phone": {"width": 400, "height": 680},
}
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
COLOURS = 64
"""Of a frame: flat drawings and text need few."""
TURN_MS, ANSWER_MS, STILL_MS = 2000, 3000, 1500
CLEAN = """
header.top, #examples, .row, #state, #history, main > p.note, #asked { display: none !important; }
form label { display: none; } textarea { font-size: 1.05rem; resize: none; }
#shown { border: 0; margin: 0; } #view { height: 580px; }
li.later, body:has(li.later) :is(.end, .facts) { visibility: hidden; }
@media (max-width: 600px) {
  .bar, .facts, .drawing .note, .seen, .messages { display: none !important; }
  li[data-turn]:not([aria-current]) { display: none; }
  .graph { max-height: 300px; } .relations ul { max-height: 9rem; }
}
"""
"""The page without what a picture does not need, and without what a turn does not know yet."""

Frame = tuple[Image.Image, int]
"""A picture and how many milliseconds it stays."""


@contextmanager
def served(graph: str, model: str) -> Iterator[str]:
    """Serve the model over the graph and yield the address of its page."""
    command = [sys.executable, "-m", "graphwalker", "serve", "--graph", graph, "--model", model]
    server = subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr
        for line in server.stderr:
            if found := re.search(r"http://[\d.:]+/", line):
                yield found[0]
                return
        raise SystemExit(f"no server: {' '.join(command)}")
    finally:
        server.terminate()
        server.wait()


def ask(page: Page, question: str) -> str:
    """Ask the question, and return the address of its walk."""
    page.fill("#question", question)
    page.keyboard.press("Enter")
    page.wait_for_url("**#walk=*", timeout=900_000)
    return page.url


def film(page: Page, walk: str) -> Iterator[Frame]:
    """Yield the finished walk, which a still picture shows, then its turns and its answer."""
    page.goto(walk)
    page.add_style_tag(content=CLEAN)
    page.wait_for_selector("#view .end:not(:empty)")
    page.locator("#question").blur()
    turns = page.locator(".turns > li").count()
    page.wait_for_timeout(STILL_MS)
    whole = shot(page)
    yield whole, ANSWER_MS
    page.keyboard.press("Home")
    for _ in range(turns - 1):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(STILL_MS)
        yield shot(page), TURN_MS
    yield whole, ANSWER_MS


def shot(page: Page) -> Image.Image:
    """Return what the page shows."""
    page.evaluate("scrollTo(0, 0)")
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def write(frames: list[Frame], path: Path) -> None:
    """Write the frames as an animated WebP."""
    pictures = [picture.quantize(COLOURS).convert("RGB") for picture, _ in frames]
    times = [ms for _, ms in frames]
    options: dict[str, Any] = {"lossless": True, "quality": 100, "method": 4, "loop": 0}
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=times, **options)
    print(f"{path}: {len(frames)} frames, {path.stat().st_size / 1000:.0f} kB")


def opened(browser: Browser, size: ViewportSize, scheme: Scheme, address: str) -> Page:
    """Open the page in a window of its own."""
    page = browser.new_page(viewport=size, color_scheme=scheme, bypass_csp=True)
    page.goto(address)
    return page


def main() -> None:
    """Film the walk for both widths in both colour schemes."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("question")
    for name in ("--graph", "--model", "--out"):
        arguments.add_argument(name, required=True)
    given = arguments.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with served(given.graph, given.model) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        walk = ask(opened(browser, SIZES[""], "light", address), given.question)
        for name, size in SIZES.items():
            for scheme in SCHEMES:
                page = opened(browser, size, scheme, address)
                write(list(film(page, walk)), Path(f"{given.out}{name}-{scheme}.webp"))
        browser.close()


if __name__ == "__main__":
    main()
