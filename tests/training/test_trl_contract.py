"""The private members of TRL and transformers that training rests on: one test each.

TRL's stand in `training/reinforce/trainer.py`, those of transformers in `training/runs/saving.py`.
The first test that fails with a new version names what has changed.
"""

import inspect
import re

import pytest
from accelerate.state import GradientState
from transformers import Trainer, TrainerCallback
from transformers.trainer_callback import TrainerState
from trl.trainer.grpo_trainer import GRPOTrainer

from training.reinforce.trainer import EpisodeTrainer
from training.runs.saving import WholeCheckpoints


def parameters(function) -> list[str]:
    return list(inspect.signature(function).parameters)


def source(function) -> str:
    return inspect.getsource(inspect.unwrap(function))


def test_generate_returns_the_mask_of_the_tools_as_its_third_value() -> None:
    assert parameters(GRPOTrainer._generate)[:2] == ["self", "prompts"]
    returned = source(GRPOTrainer._generate).rsplit("return", 1)[1]
    names = re.findall(r"\w+", returned)
    assert names[:3] == ["prompt_ids", "completion_ids", "tool_mask"]


def test_a_batch_is_generated_and_scored_by_one_method() -> None:
    assert parameters(GRPOTrainer._generate_and_score_completions) == ["self", "inputs"]
    made = source(GRPOTrainer._generate_and_score_completions)
    for name in ("prompt_ids", "completion_mask", "advantages", "num_items_in_batch", "tool_mask",
                 "sampling_per_token_logps", "old_per_token_logps", "ref_per_token_logps",
                 "importance_sampling_ratio"):  # fmt: skip
        assert f'"{name}"' in made, name
    assert "num_items_in_batch = self.accelerator.gather(loss_mask.sum()).sum()" in made


def test_micro_batches_are_buffered_and_counted_by_step() -> None:
    assert parameters(GRPOTrainer._prepare_inputs) == ["self", "generation_batch"]
    prepared = source(GRPOTrainer._prepare_inputs)
    assert "self._buffered_inputs[self._step % self.args.steps_per_generation]" in prepared
    assert "self._step += 1" in source(GRPOTrainer.training_step)


def test_the_loss_of_a_micro_batch_is_computed_by_one_method() -> None:
    assert parameters(GRPOTrainer._compute_loss) == ["self", "model", "inputs"]
    assert "self._compute_loss(model, inputs)" in source(GRPOTrainer.compute_loss)


def test_micro_batches_are_summed_not_averaged() -> None:
    """The terms that we add to a loss (replay) are scaled for that."""
    assert GRPOTrainer.loss_is_scaled_for_ga is True
    assert "self.compute_loss_func is None" in source(Trainer.training_step)


def test_log_probabilities_come_with_entropies_and_an_auxiliary_loss() -> None:
    theirs = parameters(GRPOTrainer._get_per_token_logps_and_entropies)
    ours = parameters(EpisodeTrainer._get_per_token_logps_and_entropies)
    assert theirs[:8] == ours[:8]


def test_a_pass_takes_its_inputs_from_prepare_inputs() -> None:
    """Where a step is cut by tokens, each of its passes is one call of theirs."""
    assert "super().training_step(model, inputs, num_items_in_batch)" in source(
        GRPOTrainer.training_step
    )
    assert "inputs = self._prepare_inputs(inputs)" in source(Trainer.training_step)
    assert parameters(GradientState._set_sync_gradients) == ["self", "sync_gradients"]


def test_delta_caps_the_ratio_before_the_smaller_term_is_taken() -> None:
    computed = source(GRPOTrainer._compute_loss)
    assert "coef_1 = torch.clamp(coef_1, max=self.args.delta)" in computed
    assert 'inputs.get("old_per_token_logps")' in computed


def test_the_fused_head_gives_the_log_probability_of_a_label_one_place_earlier() -> None:
    scored = source(GRPOTrainer._get_per_token_logps_and_entropies)
    assert "model(**model_inputs, labels=labels, fused_lm_head=True)" in scored
    assert "outputs.log_probs[:, -logits_to_keep:]" in scored


def test_the_reference_is_made_by_a_function_that_can_be_replaced() -> None:
    made = source(GRPOTrainer.__init__)
    assert "self.ref_model = create_model_from_path(" in made
    assert made.count("create_model_from_path(") == 2  # the other one is for a model's name


def test_the_tokenizer_is_at_hand() -> None:
    assert "self._tokenizer = processing_class" in source(GRPOTrainer.__init__)


@pytest.mark.parametrize("name", ["_save_checkpoint", "_get_output_dir", "save_model"])
def test_checkpoints_are_saved_and_loaded_by_these_methods(name) -> None:
    assert hasattr(WholeCheckpoints, name)
    theirs, ours = (parameters(getattr(kind, name)) for kind in (Trainer, WholeCheckpoints))
    assert theirs == ours


def test_a_checkpoint_is_written_into_the_folder_that_get_output_dir_names() -> None:
    saved = source(Trainer._save_checkpoint)
    assert "self._get_output_dir(trial=trial)" in saved
    assert "self.save_model(output_dir, _internal_call=True)" in saved


def test_a_resumed_run_reads_its_intervals_from_the_checkpoint() -> None:
    """What `NewSettings` puts right: intervals are taken from `state`, which a checkpoint fills."""
    assert parameters(TrainerState.compute_steps) == ["self", "args", "max_steps"]
    assert "on_train_begin" in vars(TrainerCallback)
