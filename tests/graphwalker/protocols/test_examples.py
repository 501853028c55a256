"""What prompts and hints show in the place of an answer is none."""

from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.protocols.forms import FormProtocol
from graphwalker.protocols.tags import TagProtocol


def test_an_answer_that_repeats_an_example_is_malformed_not_wrong():
    tags, forms = TagProtocol({"get_relations": {"entity": "Oslo"}}), FormProtocol({})
    for names in ('["Name", "Other name"]', '["Name"]', '["NAME OF AN ANSWER"]'):
        for _, action in (
            tags.parse(f"<think> x </think>\n<answer> {names} </answer>"),
            forms.parse(f'{{"thought": "why", "answer": {names}}}'),
        ):
            assert isinstance(action, Malformed) and "in place of the example" in action.reason
    _, kept = tags.parse('<answer> ["Name", "Oslo"] </answer>')
    assert kept == FinalAnswer(("Name", "Oslo"))
