"""What a page of the documentation says: its links, its headings, its command lines."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import yaml

COMMANDS = r"(?:graphwalker(?= [a-z-])|accelerate launch|python|sbatch|make|benchmarks/gpu\.sh)"
"""How a command line begins, behind variables and the folder of an environment."""
START = rf"(?:\$ )?(?:[A-Z_0-9]+=\S+ )*(?:\.venv/bin/)?(?={COMMANDS}\b)"


def links(text: str) -> list[tuple[str, str]]:
    """Return file and anchor of every link to another page or within the page."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)
    found = re.findall(r"\]\(([^)\s]+)\)", prose)
    own = [target for target in found if not re.match(r"[a-z]+:", target)]
    return [(file, anchor) for file, _, anchor in (target.partition("#") for target in own)]


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, as the site makes them."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.M)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def command_lines(text: str) -> Iterator[list[str]]:
    """Yield the commands of blocks, of indented lines and of code within sentences, as words."""
    every = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.S | re.M)
    blocks = [block for language, block in every if language in ("", "bash", "text")]
    without = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    lines += re.findall(r"^    (\S.*)$", without, flags=re.M)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", without)]
    lines += [span for span in spans if re.match(START + r"\S+ \S", span)]
    for line in lines:
        if match := re.match(START, line):
            yield _words(line[match.end() :])


def settings_given(text: str) -> list[str]:
    """Return the names of settings in code within sentences, such as `lora.r=64`."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return re.findall(r"`([a-z_]+(?:\.[a-z_0-9]+)*)=[^`\s=][^`\n]*`", text)


def _words(line: str) -> list[str]:
    """Return the words of a command without comment, pipe or continuation dots."""
    words = shlex.split(re.split(r" (?:\||&&|>) ", line)[0].rstrip(", "), comments=True)
    return [word for word in words if word != "..."]


def is_placeholder(word: str) -> bool:
    """Whether a word stands for something of the reader's: FILE, RUN, [STAGE], a.b."""
    return bool(re.fullmatch(r"a\.b|[A-Z][A-Z_0-9.#]*", word) or set(word) & set("[]{}|"))


def section_of(path: Path, section: str) -> bool:
    """Whether a config file has that section, which holds settings."""
    return isinstance(yaml.safe_load(path.read_text(encoding="utf-8")).get(section), dict)
