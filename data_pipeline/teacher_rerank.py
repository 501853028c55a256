"""Relations reranked by a teacher: the most useful ones first, never one that was not there."""

from collections.abc import Sequence

from data_pipeline.teacher_client import TeacherClient
from data_pipeline.teacher_parse import Unreadable, read_list
from data_pipeline.teacher_paths import one_line


def rerank(
    client: TeacherClient,
    question: str,
    entity: str,
    relations: Sequence[str],
    count: int = 20,
    thought: str = "",
) -> tuple[str, ...]:
    """The best `count` relations (GraphWalker Table 8: 20), from a list already ordered by BM25.

    Invented and repeated ones are left out; where too few are left, the next of the given order
    follow. Nothing is asked when there is nothing to choose. Raises `Unusable` for an answer
    without a single known relation.
    """
    if len(relations) <= 1:
        return tuple(relations)
    wanted = min(count, len(relations))

    def read(answer: str) -> list[str]:
        known = set(relations)
        chosen = [name for name in dict.fromkeys(read_list(answer)) if name in known]
        if not chosen:
            raise Unreadable("none of its relations is in the list")
        return chosen

    values = {
        "question": one_line(question),
        "entity": one_line(entity),
        "thought": one_line(thought) or "(none)",
        "relations": "\n".join(relations),
        "count": wanted,
    }
    chosen = client.ask("reranking", client.prompts.fill("rerank", values), read, 0.0)
    return tuple(dict.fromkeys((*chosen, *relations)))[:wanted]
