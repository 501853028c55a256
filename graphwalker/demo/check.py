"""What a chain lacks before it starts (files, models, keys, GPUs, disk), and what it will cost."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from graphwalker.config import Config, parse_config
from graphwalker.demo.models import config_models
from graphwalker.demo.money import estimate_money
from graphwalker.demo.needs import is_inside, look_at_places, needed_extras
from graphwalker.doctor.diagnosis import Diagnosis, note, ok, wrong
from graphwalker.doctor.places import look_at_disk, look_at_files, look_at_gpus
from graphwalker.doctor.software import look_at_software
from graphwalker.errors import UserError
from graphwalker.jobs.road import JobsConfig
from graphwalker.jobs.sections import (
    OWN,
    ChainSection,
    MakeConfig,
    OwnConfig,
    ReportConfig,
    read_sections,
)

if TYPE_CHECKING:
    from training.config import SftConfig
    from training.grpo_config import GrpoConfig

GIB = 2**30


class Machine(Config):
    """The section `machine` of a chain: the GPUs that it is written for."""

    gpus: int = 0
    """GPUs of the training stages; 0: it trains on CPUs."""
    gpu_gib: float = 80.0
    """Memory of one of them."""
    layout: Literal["ddp", "zero2", "zero3", "fsdp2"] = "ddp"
    """How they share a model."""


def check_chain(settings: Mapping[str, Any], source: str) -> Iterator[Diagnosis]:
    """Yield what every stage needs, each thing once; what earlier stages make is left out."""
    machine = parse_config(Machine, settings.get("machine") or {}, f"{source}#machine")
    sections = read_sections(settings, source)
    extras, models = set[str](), list[tuple[ChainSection, Config]]()
    for section in sections:
        try:
            model = parse_section(section)
        except UserError as error:
            yield wrong(section.name, str(error), "mend the setting; graphwalker config lists all")
            continue
        models.append((section, model))
        extras |= needed_extras(section.settings, section.kind, machine.layout)
    yield from (one for one in look_at_software(extras) if _is_needed(one, extras))
    if machine.gpus:
        yield from _look_for_gpus(machine)
    yield from _inputs(settings, sections)
    yield from estimate_money(sections)
    yield from _costs(machine, models, settings)


def _is_needed(one: Diagnosis, extras: set[str]) -> bool:
    return not one.what.startswith("extra ") or one.what.removeprefix("extra ") in extras


OTHERS: dict[str, type[Config]] = {"make": MakeConfig, "report": ReportConfig, OWN: OwnConfig}


def parse_section(section: ChainSection, source: str = "") -> Config:
    """Return a section as its command reads it. Raises `UserError` for the first mistake."""
    known = {**config_models(), **OTHERS}
    model = known[section.kind]
    places = {"graph", "output_dir", "questions"} - set(model.model_fields)
    own = {key: value for key, value in section.settings.items() if key not in places}
    return parse_config(model, own, source or section.name)


def check_sections(settings: Mapping[str, Any], source: str) -> None:
    """Raise `UserError` for the first setting that a stage's command would refuse, before any of
    them has worked for hours."""
    for section in read_sections(settings, source):
        parse_section(section)


def _look_for_gpus(machine: Machine) -> Iterator[Diagnosis]:
    """Return the GPUs that training needs: here, or on the nodes of Slurm."""
    found = [one for one in look_at_gpus(allow_cpu=True) if one.what == "GPUs"]
    if any(one.verdict == "ok" for one in found):
        yield from found
    elif shutil.which("sbatch"):
        yield note("GPUs", f"none here; {machine.gpus} are needed on a node", "add --slurm")
    else:
        here = found[0].found if found else "none"
        advice = "run on a machine with GPUs, or with --slurm on a login node; --toy needs none"
        yield wrong("GPUs", f"{machine.gpus} of {machine.gpu_gib:g} GiB are needed; {here}", advice)


def _inputs(settings: Mapping[str, Any], sections: list[ChainSection]) -> Iterator[Diagnosis]:
    made, seen = list[str](), set[str]()
    jobs = parse_config(JobsConfig, settings.get("jobs") or {}, "jobs")
    yield from look_at_places({"seeds": jobs.seeds}, made, seen)
    for section in sections:
        if section.kind == "make":
            words = cast(list[str], section.settings.get("command") or [])
            files = [word for word in words[2:3] if "/" in word and word not in seen]
            seen.update(files)
            yield from look_at_files(section.name, files) if files else ()
        elif section.kind == OWN:
            inputs = cast(list[str], section.settings.get("inputs") or [])
            files = [one for one in inputs if one not in seen and not is_inside(one, made)]
            seen.update(files)
            yield from look_at_files(section.name, files) if files else ()
        elif section.kind != "report":
            yield from look_at_places(section.settings, made, seen)
        made.append(section.out)


def _costs(
    machine: Machine, models: list[tuple[ChainSection, Config]], settings: Mapping[str, Any]
) -> Iterator[Diagnosis]:
    from training.config import SftConfig
    from training.grpo_config import GrpoConfig
    from training.models.shapes import model_shape

    disk, hours = 0.0, 0.0
    run, base = Path(str(settings.get("run") or ".")), settings.get("base")
    first = {str(base): str(settings["model"])} if base and settings.get("model") else {}
    for section, model in models:
        if isinstance(model, SftConfig | GrpoConfig):
            start = _first_model(first, model.model)
            first[section.out] = start
            sized = model.model_copy(update={"model": start})
            try:
                model_shape(start)
            except UserError as error:
                yield note(section.name, str(error))
                continue
            yield from _memory(section.name, sized, machine)
            disk += _checkpoints(sized, machine)
            hours += _hours(sized, machine)
    if disk:
        yield from look_at_disk(run, disk)
    if hours:
        yield note("hours", f"at most {hours:.0f} on these GPUs for training, at full length")


def _first_model(made: Mapping[str, str], model: str) -> str:
    """Return the model that a chain began with: a stage's own has the same dimensions."""
    for out, start in made.items():
        if model.startswith(f"{out}/"):
            return start
    return model


def _memory(name: str, config: "SftConfig | GrpoConfig", machine: Machine) -> Iterator[Diagnosis]:
    from training.estimate import estimate, host_gib, peak

    try:
        parts = estimate(config, max(1, machine.gpus), machine.layout, machine.gpu_gib)
    except UserError as error:
        yield wrong(name, str(error), "mend the setting, or take larger GPUs")
        return
    size = peak(parts) / GIB
    if machine.gpus and size + 2 > machine.gpu_gib:
        advice = "gradient_checkpointing=true, a smaller micro_batch, zero3, or more GPUs"
        yield wrong(name, f"peak {size:.0f} GiB of {machine.gpu_gib:g}", advice)
    else:
        limit = f" of {machine.gpu_gib:g}" * bool(machine.gpus)
        host = host_gib(config, machine.gpus, machine.layout)
        yield ok(name, f"peak {size:.1f} GiB{limit}, host memory {host:.1f} GiB")


def _checkpoints(config: "SftConfig | GrpoConfig", machine: Machine) -> float:
    from training.estimate import checkpoint_bytes

    return checkpoint_bytes(config, machine.layout) / GIB


def _hours(config: "SftConfig | GrpoConfig", machine: Machine) -> float:
    from training.estimate import training_hours

    return training_hours(config, machine.gpus) if machine.gpus else 0.0
