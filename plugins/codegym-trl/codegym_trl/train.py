"""A training run, from configuration to report: TRL's GRPO, rewarded by real execution."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codegym.errors import ConfigError
from codegym.plugins import NamedPlugins
from codegym.rewards import Scorer, resolve_rewards
from codegym.sandbox import Sandbox, make_sandbox
from codegym_trl.columns import to_dataset
from codegym_trl.config import TrainConfig, unknown_name
from codegym_trl.evaluation import Evaluation, Judge
from codegym_trl.models import TINY, check_model, load_model, prepare_model
from codegym_trl.splits import Splits, load_splits

if TYPE_CHECKING:
    from rich.progress import Progress
    from trl import GRPOConfig

    from codegym_trl.recording import JsonLines, Metrics

__all__ = ["train"]

PACKAGES: Final = ("codegym", "codegym_trl", "trl", "transformers", "torch")
"""Whose versions a run depends on."""


def train(config: TrainConfig) -> dict[str, Any]:
    """Train a model, and leave everything that came of it in ``config.output``.

    Writes ``metrics.jsonl`` and ``samples.jsonl`` while it runs, then the model (``model/``),
    ``summary.json`` and ``report.html``.

    Args:
        config: The run.

    Returns:
        What is in ``summary.json``: held-out pass rate before and after, verdicts, seconds, versions,
        configuration.

    Raises:
        ConfigError: The configuration names a model that does not exist, or settings that make no sense
            together.
        NotFoundError: It names a dataset, reward or sandbox that nobody registered.
    """
    check_model(config.model)
    resolve_rewards(config.rewards)
    sandbox = make_sandbox(config.sandbox, config.workers)
    splits = load_splits(config)
    output = Path(config.output)
    output.mkdir(parents=True, exist_ok=True)
    with _quiet(), _progress() as progress, contextlib.ExitStack() as stack:
        stack.callback(sandbox.close)
        return _Run(config, splits, sandbox, output, progress).run(stack)


class _Run:
    """The phases of one run, in order."""

    def __init__(
        self, config: TrainConfig, splits: Splits, sandbox: Sandbox, output: Path, progress: Progress
    ) -> None:
        self.config, self.splits, self.sandbox = config, splits, sandbox
        self.output, self.progress = output, progress
        self.seconds: dict[str, float] = {}

    def run(self, stack: contextlib.ExitStack) -> dict[str, Any]:
        """All phases; what they open is closed with `stack`."""
        from codegym_trl.recording import JsonLines, Metrics

        metrics = Metrics(
            stack.enter_context(JsonLines(self.output / "metrics.jsonl")),
            self._bar("GRPO", self.config.steps),
        )
        samples = stack.enter_context(JsonLines(self.output / "samples.jsonl"))
        with self._timed("warm_start"):
            model, tokenizer = self._model()
        judge = self._judge(stack, tokenizer)
        with self._timed("evaluation"):
            before = judge.evaluate(model, tokenizer, self.splits.test)
        with self._timed("grpo"):
            step = self._train(stack, model, tokenizer, judge, metrics, samples)
        with self._timed("evaluation"):
            after = judge.evaluate(model, tokenizer, self.splits.test)
        for phase, number, evaluation in (("before", 0, before), ("after", step, after)):
            metrics.add(number, phase, evaluation.figures())
            for sample in evaluation.samples:
                samples.write({"step": number, "phase": phase, **sample})
        model.save_pretrained(self.output / "model")
        tokenizer.save_pretrained(self.output / "model")
        return self._conclude(before, after, metrics, step)

    def _model(self) -> tuple[Any, Any]:
        import torch

        # For small matrices one thread is best: several wait for each other, on a busy machine for ages. A
        # larger model gets all cores but one, which judges.
        cores = os.cpu_count() or 1
        torch.set_num_threads(self.config.threads or (1 if self.config.model == TINY else max(1, cores - 1)))
        bar = self._bar("Warm start", self.config.warm_start.steps) if self.config.model == TINY else None
        return load_model(prepare_model(self.config, self.output, bar))

    def _judge(self, stack: contextlib.ExitStack, tokenizer: Any) -> Judge:
        return Judge(
            scorer=stack.enter_context(Scorer("all_passed", sandbox=self.sandbox)),
            conversational=tokenizer.chat_template is not None,
            system=self.config.system,
            max_tokens=max_tokens(self.config),
        )

    def _train(
        self,
        stack: contextlib.ExitStack,
        model: Any,
        tokenizer: Any,
        judge: Judge,
        metrics: Metrics,
        samples: JsonLines,
    ) -> int:
        """Train, and give the model the weights that did best on the validation split; returns their step."""
        from transformers import PrinterCallback
        from trl import GRPOTrainer

        from codegym_trl.recording import RecordedReward, Selection

        config = self.config
        selection = Selection(
            config.evaluate_every,
            lambda model: judge.evaluate(model, tokenizer, self.splits.validation),
            metrics,
        )
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            reward_funcs=stack.enter_context(
                RecordedReward(samples, rewards=dict(config.rewards), sandbox=self.sandbox)
            ),
            args=grpo_config(config, str(self.output)),
            train_dataset=to_dataset(
                self.splits.train, conversational=judge.conversational, system=config.system
            ),
            callbacks=[metrics, selection] if config.evaluate_every else [metrics],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        if not config.evaluate_every:
            return config.steps
        selection.restore(model)
        return selection.step

    def _conclude(self, before: Evaluation, after: Evaluation, metrics: Metrics, step: int) -> dict[str, Any]:
        """Write the summary and the report."""
        from codegym_trl.report import write_training_report

        summary = {
            "before": before.figures(),
            "after": after.figures(),
            "selected_step": step,
            "tasks": {name: len(getattr(self.splits, name)) for name in ("train", "validation", "test")},
            "seconds": {name: round(value, 1) for name, value in self.seconds.items()},
            "versions": {name: importlib.import_module(name).__version__ for name in PACKAGES},
            "provenance": provenance(self.config),
            "config": dataclasses.asdict(self.config),
        }
        (self.output / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        write_training_report(self.output / "report.html", summary, metrics.rows, before, after)
        return summary

    def _bar(self, name: str, total: int) -> Callable[[int, float | None], None]:
        """A progress bar; the function moves it to a step and shows a figure beside it."""
        bar = self.progress.add_task(name, total=total, figure="", start=False)

        def move(step: int, figure: float | None) -> None:
            self.progress.start_task(bar)
            self.progress.update(bar, completed=step, figure="" if figure is None else f"{figure:.3f}")

        return move

    @contextlib.contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started


def provenance(config: TrainConfig) -> dict[str, str]:
    """What the plugins that the run names say of what its results depend on."""
    found = NamedPlugins(config.plugins).call("codegym_provenance") or []
    return {name: value for each in reversed(found) for name, value in each.items()}


def max_tokens(config: TrainConfig) -> int:
    """Where a completion is cut off, with the default worked out."""
    return config.max_tokens or (64 if config.model == TINY else 256)


def grpo_config(config: TrainConfig, output: str) -> GRPOConfig:
    """TRL's configuration of a run.

    Raises:
        ConfigError: ``config.grpo`` names a setting that TRL does not have, or that it refuses.
    """
    import torch
    from trl import GRPOConfig

    known = [field.name for field in dataclasses.fields(GRPOConfig)]
    for name in config.grpo:
        if name not in known:
            raise ConfigError(unknown_name(name, known))
    cuda = torch.cuda.is_available()
    settings: dict[str, Any] = {
        "output_dir": output,
        "max_steps": config.steps,
        "learning_rate": config.learning_rate or (2e-4 if config.model == TINY else 1e-5),
        "per_device_train_batch_size": config.batch,
        "num_generations": config.generations,
        "max_completion_length": max_tokens(config),
        "temperature": config.temperature,
        "seed": config.seed,
        "use_cpu": not cuda,
        "bf16": cuda and torch.cuda.is_bf16_supported(),
        "dataloader_pin_memory": cuda,
        "gradient_checkpointing": False,
        "adam_beta2": 0.95,
        "beta": 0.0,
        "loss_type": "dapo",
        "top_k": 0,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": 5,
        "logging_steps": 1,
        "disable_tqdm": True,
        "report_to": "none",
        "save_strategy": "no",
    }
    try:
        return GRPOConfig(**{**settings, **config.grpo})
    except (TypeError, ValueError) as error:
        raise ConfigError(f"TRL refuses the configuration: {error}") from error


def _progress() -> Progress:
    """Bars on a terminal, silence elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        "[progress.description]{task.description:10}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(
        *columns, TextColumn("{task.fields[figure]}"), console=console, disable=not console.is_terminal
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep libraries from writing over the progress bars, or into a pipe."""
    import datasets
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    datasets.disable_progress_bars()
    try:
        with warnings.catch_warnings():
            # transformers warns of its own deprecated names, which TRL still uses
            warnings.filterwarnings("ignore", category=FutureWarning, module=r"transformers\.")
            yield
    finally:
        logging.set_verbosity(verbosity)
        datasets.enable_progress_bars()
        if bars:
            logging.enable_progress_bar()
