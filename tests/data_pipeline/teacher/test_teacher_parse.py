"""A teacher's answers, read: tags, JSON, fences, cut-off ends, prose."""

from data_pipeline.teacher.parse import read_scores

NAMES = ("path", "relevance", "coherence")


def test_scores_are_found_in_whatever_form():
    for text in (
        "<path>9</path><relevance>8</relevance><coherence>7</coherence>",
        "<path>9</path>\n<relevance>8/10</path>\n<coherence>7</score>",
        "<path>9 <relevance>8 <coherence>7",
        '```json\n{"path": 9, "relevance": "8/10", "coherence": 7.0}\n```',
        "**Path**: 9/10\n**Relevance**: 8/10\n**Coherence**: 7/10",
        "path: 9, relevance: 8, coherence: 7",
        "9, 8, 7",
        "9/10 8/10 7/10",
        "<think>path: 1?</think> path=9 relevance=8 coherence=7.",
    ):
        assert read_scores(text, NAMES) == {"path": 9.0, "relevance": 8.0, "coherence": 7.0}, text


def test_a_score_that_may_mean_two_things_is_none():
    for text in (
        "<path>11</path>",
        "path: 9 or path: 7",
        "<path>9</path> <path>3</path>",
        "path: 9/100",
        "path: -1",
        "path: nine",
        '{"path": true}',
        "9 8",
        "9/8/7",
        "I give it a 9.",
        "",
    ):
        assert read_scores(text, NAMES) == {}, text
