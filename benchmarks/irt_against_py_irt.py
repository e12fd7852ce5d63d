"""Compare `lm_microbench.irt` with py-irt: held-out log-likelihood and seconds.

Run, where py-irt is installed (it needs torch and pyro; the project does not depend on it):
`python benchmarks/irt_against_py_irt.py GPQA_CSV [--epochs 2000] [--learning-rate 0.1]
[--dimensions 10] [--large]`

A tenth of the answers is hidden from both; each fits a multidimensional two-parameter logistic
model to the rest and predicts the hidden ones. py-irt runs its `multidim_2pl` with its defaults
(2,000 epochs, learning rate 0.1); of its last and its best parameters the better ones count.
Matrices: the public GPQA one (all 420 models), and one of 300 x 600 drawn from a model of two
dimensions, for which the log-likelihood under the true parameters is shown too. `--large` times
the fit of 300 x 6,012 answers in 10 dimensions, without py-irt.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lm_microbench import irt


def log_likelihood(answers: np.ndarray, logits: np.ndarray) -> float:
    """Return the mean log-likelihood of the known answers."""
    known = ~np.isnan(answers)
    z = np.where(answers[known] > 0.5, logits[known], -logits[known])
    return float(-np.logaddexp(0, -z).mean())


def drawn(n_models: int, n_items: int, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return answers drawn from a two-parameter logistic model, and the true logits."""
    rng = np.random.default_rng(0)
    falling = 0.5 ** np.arange(dimensions)
    logits = rng.normal(size=(n_models, dimensions)) @ (
        rng.lognormal(0, 0.3, (n_items, dimensions)) * falling
    ).T - rng.normal(size=n_items)
    return (rng.random(logits.shape) < irt.logistic(logits)).astype(float), logits


def ours(answers: np.ndarray, dimensions: int) -> list[np.ndarray]:
    """Return the logits that our fit predicts."""
    model = irt.fit(answers, dimensions)
    return [model.ability.mean @ model.items.discrimination.T - model.items.difficulty]


def theirs(answers: np.ndarray, dimensions: int, epochs: int, rate: float) -> list[np.ndarray]:
    """Return the logits that py-irt predicts with its last and with its best parameters."""
    from py_irt.config import IrtConfig
    from py_irt.training import IrtModelTrainer

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.jsonlines"
        lines = [
            {
                "subject_id": f"{m:04d}",
                "responses": {f"{i:05d}": int(x) for i, x in enumerate(row) if not np.isnan(x)},
            }
            for m, row in enumerate(answers)
        ]
        path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
        config = IrtConfig(
            model_type="multidim_2pl", dims=dimensions, epochs=epochs, lr=rate, seed=0
        )
        trainer = IrtModelTrainer(data_path=path, config=config, verbose=False)
        try:
            trainer.train(device="cpu")
        except ValueError:  # torch's word for a parameter that has become NaN
            print("  py-irt diverged; its best parameters before that:")
            return [_logits(trainer.best_params)]
    return [_logits(found) for found in (trainer.last_params, trainer.best_params)]


def _logits(found: dict) -> np.ndarray:
    ability, slope, place = (np.array(found[k]) for k in ("ability", "disc", "diff"))
    models = np.argsort([found["subject_ids"][i] for i in range(len(ability))])
    items = np.argsort([found["item_ids"][i] for i in range(len(slope))])
    return ability[models] @ slope[items].T - (slope * place).sum(axis=1)[items]


def compare(
    name: str, answers: np.ndarray, dimensions: int, epochs: int, learning_rate: float
) -> None:
    """Print both programs' held-out log-likelihood and seconds on one matrix."""
    hidden = np.random.default_rng(1).random(answers.shape) < 0.1
    train, test = np.where(hidden, np.nan, answers), np.where(hidden, answers, np.nan)
    rate = np.nanmean(train, axis=0)
    base = np.log((rate + 1e-3) / (1 - rate + 1e-3))
    print(f"{name}, {answers.shape[0]} x {answers.shape[1]}, {dimensions} dimensions")
    print(f"  item means    {log_likelihood(test, base + np.zeros_like(answers)):.4f}")
    programs: dict[str, Callable[[], list[np.ndarray]]] = {
        "lm_microbench": lambda: ours(train, dimensions),
        "py-irt": lambda: theirs(train, dimensions, epochs, learning_rate),
    }
    seconds = {}
    for program, work in programs.items():
        start, cpu = time.perf_counter(), time.process_time()
        found = work()
        wall, seconds[program] = time.perf_counter() - start, time.process_time() - cpu
        best = max(log_likelihood(test, logits) for logits in found)
        print(f"  {program:13} {best:.4f}  {wall:.1f} s, {seconds[program]:.1f} s of CPU")
    print(f"  ratio of CPU seconds {seconds['py-irt'] / seconds['lm_microbench']:.0f}")


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gpqa", type=Path, nargs="?", help="CSV: item, subtask, one column a model")
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--dimensions", type=int, default=10)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    settings = options.dimensions, options.epochs, options.learning_rate
    if options.gpqa:
        table = np.genfromtxt(options.gpqa, delimiter=",", skip_header=1, dtype=float)
        compare("GPQA", table[:, 2:].T, *settings)
        answers, logits = drawn(300, 600, 2)
        compare("drawn", answers, *settings)
        hidden = np.random.default_rng(1).random(answers.shape) < 0.1
        print(f"  true model    {log_likelihood(np.where(hidden, answers, np.nan), logits):.4f}")
    if options.large:
        answers, _ = drawn(300, 6012, 10)
        start, cpu = time.perf_counter(), time.process_time()
        irt.fit(answers, 10)
        wall, used = time.perf_counter() - start, time.process_time() - cpu
        print(f"300 x 6012, 10 dimensions: {wall:.1f} s, {used:.1f} s of CPU")


if __name__ == "__main__":
    main()
