"""A trajectory for people: rich text in a terminal, HTML in a notebook."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

    from graphwalker.trajectory import Trajectory, Turn

_PAGE = """\
<div class="graphwalker-trajectory">
<p><b>{{ question }}</b></p>
<ol>
{%- for turn in turns %}
<li>{% if turn.thought %}<i>{{ turn.thought }}</i><br>{% endif %}<code>{{ turn.action }}</code>
{%- if turn.observation %}
<pre style="white-space:pre-wrap;max-height:12em;overflow:auto\
{{ ';color:#b00020' if turn.error }}">{{ turn.observation }}</pre>
{%- endif %}</li>
{%- endfor %}
</ol>
<p><b>{{ ending }}</b>{% if gold %} <span>Gold: {{ gold }}.</span>{% endif %}</p>
</div>"""


def show(trajectory: "Trajectory") -> None:
    """Print the episode where it is read: rich text in a terminal, HTML in a notebook."""
    if _in_a_notebook():
        from IPython.display import HTML, display  # pyright: ignore

        display(HTML(as_html(trajectory)))
        return
    from graphwalker.api.terminal import PrintableConsole

    PrintableConsole().print(as_rich(trajectory))


def _in_a_notebook() -> bool:
    """Whether a Jupyter kernel runs this process: it alone has a shell of that name."""
    import sys

    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def as_html(trajectory: "Trajectory") -> str:
    """The episode as an HTML fragment; every text in it is escaped."""
    from jinja2 import Environment

    page = Environment(autoescape=True).from_string(_PAGE)
    turns = [
        {
            "thought": turn.thought,
            "action": action_text(turn),
            "observation": turn.observation,
            "error": bool(turn.error),
        }
        for turn in trajectory.turns
    ]
    return page.render(
        question=trajectory.question.text,
        turns=turns,
        ending=ending(trajectory),
        gold=", ".join(answer.name for answer in trajectory.question.answers),
    )


def as_rich(trajectory: "Trajectory") -> "Group":
    """The episode as rich text; nothing in it is read as markup."""
    from rich.console import Group
    from rich.text import Text

    turns = (turn_lines(number, turn) for number, turn in enumerate(trajectory.turns, start=1))
    return Group(
        Text(trajectory.question.text, style="bold"),
        *(line for lines in turns for line in lines),
        Text(ending(trajectory), style="bold"),
    )


def turn_lines(number: int, turn: "Turn") -> "Iterator[Text]":
    """A turn as lines of rich text: its thought, its action, and what came back."""
    from rich.text import Text

    yield Text(f"Turn {number}", style="bold")
    if turn.thought:
        yield Text(f"  thinks    {turn.thought}", style="italic")
    yield Text(f"  does      {action_text(turn)}", style="cyan")
    if turn.observation:
        yield Text(f"  observes  {turn.observation}", style="red" if turn.error else "")


def action_text(turn: "Turn") -> str:
    """What the turn did, in one line."""
    action = turn.action
    if "answer" in action:
        return "answers " + ", ".join(action["answer"])
    if "malformed" in action:
        return f"writes no valid action: {turn.completion[:200]!r}"
    calls = [action, *action.get("further", ())]
    return "; ".join(map(_call_text, calls))


def _call_text(call: Mapping[str, Any]) -> str:
    arguments = ", ".join(str(value) for value in call.get("arguments", {}).values())
    return f"{call.get('tool', '?')}({arguments})"


def ending(trajectory: "Trajectory") -> str:
    """The answer with the ids behind its names, or why there is none."""
    if trajectory.answer is None:
        return f"No answer ({trajectory.stop.value})."
    names = zip(trajectory.answer, trajectory.answer_ids, strict=False)
    shown = ", ".join(f"{name} ({id_})" if id_ else f"{name} (never seen)" for name, id_ in names)
    return f"Answer: {shown or 'nothing'}"
