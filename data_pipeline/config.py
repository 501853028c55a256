"""Settings of the data pipeline: what to sample, how much of it, and under which environment."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from data_pipeline.contamination.config import ContaminationConfig
from data_pipeline.teacher.config import JudgeConfig, TeacherConfig, settings_to_store
from data_pipeline.walks.absent import ABSENT
from data_pipeline.walks.plausibility import PlausibilityConfig
from data_pipeline.walks.sampler import STRUCTURES
from data_pipeline.wording.composition.questions import STYLES
from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.config import Config, RunSeed
from graphwalker.datasets.registry import QuestionsFormat
from graphwalker.policies.config import PolicyConfig
from graphwalker.query.constraint import CONSTRAINED
from graphwalker.trust import (
    READS,
    Address,
    ByHand,
    FilePath,
    FilePaths,
    OneOrSeveral,
    PlainTexts,
    PlainWeights,
    TrustedFolders,
)

# GraphWalker Table 6, the structures of GraphSynth.
# It has no one-hop questions, which most real questions are: a weight of 0 that may be set.
TABLE_6 = {
    "1-hop": 0.0,
    "2-hop": 1982.0,
    "3-hop": 4920.0,
    "4-hop": 1778.0,
    "5-hop": 576.0,
    "2I": 5599.0,
}
# GraphWalker Table 7, the structures of GraphWalkerBench.
TABLE_7 = {"3-hop": 347.0, "4-hop": 209.0, "5-hop": 180.0, "2I": 344.0, "IP": 337.0, "PI": 349.0}
# GraphRoll is drawn from CWQ: short compositions and conjunctions.
CWQ_LIKE = {"2-hop": 4.0, "3-hop": 2.0, "4-hop": 1.0, "2I": 3.0}

INJECTED_ERRORS = (
    *("wrong_relation", "dead_end", "wrong_entity"),
    *("unlisted_relation", "foreign_relation", "misspelled_name"),
)
"""Calls that a careful reader would not make, refused or useless. Wrong readings of vague phrases
come on top of them by themselves."""
WRONG_SIDE = "wrong_side"
"""One more, of tools that look in one direction: a look at the other side of an entity."""


class SplitConfig(Config):
    """What is held out for testing: a share of the entities and a share of the relation paths. Of
    questions of one hop no relation is held out, only pairs of a topic entity and a relation."""

    seed: RunSeed = 0
    """Chooses what is held out. Training and test sets that belong together share it."""
    entity_share: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Share of the entities that are topics of test questions only."""
    path_share: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Share of the compositions of relations that only `test-path` questions take; of one-hop
    questions, of the pairs of topic entity and relation."""
    wording_share: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of the wordings of hops that are held out. One wording of each hop is always used in
    training."""


class _StoredConfig(Config):
    """Settings that are stored without a teacher that is not set."""

    @model_serializer(mode="wrap")
    def _dump(
        self, handler: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        # An `exclude` is given where only the settings that determine the data are wanted.
        return settings_to_store(handler(self), making=bool(info.exclude))


class SamplingConfig(_StoredConfig):
    """How walks are sampled and certified."""

    seed: RunSeed = 0
    """Seed of every walk and wording. Another seed gives other questions of the same graph."""
    min_degree: int = Field(default=1, ge=1)
    """Fewest neighbors that a sampled relation may have (GraphWalker Eq. 1)."""
    max_degree: int = Field(default=5, ge=1)
    """Most neighbors that a sampled relation may have (GraphWalker Eq. 1). A question about more
    neighbors than the environment shows cannot be answered."""
    max_answers: int = Field(default=5, ge=1)
    """A question with more answers is dropped as ambiguous."""
    max_frontier: int = Field(default=5, ge=1)
    """Most entities that an intermediate step of the walk may reach. Each of them costs the agent
    a turn."""
    literals: bool = False
    """Whether a date or a number may be the answer."""
    seeds_file: FilePath = ""
    """File of the entity ids that walks may start from, one a line. Empty: every named entity of
    the graph."""
    predicates_file: FilePath = ""
    """File of the relation ids that walks may take: one a line, or a published whitelist (a JSON
    list of ids or IRIs, plain or .gz). With a weight after a tab the line is a hop (`~` before an
    inverse one), which has that share of the hops. Empty: all relations of the graph."""
    phrases_file: FilePath = ""
    """TOML file of one's own words for relations, as `graphwalker phrases` writes it. They win over
    all others."""
    plausibility: PlausibilityConfig = PlausibilityConfig()
    """Which walks are worth a question."""
    vague: float = Field(default=0.5, ge=0.0, le=1.0)
    """Share of the phrases that are vague: they could mean more than one relation."""
    unchecked: tuple[Literal["quality", "ambiguous_reading"], ...] = ()
    """Checks of a question that are not made, to measure what they are worth."""
    styles: PlainWeights = STYLES
    """Weights of the styles of a question of one hop: `casual` (as typed into a search box, where
    the phrase bank has such words), `plain` and `formal`. One that is not given keeps its own."""
    informal: float = Field(default=0.1, ge=0.0, le=1.0)
    """Share of the questions that are put as a command (`Name the film that ...`), or as people
    type into a search box (`who directed ...`, without a question mark)."""
    plain_thoughts: bool = False
    """Whether every kind of thought has one wording only, which is less for a tiny model to
    learn."""
    count_steps: bool = False
    """Whether the first thought says how many steps the question takes (hops, and a comparison of
    values), and each finding of which step it is."""
    sparql: bool = False
    """Whether each record also stores its query as SPARQL (`query.sparql`)."""
    split: Literal["train", "test-entity", "test-path", "test-wording", "any"] = "train"
    """Which side of the hold-out to sample. `any` ignores the hold-out; `test-wording` is
    `test-entity` in held-out wordings."""
    splits: SplitConfig = SplitConfig()
    wordings: Literal["shown", "held-out", "all"] = "shown"
    """Which wordings of a hop to use, where `splits.wording_share` holds some out."""
    environment: EnvironmentConfig = EnvironmentConfig()
    """The tools, limits and prompt that the trajectories are made with."""
    teacher: TeacherConfig = TeacherConfig()
    """A chat model that words the questions, judges them and writes the thoughts. It is called by
    threads of one process, whatever `workers` is."""
    judge: JudgeConfig = JudgeConfig()
    """Another judge than the teacher's own: a server's address and model.
    It scores the programmatic teacher's questions, too."""
    workers: int = Field(default=1, ge=1)
    """Number of worker processes. The files are the same for any number."""
    engine: Literal["processes", "ray"] = "processes"
    """Where workers run: on this machine, or as actors of a Ray cluster. The files are the same."""
    ray_address: Address = ""
    """Address of the Ray cluster, such as `node1:6379` or `auto`. Empty: `RAY_ADDRESS`, else Ray is
    started on this machine."""

    @field_validator("styles")
    @classmethod
    def _known_styles(cls, styles: dict[str, float]) -> dict[str, float]:
        if unknown := sorted(set(styles) - set(STYLES)):
            raise ValueError(f"unknown style {unknown[0]!r}; known: {', '.join(STYLES)}")
        styles = {**STYLES, **styles}
        if min(styles.values()) < 0 or not sum(styles.values()):
            raise ValueError("the weights of the styles are not negative, and one is above 0")
        return styles

    @property
    def is_judged(self) -> bool:
        """Whether a model scores the questions."""
        own = self.teacher.chats and self.teacher.judge
        return own or self.judge.chats

    @model_validator(mode="after")
    def _something_is_held_out(self) -> Self:
        tested = self.split == "test-wording" or self.wordings == "held-out"
        if tested and not self.splits.wording_share:
            raise ValueError("no wording is held out: set splits.wording_share, such as 0.3")
        return self


class SynthConfig(SamplingConfig):
    """GraphSynth: how many trajectories, of which structures."""

    basic = (
        "count", "mix", "like", "seed", "split", "workers", "min_degree", "max_degree",
        "max_answers", "max_frontier", "max_relation_share", "literals", "seeds_file",
        "predicates_file", "phrases_file", "against", "environment.preset", "environment.prompt",
        "environment.top_relations", "teacher.base_url", "teacher.model", "judge.base_url",
        "judge.model",
    )  # fmt: skip

    count: int = Field(default=5000, ge=1)
    """Number of records to make."""
    like: FilePath = ""
    """Training questions of a benchmark, with queries or relation paths. They set `seeds_file`,
    `predicates_file` (with the share of each hop), `mix`, `max_answers`, `max_degree` and
    `max_frontier`, except for those that you set."""
    mix: PlainWeights = TABLE_6
    """Weight of each structure; defaults to the counts of GraphWalker Table 6. `mix.2-hop=5000`
    changes one entry, `mix.5-hop=0` takes a structure out, `mix={2-hop: 1, 2I: 1}` replaces the
    whole."""
    absent_share: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of questions whose answer the graph does not hold: the topic lacks the relation that
    others of its kind have. An empty answer after a look is right."""
    max_path_share: float = Field(default=1.0, gt=0.0, le=1.0)
    """Largest share of a structure's questions that may take the same relation path."""
    max_relation_share: float = Field(default=0.1, gt=0.0, le=1.0)
    """Largest share of a structure's hops that may be over the same relation. It gives way
    together with `plausibility`."""
    max_attempts: int = Field(default=3000, ge=1)
    """Number of attempts in a row without a record after which a structure is given up: the graph
    has no more questions of it, and the other structures take its place. Before that, after each
    third of them, the rule of `plausibility` gives way by one step."""
    against: Annotated[FilePaths, OneOrSeveral] = ()
    """Files of test questions, ours or published. What comes too close to one of them is replaced
    while the corpus is made."""
    contamination: ContaminationConfig = ContaminationConfig()
    """How close to a question of `against` is too close."""

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each structure, with that of questions without an answer."""
        share = self.absent_share / (1 - self.absent_share)
        return {**self.mix, **({ABSENT: sum(self.mix.values()) * share} if share else {})}

    @field_validator("mix")
    @classmethod
    def _known_structures(cls, mix: dict[str, float]) -> dict[str, float]:
        return checked_mix(mix)


class BenchConfig(SynthConfig):
    """GraphWalkerBench: how many test questions, of which structures, which of them untrained."""

    count: int = Field(default=1766, ge=1)
    """Number of questions to make."""
    mix: PlainWeights = TABLE_7
    """Weight of each structure; defaults to GraphWalker Table 7."""
    split: Literal["train", "test-entity", "test-path", "test-wording", "any"] = "test-entity"
    """Which side of the hold-out to sample. No training corpus of the same `splits` has the topic
    entities of `test-entity`, nor the relation paths of `test-path`."""
    unseen: PlainTexts = ("IP", "PI")
    """Structures that a training corpus may not hold (GraphWalker Figure 9)."""

    @field_validator("against")
    @classmethod
    def _no_tests_of_its_own(cls, files: tuple[str, ...]) -> tuple[str, ...]:
        if files:
            raise ValueError("this benchmark is a test: its training data are named by --against")
        return files


class ExpertConfig(_StoredConfig):
    """GraphRoll: expert trajectories that err and recover, kept by rejection."""

    basic = (
        "count", "mix", "seed", "tries", "error_rate", "injected_errors", "searched",
        "policy.model", "policy.api.base_url", "policy.engine", "temperature", "max_tokens",
        "concurrency", "workers", "winnable", "questions_format", "environment.preset",
        "environment.prompt", "environment.top_relations", "environment.ranker",
    )  # fmt: skip

    seed: RunSeed = 0
    """Seed of the expert's errors and of a policy's sampling."""
    count: int = Field(default=2000, ge=1)
    """Number of trajectories to keep."""
    mix: PlainWeights = CWQ_LIKE
    """Weight of each structure in the stratified sample. Empty: the shares of the question file
    (of its question types, in CWQ)."""
    tries: int = Field(default=1, ge=1)
    """Most episodes of one question, until one of them is kept."""
    way_back: bool = False
    """Whether a question whose tries all failed is kept with the oracle's way back: the turns of
    the last try up to some point, then the oracle from where they stand. For a policy, and
    questions with a query."""
    referenced: bool = False
    """Whether the policy is shown the gold actions and writes the thoughts that lead to them. A
    thought is kept only where the policy takes that action from it without the reference; elsewhere
    the oracle's stands. For a policy, and questions with a query."""
    policy: PolicyConfig | None = None
    """The model that is the expert, local or behind an API (`policy.api.base_url`), on questions of
    any dataset. None: the built-in expert, on questions of any dataset whose query is known."""
    questions_format: QuestionsFormat = "auto"
    """The dataset's name where the question file of a policy does not show it."""
    unresolved: Annotated[str, ByHand(READS, ("stop", "drop").__contains__)] = "stop"
    """What to do with questions of one's own whose topic entity or answer the graph does not
    settle: `stop` lists them in `unresolved.jsonl` in the output folder, `drop` leaves them out.
    The edited file: its topics and answers count."""
    winnable: bool = False
    """Whether to leave out the questions that nobody could answer in this environment, as
    `graphwalker ceiling` counts them. For a policy: certified questions can all be answered."""
    temperature: float = Field(default=1.0, ge=0.0)
    """Sampling temperature of a policy."""
    max_tokens: int = Field(default=512, ge=1)
    """Most completion tokens of a turn of a policy. Unset, a model that reasons first, by its
    name (o3, R1, QwQ, ...), has 4,096."""
    concurrency: int = Field(default=64, ge=1)
    """Number of a policy's episodes under way at once."""
    force_environment: bool = False
    """Whether a model may run in another preset than the one that it was trained for."""
    trust: TrustedFolders = ()
    """Folders of models and data whose files may name code, paths, addresses and variables
    (`docs/threat-model.md`). What they name is told before it is used."""
    error_rate: float = Field(default=0.8, ge=0.0, le=1.0)
    """Share of the built-in expert's episodes with an injected error, on top of its honest wrong
    readings."""
    injected_errors: PlainTexts = INJECTED_ERRORS
    """Kinds of injected errors to draw from. A kind named twice is drawn twice as often. With tools
    that look one way (`search-on-graph`, `kg-r1`, `graphwalker-code`) it errs by default in every
    kind that they allow, `wrong_side` among them."""
    plain_thoughts: bool = False
    """Whether every kind of thought has one wording only, which is less for a tiny model to
    learn."""
    count_steps: bool = False
    """Whether the first thought says how many steps the question takes (hops, and a comparison of
    values), and each finding of which step it is."""
    searched: int = Field(default=0, ge=0, le=3)
    """Most hops of walks that are searched from each topic entity to the answers. The built-in
    expert then reads neither words nor query: it plays the shortest walk that leads to exactly the
    answers, in plain words and without errors, and drops a question that has none. For questions
    of which the answers alone are known. 0: off."""
    environment: EnvironmentConfig = EnvironmentConfig()
    """The tools, limits and prompt that the expert plays with."""
    workers: int = Field(default=1, ge=1)
    """Number of worker processes. The file is the same for any number."""
    engine: Literal["processes", "ray"] = "processes"
    """Where workers run: on this machine, or as actors of a Ray cluster. The file is the same."""
    ray_address: Address = ""
    """Address of the Ray cluster, such as `node1:6379` or `auto`. Empty: `RAY_ADDRESS`, else Ray is
    started on this machine."""

    @model_validator(mode="after")
    def _known_structures(self) -> Self:
        if self.mix:
            checked_mix(self.mix, any_types=True)
        if self.searched and self.policy is not None:
            raise ValueError("searched is the built-in expert's: leave policy out")
        if self.winnable and self.policy is None:
            raise ValueError("winnable is for a policy: certified questions can all be answered")
        if self.referenced and (self.policy is None or self.way_back):
            raise ValueError("referenced is for a policy, and has no way back")
        if self.count_steps and self.policy and not self.way_back:
            raise ValueError("count_steps: a policy words its thoughts itself; leave policy out")
        return self

    @field_validator("injected_errors")
    @classmethod
    def _known_errors(cls, kinds: tuple[str, ...]) -> tuple[str, ...]:
        known = (*INJECTED_ERRORS, WRONG_SIDE)
        if unknown := sorted(set(kinds) - set(known)):
            raise ValueError(f"unknown error {unknown[0]!r}; known: {', '.join(known)}")
        if not kinds:
            raise ValueError("no error is named; for an expert without any set error_rate to 0")
        return kinds


class PhrasesConfig(Config):
    """How a chat model is asked to word the relations of a graph."""

    most: int = Field(default=1400, ge=1)
    """Relations that are worded, the most used first: one request for each, one or two more where
    an answer cannot be read. FB15k has 1,209."""
    teacher: TeacherConfig = TeacherConfig(format_retries=1, max_tokens=900)
    """The chat model. `teacher.prices.max_cost` caps what it may cost."""


def checked_mix(mix: dict[str, float], any_types: bool = False) -> dict[str, float]:
    """Return the mix, or `ValueError` naming an unknown structure or weights that add up to
    nothing. `any_types`: of any file of questions."""
    for structure, weight in mix.items():
        if not any_types and structure not in (*STRUCTURES, *CONSTRAINED):
            known = ", ".join((*STRUCTURES, *CONSTRAINED))
            raise ValueError(f"unknown structure {structure!r}; known: {known}")
        if weight < 0:
            raise ValueError(f"{structure}: a weight cannot be negative")
    if sum(mix.values()) <= 0:
        raise ValueError("the weights add up to 0")
    return mix


def quotas(mix: dict[str, float], count: int) -> dict[str, int]:
    """Exactly `count` records shared out by weight (largest remainders, ties in the mix's order).

    >>> quotas({"2-hop": 1, "2I": 2, "5-hop": 0}, 10)
    {'2-hop': 3, '2I': 7}
    """
    total = sum(mix.values())
    exact = {name: count * weight / total for name, weight in mix.items() if weight}
    shares = {name: int(value) for name, value in exact.items()}
    order = sorted(exact, key=lambda name: shares[name] - exact[name])
    for name in order[: count - sum(shares.values())]:
        shares[name] += 1
    return {name: share for name, share in shares.items() if share}
