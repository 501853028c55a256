"""The rule for names in files: every setting is marked, every place is guarded."""

import ast
from typing import Annotated

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.agents.presets import presets
from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.tokens.formats import FormatConfig
from graphwalker.trust import PLAIN, ByHand, check_trust, section_of
from support.code import label, nodes_of, sources
from support.poison import marked

FROM_FILES = (EnvironmentConfig, SynthConfig, ExpertConfig, FormatConfig)
"""Models whose settings are read from a model folder, a run folder or a record."""

IMPORTS = {
    "graphwalker/settings/named.py": "typed by hand: `trust.check_trust` refuses those of files",
    "graphwalker/workers/ray.py": "a constant",
    "graphwalker/pretrained/load.py": "a constant",
    "graphwalker/graphs/sparql/request.py": "a constant",
    "graphwalker/policies/vllm/engine.py": "a constant",
    "training/runs/distributed.py": "a constant",
}
OWN_NAMES = {
    "eval/score/metrics.py": "`--metrics` of `score` and `eval`; no file is asked for them",
    "graphwalker/agents/presets.py": "`environment.preset`, marked",
    "graphwalker/datasets/registry.py": "`questions_format`, marked",
    "graphwalker/graphs/open.py": "`--graph`; no file is asked for a graph",
    "graphwalker/ranking/load.py": "`environment.ranker`, marked",
    "graphwalker/tools/own.py": "`environment.tools`, marked",
    "training/rewards/mix.py": "`rewards` of GRPO; no file is asked for them",
}
VARIABLES = {
    "graphwalker/policies/chat/config.py": "`api_key_env`, marked; sent to `base_url`, marked",
    "graphwalker/doctor/places.py": "`api_key_env` of a config that was typed; never sent",
}


def all_nodes(*kinds):
    return ((path, n) for path in sources() for n in nodes_of(path) if isinstance(n, kinds))


def calls(*names):
    """Files that call one of these functions."""
    return {label(path) for path, node in all_nodes(ast.Call)
            if getattr(node.func, "attr", getattr(node.func, "id", "")) in names}  # fmt: skip


def test_every_import_of_a_string_has_its_guard():
    loaders = ("import_module", "__import__", "spec_from_file_location", "run_module", "run_path")
    assert calls(*loaders) == set(IMPORTS)
    called = {getattr(node.func, "id", "") for _, node in all_nodes(ast.Call)}
    assert not called & {"exec", "eval", "compile"}


def test_every_module_of_ones_own_has_its_guard():
    users = {label(path) for path, node in all_nodes(ast.ImportFrom)
             if node.module == "graphwalker.settings.named"
             and {a.name for a in node.names} & {"own", "find"}}  # fmt: skip
    assert users == set(OWN_NAMES)


def test_every_variable_that_a_setting_names_has_its_guard():
    found = set()
    for path, node in all_nodes(ast.Call, ast.Subscript):
        is_call = isinstance(node, ast.Call)
        source = node.func if is_call else node.value
        if isinstance(source, ast.Attribute) and ast.unparse(source) in (
            "os.environ",
            "os.environ.get",
            "os.getenv",
        ):
            key = node.args[0] if is_call else node.slice
            if not isinstance(key, ast.Constant) and not ast.unparse(key).isupper():
                found.add(label(path))
    assert found - {"training/runs/distributed.py"} == set(VARIABLES)  # its own flags


def texts(model):
    """The fields of a model and its sections that may hold a text."""
    for name, field in model.model_fields.items():
        if section := section_of(model, name, {}):
            yield from texts(section)
        elif any(word in str(field.annotation).replace("typing.Literal", "") for word in
                 ("str", "Any", "Path")):  # fmt: skip
            yield f"{model.__name__}.{name}", field


def test_every_text_of_a_model_that_files_fill_in_is_marked():
    options = {preset.options for preset in presets().values()}
    for model in (*FROM_FILES, *options):
        for name, field in texts(model):
            marks = field.metadata
            is_marked = PLAIN in marks or any(isinstance(mark, ByHand) for mark in marks)
            assert is_marked or "Literal" in str(field.annotation), name


def test_the_models_that_files_fill_in_are_these():
    assert calls("check_trust") == {
        "data_pipeline/merge.py",
        "data_pipeline/verification/replay.py",
        "graphwalker/agents/model_environment.py",
        "graphwalker/jobs/sections.py",
        "training/runs/environment.py",
    }


def test_paths_addresses_and_variables_are_no_plain_text():
    for model in (*FROM_FILES, *(preset.options for preset in presets().values())):
        by_hand = {path[-1] for path, _ in marked(model)}
        for name in model.model_fields:
            if name.endswith(("_file", "_dir", "_env", "_url", "_address", "folder", "path")):
                assert name in by_hand, f"{model.__name__}.{name}"


def test_a_text_without_a_mark_is_refused_and_a_mark_holds_for_numbers_too():
    class Later(Config):
        script: str = ""
        count: int = 0
        port: Annotated[int, ByHand("receive data")] = 0

    with pytest.raises(UserError, match=r"f\.json: script=x\.sh would be taken unchecked.*--trust"):
        check_trust(Later, {"script": "x.sh", "count": 3}, "f.json")
    with pytest.raises(UserError, match="port=80 would receive data"):
        check_trust(Later, {"port": 80}, "f.json")
    assert check_trust(Later, {"script": "", "count": 3}, "f.json") == {"script": "", "count": 3}


def test_a_link_out_of_a_trusted_folder_is_not_trusted(tmp_path):
    (tmp_path / "trusted").mkdir()
    (tmp_path / "theirs.json").write_text("{}")
    (tmp_path / "trusted/link.json").symlink_to(tmp_path / "theirs.json")
    found, folder = {"preset": "evil:x"}, str(tmp_path / "trusted")
    with pytest.raises(UserError, match=r"environment\.preset=evil:x would run code"):
        check_trust(EnvironmentConfig, found, tmp_path / "trusted/link.json", trust=[folder],
                 prefix="environment.")  # fmt: skip
    assert check_trust(EnvironmentConfig, found, tmp_path / "trusted/own.json", trust=[folder])
