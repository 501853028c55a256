"""The best model of a run so far: one folder, and a note of how good it was."""

import json
import shutil
from pathlib import Path
from typing import Any

from training.runs.checkpoints import publish, publish_final
from training.runs.distributed import rank


class BestModel:
    """Keeps the model of the step with the highest score; of equals the earliest.

    It outlives a kill: a resumed run measures the same steps again and finds the same scores.
    """

    def __init__(self, folder: Path, by: str = "em") -> None:
        self._folder, self._by, self._note = folder, by, folder / "best.json"
        self.step, self.score = 0, float("-inf")
        if self._note.is_file():
            note = json.loads(self._note.read_text(encoding="utf-8"))
            if self._place(note["step"]).is_dir():
                self.step, self.score = int(note["step"]), float(note[by])

    @property
    def found(self) -> bool:
        """Whether there is one; the model before the first step may be it."""
        return self.score > float("-inf")

    def offer(self, trainer: Any, step: int, score: float) -> None:
        """Save the trainer's model if it is better; all processes take part."""
        if score <= self.score:
            return
        before = self.step if self.found and self.step != step else None
        self.step, self.score = step, score
        partial = self._folder / "best.partial"
        if rank() == 0:
            shutil.rmtree(partial, ignore_errors=True)
        trainer.accelerator.wait_for_everyone()
        trainer.save_model(str(partial))
        trainer.accelerator.wait_for_everyone()
        if rank() == 0:
            shutil.rmtree(self._place(step), ignore_errors=True)
            publish(partial, self._place(step))
            note = self._note.with_name("best.json.partial")
            note.write_text(json.dumps({"step": step, self._by: score}) + "\n", encoding="utf-8")
            note.replace(self._note)
            if before is not None:
                shutil.rmtree(self._place(before), ignore_errors=True)

    def as_final(self, trainer: Any) -> Path:
        """Copy it to `final/`."""
        partial, final = self._folder / "final.partial", self._folder / "final"
        if rank() == 0:
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(self._place(self.step), partial)
            publish_final(partial, self._folder)
        trainer.accelerator.wait_for_everyone()
        return final

    def _place(self, step: int) -> Path:
        return self._folder / f"best-{step}"
