"""Muon for weight matrices, AdamW for the rest: one optimizer for models trained from scratch.

PyTorch's own Muon iterates in bfloat16: 596 ms a step of the demo's model instead of 40 ms on one
core of an AMD EPYC without AVX512-BF16, where the rest of a step takes some 400 ms. It also
leaves the other weights to a second optimizer, which schedulers and checkpoints do not know.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from graphwalker.errors import UserError
from training.config import TrainingConfig
from training.runs.distributed import cuts_up_matrices

MARK = "graphwalker_muon"
"""In the config.json of a model that SFT trains with Muon."""
MUON_LR = 1.25
"""Muon's rate as a multiple of AdamW's."""
EPSILON = 1e-5
"""AdamW's: the embedding of a rare word gets hardly any gradient, and should hardly move instead of
taking full steps along noise."""
MOMENTUM = 0.95
QUINTIC = (3.4445, -4.7750, 2.0315)
"""Coefficients of the Newton-Schulz iteration (Jordan et al. 2024, the Muon optimizer)."""


class MuonAdamW(torch.optim.AdamW):
    """Hidden weight matrices move along their orthogonalised momentum; embeddings, norms and biases
    take AdamW steps. On our tiny agents it needs about half of AdamW's tokens for the same loss.
    """

    def __init__(
        self, matrices: Iterable[Tensor], rest: Iterable[Tensor], muon_lr: float, **settings: Any
    ) -> None:
        groups: list[dict[str, Any]] = [
            {"params": list(matrices), "lr": muon_lr, "muon": True},
            {"params": list(rest), "muon": False},
        ]
        super().__init__(groups, foreach=True, **settings)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step; gradients of the matrices are used up."""
        for group in self.param_groups:
            if group["muon"]:
                self._move([w for w in group["params"] if w.grad is not None], float(group["lr"]))
        return super().step(closure)  # type: ignore[arg-type]

    def _move(self, weights: list[Tensor], lr: float) -> None:
        aheads = [self._ahead(weight) for weight in weights]
        for weight, move in zip(weights, orthogonal(aheads), strict=True):
            rows, columns = weight.shape
            weight.add_(move, alpha=-lr * max(1.0, rows / columns) ** 0.5)

    def _ahead(self, weight: Tensor) -> Tensor:
        """Nesterov's momentum of a weight, whose gradient is used up: AdamW passes it by."""
        state, gradient = self.state[weight], cast(Tensor, weight.grad)
        weight.grad = None
        if not state:
            state["step"] = torch.zeros(())  # AdamW looks for it when a checkpoint is loaded
            state["momentum"] = torch.zeros_like(weight)
        state["step"] += 1
        momentum = state["momentum"].lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(momentum, MOMENTUM)


def orthogonal(matrices: Sequence[Tensor], steps: int = 5) -> list[Tensor]:
    """Return roughly the nearest matrix to each whose singular values are all 1, of the same shape
    (rows, columns); those of one shape are iterated together."""
    a, b, c = QUINTIC
    wide = [matrix.T if matrix.shape[0] > matrix.shape[1] else matrix for matrix in matrices]
    found = list(matrices)
    for shape in dict.fromkeys(matrix.shape for matrix in wide):
        places = [place for place, matrix in enumerate(wide) if matrix.shape == shape]
        x = torch.stack([wide[place] for place in places])
        x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
        for _ in range(steps):
            gram = x @ x.mT
            x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
        for place, one in zip(places, x, strict=True):
            found[place] = one.T if wide[place] is not matrices[place] else one
    return found


def own_optimizer(model: Any, config: TrainingConfig, muon: bool) -> torch.optim.Optimizer | None:
    """Return the optimizer of a model whose config has the mark, `None` for any other model.

    Without `muon` it is AdamW with the same epsilon, for GRPO. Raises `UserError` under DeepSpeed
    and FSDP, which cut the matrices up.
    """
    if not getattr(model.config, MARK, False) or config.lora:
        return None
    if cuts_up_matrices():
        raise UserError(
            f"{config.model}: a tiny model takes Muon, which needs whole matrices; "
            "use configs/accelerate/ddp.yaml"
        )
    settings: dict[str, Any] = {
        "lr": config.lr,
        "betas": (config.beta1, config.beta2),
        "weight_decay": config.weight_decay,
        "eps": EPSILON,
    }
    if not muon:
        return torch.optim.AdamW(model.parameters(), **settings)
    return muon_adamw(model, muon_lr=MUON_LR * config.lr, **settings)


def muon_adamw(model: nn.Module, **settings: Any) -> MuonAdamW:
    """Return the optimizer of a language model: matrices inside its layers go to Muon."""
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    matrices: list[Tensor] = []
    rest: list[Tensor] = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            inside = parameter.ndim == 2 and id(parameter) not in tables
            (matrices if inside else rest).append(parameter)
    return MuonAdamW(matrices, rest, **settings)
