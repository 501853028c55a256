"""What one stage needs: the extras, graph, files, models and servers that its settings name."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from graphwalker.doctor.diagnosis import Diagnosis
from graphwalker.doctor.places import look_at_files, look_at_graph, look_at_model, look_at_server
from graphwalker.files import is_address_file


def needed_extras(values: Mapping[str, Any], stage: str, layout: str = "") -> set[str]:
    """Return the extras that a stage with these settings needs."""
    policy: Mapping[str, Any] = values.get("policy") or {}
    training = stage in ("sft", "grpo", "model", "demo")
    local = stage in ("eval", "ask", "experts") and bool(policy) and not policy.get("api")
    wanted = {
        "train": training or (local and not _without_model(str(policy.get("model")))),
        "deepspeed": layout in ("zero2", "zero3"),
        "vllm": "vllm" in (values.get("engine"), policy.get("engine")),
        "ray": values.get("engine") == "ray",
        "lora": bool(values.get("lora")),
        "api": any(base_url for _, base_url, _ in servers(values)),
        "sparql": str(values.get("graph", "")).startswith("http"),
    }
    return {extra for extra, needed in wanted.items() if needed}


def look_at_places(
    values: Mapping[str, Any], made: Collection[str] = (), seen: set[str] | None = None
) -> Iterator[Diagnosis]:
    """Yield what is found of the graph, files, model and servers that the settings name.

    What lies in a folder of `made` comes into being before the stage starts, and is left out, as
    is what is in `seen`, to which the rest is added.
    """
    seen = set[str]() if seen is None else seen

    def is_new(name: str) -> bool:
        if not name or name in seen or is_inside(name, made) or is_address_file(name):
            return False
        seen.add(name)
        return True

    if is_new(graph := str(values.get("graph") or "")):
        yield from look_at_graph(graph)
    for setting in ("questions", "data", "against", "seeds"):
        given: Any = values.get(setting) or ()
        files = [name for name in ((given,) if isinstance(given, str) else given) if is_new(name)]
        if files:
            yield from look_at_files(setting, files)
    policy: Mapping[str, Any] = values.get("policy") or {}
    model: Any = values.get("model") or values.get("policy.model") or policy.get("model")
    server: Any = policy.get("api") or values.get("policy.api.base_url")
    if isinstance(model, str) and not server and not _without_model(model) and is_new(model):
        yield from look_at_model(model)
    for what, url, key in servers(values):
        if is_new(url):
            yield from look_at_server(what, url, key)


def is_inside(path: str, folders: Collection[str]) -> bool:
    """Return whether the path is one of the folders or lies in one of them."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def servers(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (setting, address, variable of its key) of every chat server in the settings."""
    for key, value in values.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            section = cast(Mapping[str, Any], value)
            url = section.get("base_url")
            if isinstance(url, str) and url and key != "vllm":
                yield name, url, str(section.get("api_key_env") or "")
            yield from servers(section, name)
        elif name == "policy.api.base_url" and isinstance(value, str):
            yield "policy.api", value, ""


def _without_model(name: str) -> bool:
    from graphwalker.agents.policies import WITHOUT_MODEL

    return name in WITHOUT_MODEL
