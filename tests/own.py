"""A small task of one's own with the logs of eight models' full runs, for tests."""

import json

import yaml
from harness import LETTERS, StubLM, _digest
from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

TASK = "mytask"
N_ITEMS = 60
CONFIG = {
    "task": TASK,
    "dataset_path": "json",
    "output_type": "multiple_choice",
    "test_split": "test",
    "doc_to_text": "Question: {{question}}\nAnswer:",
    "doc_to_choice": "choices",
    "doc_to_target": "answer",
    "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
}


def make_task(folder):
    """Write the task's YAML and its data into a folder."""
    folder.mkdir(parents=True)
    lines = [
        {
            "question": f"What comes after {n} {'apples' if n % 2 else 'pears'}?",
            "choices": [f"{n + k} of them" for k in (1, 2, 3, 4)],
            "answer": 0,
            "topic": "apples" if n % 2 else "pears",
            "number": n,
        }
        for n in range(N_ITEMS)
    ]
    data = folder / "mytask.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = {**CONFIG, "dataset_kwargs": {"data_files": {"test": str(data)}}}
    (folder / "mytask.yaml").write_text(yaml.safe_dump(config))


class Skilled(StubLM):
    """Prefers the right choice of a question the more often, the greater its skill."""

    def __init__(self, skill):
        super().__init__()
        self.skill = skill

    def loglikelihood(self, requests, disable_tqdm=False):
        found = []
        for request in requests:
            prompt, choice = request.args
            luck = _digest(self.skill, prompt) / 256**6
            right = request.doc["choices"][0] == choice.strip()
            found.append((-1.0 if right and luck < self.skill else -2.0 - _digest(choice) / 256**6,
                          False))  # fmt: skip
        return found


def make_runs(tasks, runs, n_models=8):
    """Write the logs of full runs, as `lm_eval --log_samples --output_path` does."""
    manager = TaskManager(include_defaults=False, include_path=str(tasks))
    for n in range(n_models):
        tracker = EvaluationTracker(output_path=str(runs))
        results = simple_evaluate(
            Skilled(0.3 + 0.08 * n), tasks=[TASK], task_manager=manager, bootstrap_iters=0,
            log_samples=True, evaluation_tracker=tracker,
        )  # fmt: skip
        samples = results.pop("samples")
        tracker.general_config_tracker.model_name = f"org/model-{LETTERS[n]}"
        tracker.general_config_tracker.model_name_sanitized = f"org__model-{LETTERS[n]}"
        tracker.save_results_aggregated(results=results, samples=samples)
        tracker.save_results_samples(task_name=TASK, samples=samples[TASK])
