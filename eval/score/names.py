"""The names of all metrics: what each means, where it is defined, its known defect."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric, for people."""

    name: str
    meaning: str
    source: str
    defect: str = ""


OURS = "this project, strict"
GRAPHWALKER = "GraphWalker, released evaluator"
ROG = "RoG, evaluate_results.py"
WEBQSP = "WebQSP release, eval.py"
KG_R1 = "KG-R1, reward manager"
ARK = "ARK-V1, section IV-B"
GRAPHWALK = "GraphWalk, section 4 and Table 2"

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("em", "the predicted set equals the gold set", OURS),
        Metric("f1", "set F1; both empty is 1", OURS),
        Metric("precision", "share of the predicted set that is gold", OURS),
        Metric("recall", "share of the gold set that is predicted", OURS),
        Metric("hits1", "the first prediction is a gold answer", OURS),
        Metric("hit_any", "any prediction is a gold answer", OURS),
        Metric("pass@k", "unbiased chance that one of k samples has em = 1", "Chen et al. 2021"),
        Metric("retrieval_any", "an observation shows a gold answer, as an entity", OURS),
        Metric("retrieval_all", "observations show every gold answer", OURS),
        Metric("recovery_all", "an erroneous query, yet em = 1; over all questions", OURS),
        Metric("recovery_given_error", "em = 1, over the questions with an error", OURS),
        Metric(
            "graphwalker_em",
            "any pair equal, or either within the other",
            GRAPHWALKER,
            "one right letter, or one answer of many, is full credit",
        ),
        Metric(
            "graphwalker_f1",
            "best token-set F1 of one pair",
            GRAPHWALKER,
            "one good pair is enough",
        ),
        Metric(
            "graphwalker_token_f1",
            "F1 of all predicted tokens and all answer tokens",
            "GraphWalker, training code",
            "mixes words across answers",
        ),
        Metric(
            "squad_em",
            "any prediction equals any answer, SQuAD's normal form",
            "Rajpurkar et al. 2016",
            "one answer of many is full credit",
        ),
        Metric(
            "rog_hit",
            "any answer is within the joined predictions",
            ROG,
            "substrings count: Oslo is found in Oslo Airport",
        ),
        Metric(
            "rog_acc",
            "share of the answers within the joined predictions",
            ROG,
            "wrong predictions are free",
        ),
        Metric(
            "rog_f1",
            "F1 of rog_precision and rog_recall",
            ROG,
            "reaches 1.5 for three answers in one prediction",
        ),
        Metric("rog_precision", "answers found by number of predictions", ROG, "passes 1"),
        Metric("rog_recall", "rog_acc, 0 for no prediction", ROG),
        Metric("webqsp_f1", "raw strings or ids as lists; the best parse", WEBQSP),
        Metric("webqsp_precision", "of that parse", WEBQSP, "1 for no prediction"),
        Metric("webqsp_recall", "of that parse", WEBQSP, "1 where there is no answer"),
        Metric(
            "tog_em",
            "the braced text, else all of it, and an answer: either within the other",
            "Think-on-Graph, eval.py",
            "an empty answer scores 1",
        ),
        Metric(
            "kg_r1_em",
            "the answer, or an item of it, equals any gold",
            KG_R1,
            "one item of a list is full credit",
        ),
        Metric("kg_r1_f1", "F1 of kg_r1_precision and kg_r1_recall", KG_R1),
        Metric(
            "kg_r1_precision",
            "1 as soon as one gold is within the answer",
            KG_R1,
            "wrong answers beside a right one are free",
        ),
        Metric("kg_r1_recall", "share of the gold entities within the answer", KG_R1),
        Metric(
            "graphrunner_rouge_l",
            "ROUGE-L F of the answer text",
            "GraphRunner, section 4.1",
            "the order of a list of answers counts",
        ),
        Metric("ark_answer_rate", "commits to True or False", ARK),
        Metric("ark_accuracy", "is right; no answer counts as wrong", ARK),
        Metric("ark_conditional_accuracy", "is right, over the questions answered", ARK),
        Metric("ark_reliability", "1 - H / log2 3 over repeated runs", ARK),
        Metric("graphwalk_accuracy", "the rows are exactly the gold rows", GRAPHWALK),
        Metric("graphwalk_precision", "share of the rows that are gold", GRAPHWALK),
        Metric("graphwalk_recall", "share of the gold rows that are there", GRAPHWALK),
        Metric("graphwalk_f1", "F1 of the two", GRAPHWALK),
        Metric("graphwalk_false_positives", "rows that are not gold, a question", GRAPHWALK),
        Metric("graphrunner_judge", "the judge says it is right", "GraphRunner, section 4.1"),
    )
}
"""In the order in which tables show them."""
