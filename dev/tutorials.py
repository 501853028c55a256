"""The notebooks of `examples/` as pages of the site, and the site's link to the repository.

`mkdocs.yml` names this file as a hook. A page links to `../examples/NAME.ipynb`, which works where
the files are read; on the site the link leads to `tutorials/NAME.md`. `python dev/tutorials.py`
runs the notebooks and stores their outputs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples"
COLOURS = re.compile(r"\x1b\[[\d;]*m")
LINK = re.compile(r"\]\(\.\./examples/([\w-]+)\.ipynb\)")


def on_config(config: Any) -> Any:
    """Link the site to the repository that it is built from (a hook of mkdocs)."""
    found = subprocess.run(
        ["git", "remote", "get-url", "origin"], capture_output=True, text=True, check=False
    )
    address = re.sub(r"^git@([^:]+):", r"https://\1/", found.stdout.strip()).removesuffix(".git")
    if address.startswith("https://"):
        config.repo_url, config.repo_name = address, "Source"
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        text = "\n\n".join(blocks(notebook)) + "\n"
        files.append(File.generated(config, f"tutorials/{path.stem}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to notebooks to their pages (a hook of mkdocs)."""
    up = "../" * page.file.src_uri.count("/")
    return LINK.sub(rf"]({up}tutorials/\1.md)", markdown)


def blocks(notebook: dict[str, Any]) -> Iterator[str]:
    """Yield the cells of a notebook as Markdown, each cell of code with what it gave."""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            yield source
            continue
        language = "bash" if source.startswith("%%bash") else "python"
        yield f"```{language}\n{source.removeprefix('%%bash').strip()}\n```"
        yield from (shown for output in cell["outputs"] if (shown := output_block(output)))


def output_block(output: dict[str, Any]) -> str:
    """Return what a cell gave, as HTML where it has such; empty for its warnings."""
    if output.get("name") == "stderr":
        return ""
    data = output.get("data", {})
    if "text/html" in data:
        page = re.sub(r"\n\s*\n", "\n", "".join(data["text/html"]))
        return f'<div class="output">\n{page}\n</div>'
    text = "".join(data.get("text/plain", output.get("text", "")))
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""


def run(path: Path) -> Any:
    """Run a notebook in an empty folder and return it with its outputs."""
    import nbclient
    import nbformat

    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["COLUMNS"] = "100"
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("configs", "slurm", "training"):
            (Path(folder) / name).symlink_to(FOLDER.parent / name)
        client = nbclient.NotebookClient(
            notebook, timeout=1800, kernel_name="python3", coalesce_streams=True
        )
        client.execute(cwd=folder)
        places = re.compile(rf"(?:{re.escape(os.path.realpath(folder))}|{re.escape(folder)})/")
    for output in (one for cell in notebook.cells for one in cell.get("outputs", ())):
        if "text" in output:
            output["text"] = COLOURS.sub("", places.sub("", output["text"]))
    return notebook


def store(path: Path) -> None:
    """Run a notebook and write it with its outputs, without times and warnings."""
    import nbformat

    notebook = run(path)
    for number, cell in enumerate(notebook.cells):
        tags = cell.metadata.get("tags")
        cell.id, cell.metadata = f"cell-{number}", {"tags": tags} if tags else {}
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for given in sys.argv[1:] or sorted(FOLDER.glob("*.ipynb")):
        store(Path(given))
        print(given)
