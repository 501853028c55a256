"""A ranker of the user's own that is wrong: one line with module and line."""

from pathlib import Path

from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError

WRONG = {
    "def rank(question, entity, relations):\n    return 1 / 0\n": "ZeroDivisionError",
    "def rank(question, entity, relations):\n    pass\n": "returns None",
    "def rank(question, entity, relations):\n    return ['no.such.one']\n": "'no.such.one' is none",
    "def rank(question, entity, relations):\n    return [3]\n": "3 is none of the relations",
    "def rank(question):\n    return []\n": "TypeError",
    "class rank:\n    def __init__(self):\n        raise OSError('no file')\n": "OSError: no file",
}


def test_a_wrong_ranker_is_one_line_in_verify_and_eval(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    graph, synth = str(corpus / "graph"), corpus / "synth"
    for number, (code, words) in enumerate(WRONG.items()):
        Path(f"wrong{number}.py").write_text(code)
        ranker = f"environment.ranker=wrong{number}:rank"
        asked = ["--graph", graph, "--questions", str(synth / "questions.jsonl")]
        verify = ["verify", str(synth / "graphsynth.jsonl"), "--graph", graph, ranker]
        play = ["eval", *asked, "--model", "first-relation", "--out", f"out{number}", ranker]
        found = CliRunner().invoke(app, play if number % 2 else verify).exception
        assert isinstance(found, UserError), (code, found)
        text = str(found)
        assert words in text and f"wrong{number}:rank" in text and "\n" not in text, text
        assert f"wrong{number}.py, line" in text, text
