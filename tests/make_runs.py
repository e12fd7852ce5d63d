"""Makes a small benchmark and folders of runs such as lm_eval leaves, for the readers' tests."""

import json

import yaml

from lm_microbench.benchmark import BENCHMARK_FILE, ITEMS_FILE, Benchmark
from lm_microbench.items import ItemTable

LEAVES = ("toy_a", "toy_a_cot", "toy_b")
N = 4
DATE = "2026-01-0{}T10-00-00.000000"


def document(leaf, n):
    """Return document n of a leaf task; documents 2 and 3 of toy_b are copies of one another."""
    n = 2 if (leaf, n) == ("toy_b", 3) else n
    return {"question": f"What of {leaf} is {n}?", "options": [f"one {n}", f"two {n}"], "answer": 0}


def make_benchmark(folder, n=N):
    """Write a benchmark of three leaf tasks with n documents each."""
    folder.mkdir(parents=True, exist_ok=True)
    described = {
        "base": "toy",
        "subtask": {"task_prefix": "toy_"},
        "item": {"hash": ["question"]},
        "content": ["question", "options", "answer"],
        "metric": "acc",
    }
    (folder / BENCHMARK_FILE).write_text(yaml.safe_dump(described))
    benchmark = Benchmark.read(folder / BENCHMARK_FILE)
    locations = [
        x for leaf in LEAVES for x in benchmark.locate(leaf, [document(leaf, i) for i in range(n)])
    ]
    ItemTable.of(locations).save(folder / ITEMS_FILE)
    return benchmark


def score(leaf, n, shift=0):
    """Return a 0/1 score that differs between documents (copies have one), and between shifts."""
    n = 2 if (leaf, n) == ("toy_b", 3) else n
    return float((LEAVES.index(leaf) + n * (n + 1) // 2 + shift) % 2)


def row(leaf, n, acc=None, **changes):
    """Return one sample row as lm_eval 0.4.13 writes it."""
    doc = document(leaf, n)
    prompt = f"Q: {doc['question']}\nA:"
    acc = score(leaf, n) if acc is None else acc
    better = "-1.0" if acc == 1 else "-3.0"
    return {
        "doc_id": n,
        "doc": doc,
        "target": "0",
        "arguments": {
            f"gen_args_{i}": {"arg_0": prompt, "arg_1": f" {choice}"}
            for i, choice in enumerate(doc["options"])
        },
        "resps": [[[better, "False"]], [["-2.0", "False"]]],
        "filtered_resps": [[better, "False"], ["-2.0", "False"]],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "0",
        "acc": acc,
    } | changes


def micro_row(leaf, n, item, **changes):
    """Return one sample row of a micro-task."""
    made = row(leaf, n, **changes)
    note = {"item": item, "weight": 0.5, "task": leaf, "position": n}
    return made | {"doc": made["doc"] | {"lm_microbench": note}}


def rows_of(leaf, n=N, shift=0):
    """Return all rows of a leaf task."""
    return [row(leaf, i, score(leaf, i, shift)) for i in range(n)]


def results(model="org/m", tasks=LEAVES, limit=None, n=N, **changes):
    """Return the content of a results file."""
    return {
        "results": {task: {"acc,none": 0.5, "acc_stderr,none": "N/A"} for task in tasks},
        "configs": {task: {"task": task, "num_fewshot": 2} for task in tasks},
        "versions": dict.fromkeys(tasks, 1.0),
        "n-shot": dict.fromkeys(tasks, 2),
        "n-samples": {
            task: {"original": n, "effective": n if limit is None else limit} for task in tasks
        },
        "config": {
            "model": "hf",
            "model_args": {"pretrained": model, "dtype": "float32"},
            "limit": limit,
            "gen_kwargs": {},
        },
        "model_name": model,
        "chat_template": None,
        "system_instruction": None,
        "fewshot_as_multiturn": None,
    } | changes


def write_lines(path, rows):
    """Write rows as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(x, ensure_ascii=False) + "\n" for x in rows]
    path.write_bytes("".join(lines).encode("utf-8", "surrogatepass"))
    return path


def make_run(root, model="org/m", day=1, files=None, content=None, name=None):
    """Write one run; `files` maps a task to its rows, `content` is the results file's."""
    folder = root / (name or model.replace("/", "__"))
    date = DATE.format(day)
    files = {leaf: rows_of(leaf) for leaf in LEAVES} if files is None else files
    for task, rows in files.items():
        write_lines(folder / f"samples_{task}_{date}.jsonl", rows)
    content = results(model, tuple(files)) if content is None else content
    if content:
        (folder / f"results_{date}.json").write_text(json.dumps(content))
    return folder
