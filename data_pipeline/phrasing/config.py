"""Settings of the wordings that a chat model writes."""

from pydantic import Field

from data_pipeline.teacher.config import TeacherConfig
from graphwalker.config import Config


class PhrasesConfig(Config):
    """How a chat model is asked to word the relations of a graph."""

    most: int = Field(default=1400, ge=1)
    """Relations that are worded, the most used first: one request for each, one or two more where
    an answer cannot be read. FB15k has 1,209."""
    least: int = Field(default=1, ge=1)
    """Fewest uses of a mined question for it to be written."""
    teacher: TeacherConfig = TeacherConfig(format_retries=1, max_tokens=900)
    """The chat model. `teacher.prices.max_cost` caps what it may cost."""
