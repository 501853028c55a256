"""What a folder of ours is on the Hub: its kind, its files, its card; and sending it there."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graphwalker.errors import GraphWalkerError, UserError, lacks_extra
from graphwalker.files import read_json
from graphwalker.hub.cards import (
    CARD,
    data_facts,
    front_matter,
    graph_card,
    model_card,
    with_front_matter,
)
from graphwalker.hub.secrets import SECRET_FILES, find_secret, values_of_variables
from graphwalker.settings.named import DEMONSTRATION_FILES, QUESTION_FILES

RepoType = Literal["model", "dataset"]

RAW_STATES = ("optimizer*", "scheduler.pt", "rng_state*", "*.bin", "*.pt", "*.pth", "*.pkl",
              "*.pickle", "global_step*")  # fmt: skip
"""What a checkpoint has for its trainer, much of it pickled: it is refused."""
LEFT_OUT = ("*.log", "*.partial", "*.lock", "*.sqlite*", "run.json", "__pycache__")
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True)
class Publication:
    """A folder as it will stand on the Hub."""

    folder: Path
    name: str
    """`owner/name`."""
    repo_type: RepoType
    kind: str
    """`model`, `data` or `graph`."""
    files: tuple[tuple[str, int], ...]
    """Paths inside the folder with their bytes, without the card."""
    card: str
    unread: Mapping[str, str]
    """Files that were not searched for secrets, with what they are."""

    @property
    def size(self) -> int:
        return sum(size for _, size in self.files) + len(self.card.encode())


def plan_publication(folder: Path, name: str) -> Publication:
    """Say what would be sent. Nothing is written, and no network is needed.

    Raises `UserError` for a folder that holds no model, data or graph, for raw optimizer states
    and for what looks like a secret.
    """
    if not _REPO.fullmatch(name):
        raise UserError(f"{name}: a name on the Hub reads owner/name")
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    if (folder / "final" / "graphwalker.json").is_file():
        folder = folder / "final"  # the folder of a training run
    if (folder / "graph" / "graph.gwk").is_file():
        folder = folder / "graph"  # the folder of `graph make`
    paths = list(_files(folder))
    _refuse_states(folder, paths)
    unread = _refuse_secrets(paths)
    kind, make = _kind(folder, name, paths)
    card = folder / CARD
    text = card.read_text(encoding="utf-8") if card.is_file() else make()
    check_card(text, card, kind)
    files = tuple((str(p.relative_to(folder)), p.stat().st_size) for p in paths if p != card)
    repo_type = "model" if kind == "model" else "dataset"
    lacking = {str(path.relative_to(folder)): why for path, why in unread.items()}
    return Publication(folder, name, repo_type, kind, files, text, lacking)


def check_card(text: str, where: Path, kind: str) -> None:
    """Raise `UserError` for a card that the Hub would not read, by its own library where it is
    installed."""
    if not front_matter(text, where):
        raise UserError(f"{where}: has no front matter (--- lines of YAML); remove the file, and "
                        "publish writes a card")  # fmt: skip
    try:
        from huggingface_hub import DatasetCard, ModelCard
    except ImportError:
        return
    try:
        (ModelCard if kind == "model" else DatasetCard)(text)
    except (ValueError, TypeError, AssertionError) as error:
        raise UserError(f"{where}: the Hub does not take this card: {error}") from None


def push(publication: Publication, public: bool = False) -> str:
    """Send it, in one commit, to the Hub of `HF_ENDPOINT` with the token of `HF_TOKEN`; returns
    the address. A new repository is private unless `public` is set.

    Raises `UserError` without the library or a token, and for a repository that is public already
    where `public` is not set; `GraphWalkerError` where the Hub does not take it.
    """
    try:
        import httpx
        from huggingface_hub import CommitOperationAdd, HfApi, get_token
        from huggingface_hub.errors import OfflineModeIsEnabled
    except ImportError:
        raise lacks_extra("--push needs", "hub") from None
    if not get_token():
        raise UserError("--push needs a token: set HF_TOKEN, or `hf auth login`")
    api: Any = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    kind = publication.repo_type
    try:
        address = api.create_repo(
            publication.name, repo_type=kind, private=not public, exist_ok=True
        )
        about = api.repo_info(publication.name, repo_type=kind)
        if not about.private and not public:
            raise UserError(f"{publication.name}: is public already; --public allows it")
        operations = [
            CommitOperationAdd(path, str(publication.folder / path))
            for path, _ in publication.files
        ]
        operations.append(CommitOperationAdd(CARD, publication.card.encode()))
        api.create_commit(
            publication.name, operations, repo_type=kind, commit_message="GraphWalker: publish"
        )
    except (httpx.HTTPError, OfflineModeIsEnabled, OSError) as error:
        line = " ".join(str(error).split())[:300]
        raise GraphWalkerError(f"{publication.name}: not sent to {api.endpoint}: {line}") from None
    return str(address)


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files but hidden ones and what only this machine needs. A link that leads out of
    the folder is not followed."""
    from graphwalker.graphs.format.layout import FILE_NAME, STORE_FOLDER

    stores = {path.with_name(STORE_FOLDER) for path in folder.rglob(FILE_NAME)}
    for path in sorted(folder.rglob("*")):
        if not stores.isdisjoint(path.parents):
            continue
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") and not _any(part, SECRET_FILES) for part in parts)
        if path.is_file() and not hidden and not any(_any(part, LEFT_OUT) for part in parts):
            if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
                raise UserError(f"{path}: is a link that leads out of the folder; copy the file")
            yield path


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(Path(name).match(pattern) for pattern in patterns)


def _refuse_states(folder: Path, paths: list[Path]) -> None:
    for path in paths:
        if any(_any(part, RAW_STATES) for part in path.relative_to(folder).parts):
            raise UserError(
                f"{path}: is a trainer's state or a pickle, which is not published; give the "
                "folder of the model (of a run: its final/), or remove the file"
            )


def _refuse_secrets(paths: list[Path]) -> dict[Path, str]:
    """Return the files that could not be searched, and why. Raises `UserError` for a secret."""
    known, unread = values_of_variables(), dict[Path, str]()
    for path in paths:
        if _any(path.name, SECRET_FILES):
            raise UserError(f"{path}: looks like a file of secrets; remove it from the folder")
        found, why = find_secret(path, known)
        if found:
            raise UserError(f"{path}: holds what looks like a secret ({found}); remove it")
        unread |= {path: why} if why else {}
    return unread


def _kind(folder: Path, name: str, paths: list[Path]) -> tuple[str, Callable[[], str]]:
    """Return what the folder is, and how its card is made where it has none."""
    names = {path.name for path in paths if path.parent == folder}
    if names & {"config.json", "adapter_config.json"}:
        _refuse_local_base(folder / "adapter_config.json")
        return "model", lambda: model_card(folder, folder.parent)
    if "graph.gwk" in names:
        from graphwalker.graphs.open import open_graph

        return "graph", lambda: graph_card(open_graph(folder), name)
    data = [one for one in (*DEMONSTRATION_FILES, *QUESTION_FILES) if one in names]
    data = data or sorted(one for one in names if one.endswith((".jsonl", ".jsonl.gz")))
    if not data:
        raise UserError(
            f"{folder}: holds no model (config.json), no compiled graph (graph.gwk) and no data "
            "(*.jsonl); give a folder that does"
        )
    title = f"# {folder.resolve().name}\n"
    return "data", lambda: with_front_matter(data_facts(data), title)


def _refuse_local_base(config: Path) -> None:
    """Refuse an adapter whose base is a path of this machine, of no use to others."""
    base = read_json(config).get("base_model_name_or_path") if config.is_file() else None
    if base and (Path(base).is_absolute() or Path(base).is_dir()):
        raise UserError(
            f"{config}: base_model_name_or_path is a folder of this machine; write the model's "
            "name on the Hub there, or publish the folder that `graphwalker merge` makes"
        )
