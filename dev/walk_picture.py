"""Film a walk on the page of `graphwalker serve`, as an animated picture for the README.

After `make demo QUICK=1`:
python dev/walk_picture.py --graph runs/demo/world/graph --model runs/demo/sft1/final \
    --out docs/pictures/walk "Who is the spouse of the lyricist of Distant Engine?"

Writes OUT-light.webp and OUT-dark.webp. Needs Chromium.
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
from playwright.sync_api import Page, ViewportSize, sync_playwright

SIZE: ViewportSize = {"width": 920, "height": 720}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
COLOURS = 64
"""Of a frame: flat drawings and text need few."""
TYPING_MS, TURN_MS, ANSWER_MS = 90, 1500, 4000
CLEAN = """
header.top, #examples, .row, #state, #history, main > p.note, #asked { display: none !important; }
form label { display: none; } textarea { font-size: 1.05rem; resize: none; }
#shown { border: 0; margin: 0; } #view { height: 580px; }
li.later, body:has(li.later) :is(.end, .facts) { visibility: hidden; }
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


def film(page: Page, question: str) -> Iterator[Frame]:
    """Yield the question as it is typed, then the walk turn by turn."""
    for end in range(0, len(question), 4):
        page.fill("#question", question[:end])
        yield shot(page), TYPING_MS
    page.fill("#question", question)
    yield shot(page), TURN_MS // 2
    page.keyboard.press("Enter")
    page.wait_for_selector("#view .end:not(:empty)", timeout=120_000)
    turns = page.locator(".turns > li").count()
    page.locator("#question").blur()
    page.keyboard.press("Home")
    for turn in range(turns + 1):  # Home is before the first
        page.wait_for_timeout(800)
        yield shot(page), ANSWER_MS if turn == turns else TURN_MS
        page.keyboard.press("ArrowRight")


def shot(page: Page) -> Image.Image:
    """Return what the page shows."""
    page.evaluate("scrollTo(0, 0)")
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def write(frames: list[Frame], path: Path) -> None:
    """Write the frames as an animated WebP."""
    pictures = [picture.quantize(COLOURS).convert("RGB") for picture, _ in frames]
    times = [ms for _, ms in frames]
    options: dict[str, Any] = {"lossless": True, "quality": 100, "method": 4, "loop": 0}
    pictures[0].save(
        path,
        save_all=True,
        append_images=pictures[1:],
        duration=times,
        **options,
    )
    print(f"{path}: {len(frames)} frames, {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Film the walk in both colour schemes."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("question")
    for name in ("--graph", "--model", "--out"):
        arguments.add_argument(name, required=True)
    given = arguments.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with served(given.graph, given.model) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for scheme in SCHEMES:
            page = browser.new_page(viewport=SIZE, color_scheme=scheme, bypass_csp=True)
            page.goto(address)
            page.add_style_tag(content=CLEAN)
            write(list(film(page, given.question)), Path(f"{given.out}-{scheme}.webp"))
        browser.close()


if __name__ == "__main__":
    main()
