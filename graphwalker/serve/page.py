"""The served page: one document with the viewer in it, and the policy that holds it to itself."""

import re
from pathlib import Path

from graphwalker.viewer.assets import digest, page_script, viewer_style

FOLDER = Path(__file__).parent


def make_page() -> str:
    """The document, its style and script in place."""
    html, style, script = (
        (FOLDER / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js")
    )
    html = html.replace("<style></style>", f"<style>{viewer_style()}{style}</style>")
    return html.replace("<script></script>", f"<script>{page_script(script)}</script>")


def security_headers(html: str) -> tuple[tuple[str, str], ...]:
    """Headers of every answer: the page may run its own script and style and talk to us alone."""
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hashes(html, 'script')}",
            f"style-src {_hashes(html, 'style')}",
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
    return (
        ("Content-Security-Policy", policy),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cache-Control", "no-store"),
    )


def _hashes(html: str, tag: str) -> str:
    return " ".join(map(digest, re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)))
