"""The catalogue: each benchmark's title, graph, source, licence and published sizes."""

from dataclasses import dataclass

from graphwalker.errors import UserError


@dataclass(frozen=True, slots=True)
class Size:
    """How many questions a published file holds. `part` names a domain or a common sample."""

    split: str
    count: int
    part: str = ""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A published benchmark; `docs/benchmarks.md` says what its loader keeps."""

    name: str
    title: str
    graph: str
    url: str
    licence: str
    sizes: tuple[Size, ...] = ()
    open_topics: bool = False
    """Some or all of its questions name no topic entity."""


_METAQA = {
    1: (96106, 9992, 9947),
    2: (118980, 14872, 14872),
    3: (114196, 14274, 14274),
}

CATALOGUE = (
    Benchmark("ours", "GraphWalker question files", "any", "", ""),
    Benchmark(
        "webqsp",
        "WebQSP",
        "Freebase",
        "https://www.microsoft.com/en-us/download/details.aspx?id=52763",
        "stated in the download",
        (
            Size("train", 3098),
            Size("test", 1639),
            Size("test", 1628, "with answers"),
        ),
        open_topics=True,
    ),
    Benchmark(
        "cwq",
        "ComplexWebQuestions 1.1",
        "Freebase",
        "https://www.tau-nlp.sites.tau.ac.il/compwebq",
        "none stated; the authors' code is GPL-2.0",
        (Size("train", 27639), Size("dev", 3519), Size("test", 3531)),
        open_topics=True,
    ),
    Benchmark(
        "grailqa",
        "GrailQA 1.0",
        "Freebase",
        "https://dki-lab.github.io/GrailQA/",
        "none stated with the data",
        (
            Size("train", 44337),
            Size("dev", 6763),
            Size("test", 13231, "without answers"),
            Size("", 1000, "sampled by ToG"),
        ),
        open_topics=True,
    ),
    Benchmark(
        "simplequestions",
        "SimpleQuestions v2",
        "Freebase",
        "https://www.dropbox.com/s/tohrsllcfy7rch4/SimpleQuestions_v2.tgz",
        "CC BY 3.0",
        (
            Size("train", 75910),
            Size("dev", 10845),
            Size("test", 21687),
            Size("", 1000, "sampled by ToG"),
        ),
    ),
    Benchmark(
        "qald9plus",
        "QALD-9-plus",
        "Wikidata",
        "https://github.com/KGQA/QALD_9_plus",
        "CC BY 4.0",
        (
            Size("train", 371),
            Size("test", 136),
            Size("train", 408, "DBpedia"),
            Size("test", 150, "DBpedia"),
        ),
        open_topics=True,
    ),
    Benchmark(
        "qald10",
        "QALD-10",
        "Wikidata",
        "https://github.com/KGQA/QALD-10",
        "MIT",
        (Size("test", 394), Size("", 333, "English, linked by ToG")),
        open_topics=True,
    ),
    Benchmark(
        "metaqa",
        "MetaQA",
        "its own, of films",
        "https://github.com/yuyuz/MetaQA",
        "CC BY 3.0",
        tuple(
            Size(split, count, f"{hops}-hop")
            for hops, counts in _METAQA.items()
            for split, count in zip(("train", "dev", "test"), counts, strict=True)
        ),
    ),
    Benchmark(
        "pathquestion",
        "PathQuestion",
        "its own, from Freebase",
        "https://github.com/zmtkeke/IRN",
        "none stated",
        (
            Size("", 1908, "PQ-2H"),
            Size("", 5198, "PQ-3H"),
        ),
    ),
    Benchmark(
        "colota",
        "CoLoTa",
        "Wikidata",
        "https://github.com/D3Mlab/CoLoTa",
        "none stated",
        (
            Size("", 1650, "questions or claims"),
            Size("", 200, "CR-LT questions, as in ARK-V1"),
            Size("", 150, "CR-LT claims"),
        ),
        open_topics=True,
    ),
    Benchmark(
        "strategyqa",
        "StrategyQA",
        "none",
        "https://allenai.org/data/strategyqa",
        "MIT, as its mirrors state it",
        (
            Size("train", 2290),
            Size("train", 2061, "the authors' own split"),
            Size("dev", 229, "the authors' own split"),
            Size("test", 490, "without answers"),
        ),
    ),
    Benchmark(
        "grbench",
        "GRBench",
        "its own, of five domains",
        "https://huggingface.co/datasets/PeterJinGo/GRBench",
        "Apache-2.0",
        (
            Size("", 200, "amazon"),
            Size("", 240, "goodreads"),
            Size("", 270, "biomedical"),
            Size("", 180, "legal"),
            Size("", 150, "dblp"),
            Size("", 140, "biology"),
            Size("", 140, "chemistry"),
            Size("", 140, "materials_science"),
            Size("", 140, "medicine"),
            Size("", 140, "physics"),
            Size("", 1740, "all"),
        ),
        open_topics=True,
    ),
    Benchmark(
        "graphwalkerbench",
        "GraphWalkerBench",
        "Freebase",
        "https://github.com/XuShuwenn/GraphWalker",
        "MIT",
        (Size("test", 1766),),
    ),
)

STRUCTURE_COUNTS = {
    "graphwalkerbench": {
        "3-hop": 347,
        "4-hop": 209,
        "5-hop": 180,
        "2I": 344,
        "IP": 337,
        "PI": 349,
    }
}
"""Questions by structure in a whole file: GraphWalker, Table 7."""


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name. Raises `UserError` naming those that there are."""
    for found in CATALOGUE:
        if found.name == name:
            return found
    known = ", ".join(b.name for b in CATALOGUE)
    raise UserError(f"no question format is named {name!r}; known: {known}")


def published_size(
    name: str, split: str, count: int, parts: frozenset[str] = frozenset()
) -> Size | None:
    """The published file of exactly that many questions, if there is one for that split.

    `parts` is what the questions say of themselves: where a size names one of them, it is meant.
    """
    sizes = [s for s in benchmark(name).sizes if s.count == count]
    fits = [s for s in sizes if not s.split or not split or s.split == split]
    return next((s for s in fits if s.part in parts), fits[0] if fits else None)
