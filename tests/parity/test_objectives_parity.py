"""Our losses are those of TRL, computed by its own trainer's methods on made-up log-probabilities."""

from __future__ import annotations

import os
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from codegym.objectives import (
    EntropyController,
    aggregate_loss,
    clip_fraction,
    clipped_objective,
    grpo_advantages,
    gspo_objective,
    kl_k3,
    overlong_penalty,
)

# TRL and what it imports warn of much that is none of our business
pytestmark = pytest.mark.filterwarnings("ignore")

ADVANTAGES = np.array([1.0, -1.0, 0.5, -2.0])
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0], [1, 0, 0, 0, 0, 0]])
MAX_LENGTH = 8


@pytest.fixture(scope="module")
def trainer():
    """TRL's trainer class, never instantiated."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    pytest.importorskip("trl", reason="needs TRL: pip install trl")
    from trl.trainer import grpo_trainer

    return grpo_trainer


@pytest.fixture
def log_probs():
    rng = np.random.default_rng(7)
    old = -rng.exponential(1.0, MASK.shape)
    return old + rng.normal(0, 0.4, MASK.shape), old, old + rng.normal(0, 0.4, MASK.shape)


def fake_trainer(log_probs, *, delta=None, entropy=1.0, **changes):
    """What the loss looks at of a trainer, and nothing else."""
    import torch

    new = torch.tensor(log_probs[0])
    state = {
        "_entropy_bonus_enabled": False,
        "_get_per_token_logps_and_entropies": lambda *_, **__: (new, torch.full_like(new, entropy), None),
        "_metrics": defaultdict(lambda: defaultdict(list)),
        "accelerator": SimpleNamespace(
            num_processes=1, sync_gradients=True, reduce=lambda x, reduction: x, gather=lambda x: x
        ),
        "args": SimpleNamespace(delta=delta, use_bias_correction_kl=False),
        "aux_loss_enabled": False,
        "beta": 0.0,
        "current_gradient_accumulation_steps": 1,
        "epsilon_high": 0.28,
        "epsilon_low": 0.2,
        "importance_sampling_level": "token",
        "loss_type": "bnpo",
        "max_completion_length": MAX_LENGTH,
        "model": SimpleNamespace(training=False),
        "off_policy_mask_threshold": None,
        "top_entropy_quantile": 1.0,
        "use_vllm": False,
    }
    return SimpleNamespace(**(state | changes))


def loss_of(module, fake, log_probs):
    """What TRL's trainer computes."""
    import torch

    ids, mask = torch.zeros(MASK.shape, dtype=torch.long), torch.tensor(MASK)
    inputs = {
        "prompt_ids": ids[:, :1],
        "prompt_mask": torch.ones_like(ids[:, :1]),
        "completion_ids": ids,
        "completion_mask": mask,
        "advantages": torch.tensor(ADVANTAGES),
        "old_per_token_logps": torch.tensor(log_probs[1]),
        "ref_per_token_logps": torch.tensor(log_probs[2]),
        "num_items_in_batch": mask.sum(),
    }
    return float(module.GRPOTrainer._compute_loss(fake, fake.model, inputs))


def trl_loss(module, log_probs, **changes):
    return loss_of(module, fake_trainer(log_probs, **changes), log_probs)


@pytest.mark.parametrize(
    ("loss_type", "mode"),
    [
        ("grpo", "seq-mean-token-mean"),
        ("bnpo", "token-mean"),
        ("dapo", "token-mean"),
        ("luspo", "seq-mean-token-sum"),
        ("dr_grpo", "seq-mean-token-sum-norm"),
    ],
)
def test_clip_and_aggregation(trainer, log_probs, loss_type, mode):
    new, old, _ = log_probs
    losses = -clipped_objective(np.exp(new - old), ADVANTAGES[:, np.newaxis])
    length = {"max_length": MAX_LENGTH} if mode.endswith("norm") else {}
    theirs = trl_loss(trainer, log_probs, loss_type=loss_type)
    assert aggregate_loss(losses, MASK, mode, **length) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("low_and_high", [(0.2, 0.2), (0.1, 0.4)])
def test_clip_fraction(trainer, log_probs, low_and_high):
    low, high = low_and_high
    new, old, _ = log_probs
    fake = fake_trainer(log_probs, epsilon_low=low, epsilon_high=high)
    loss_of(trainer, fake, log_probs)
    ours = clip_fraction(np.exp(new - old), ADVANTAGES[:, np.newaxis], MASK, low=low, high=high)
    assert fake._metrics["eval"]["clip_ratio/region_mean"] == [pytest.approx(ours)]
    assert ours > 0


def test_dual_clip(trainer, log_probs):
    new, old, _ = log_probs
    far = (new + 1.5, old, old)
    losses = -clipped_objective(np.exp(far[0] - old), ADVANTAGES[:, np.newaxis], dual=3.0)
    theirs = trl_loss(trainer, far, delta=3.0)
    assert aggregate_loss(losses, MASK) == pytest.approx(theirs)
    assert theirs != pytest.approx(trl_loss(trainer, far))


def test_kl(trainer, log_probs):
    new, old, reference = log_probs
    losses = -clipped_objective(np.exp(new - old), ADVANTAGES[:, np.newaxis])
    losses += 0.04 * kl_k3(new, reference)
    assert aggregate_loss(losses, MASK) == pytest.approx(trl_loss(trainer, log_probs, beta=0.04))


def test_gspo(trainer, log_probs):
    new, old, _ = log_probs
    objective = gspo_objective(new, old, ADVANTAGES, MASK, low=0.03, high=0.04)
    changes = {"loss_type": "grpo", "importance_sampling_level": "sequence"}
    theirs = trl_loss(trainer, log_probs, epsilon_low=0.03, epsilon_high=0.04, **changes)
    assert -objective.mean() == pytest.approx(theirs)


def test_advantages(trainer):
    """As in ``GRPOTrainer._generate_and_score_completions``, with TRL's own deviation."""
    import torch

    rewards = torch.tensor([[1.0, 0, 0, 1], [0.2, 0.4, torch.nan, 0.9], [0.0, 1, 0, 0]], dtype=torch.float64)
    centred = rewards - torch.nanmean(rewards, dim=1, keepdim=True)
    theirs = torch.nan_to_num(centred / (trainer.nanstd(rewards, dim=1, keepdim=True) + 1e-4), nan=0.0)
    assert grpo_advantages(rewards.numpy(), ddof=1, eps=1e-4) == pytest.approx(theirs.numpy())


def test_overlong_penalty(trainer):
    from trl.rewards import get_soft_overlong_punishment

    lengths = [0, 79, 80, 81, 90, 99, 100, 101, 500]
    theirs = get_soft_overlong_punishment(100, 20)(completion_ids=[[1] * length for length in lengths])
    assert overlong_penalty(lengths, limit=100, margin=20).tolist() == pytest.approx(theirs)


def test_adaptive_entropy(trainer, log_probs):
    ours = EntropyController(step=0.03, greatest=0.1)
    fake = fake_trainer(log_probs, _entropy_bonus_enabled=True, use_adaptive_entropy=True)
    fake.model.training = True
    fake.entropy_coef, fake._entropy_window_stats, fake._last_world_entropy = 0.0, None, 0.0
    fake.args.entropy_target, fake.args.entropy_coef_delta = ours.target, ours.step
    fake.args.entropy_coef_min, fake.args.entropy_coef_max = ours.least, ours.greatest
    for entropy in (0.15, 0.1, 0.05, 0.19, 0.0, 0.3, 0.21, 0.1, 0.5, 0.5, 0.5):
        ours.update(entropy)
        fake._get_per_token_logps_and_entropies = fake_trainer(
            log_probs, entropy=entropy
        )._get_per_token_logps_and_entropies
        loss_of(trainer, fake, log_probs)
        assert fake.entropy_coef == pytest.approx(ours.coefficient)
