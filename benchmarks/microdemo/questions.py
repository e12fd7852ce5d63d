"""Write the questions of the demo benchmark: ``python benchmarks/microdemo/questions.py``.

Every question is the start of a sentence and four ways to end it, of which one is right. The
texts come from the templates below and the lists in ``words.py``; the same seed always gives the
same questions in the same order.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from words import CAPITALS, COLORS, NAMES, OBJECTS, OPPOSITES, WORDS

SEED = 20260
N_TEST = 100
N_FEWSHOT = 4
N_CHOICES = 4
DATA = Path(__file__).resolve().parents[2] / "tasks" / "microdemo" / "data"

T = TypeVar("T")

Draft = tuple[str, str, list[str]]
"""Question text, the right ending, and the wrong endings."""

SCHEMA = pa.schema(
    [
        ("question_id", pa.int64()),
        ("subtask", pa.string()),
        ("question", pa.string()),
        ("choices", pa.list_(pa.string())),
        ("answer", pa.int64()),
    ]
)


def neighbours(values: Sequence[T], place: int, reach: int) -> list[T]:
    """Return the values at most `reach` places before or after a place, without the one there."""
    return [*values[max(0, place - reach) : place], *values[place + 1 : place + reach + 1]]


def opposite(rng: random.Random) -> Draft:
    """Return a question on the opposite of a word, that word and others like it being wrong."""
    pairs = [pair.split("-") for pair in OPPOSITES.split()]
    place = rng.randrange(len(pairs))
    word, right = rng.sample(pairs[place], 2)
    near = [w for pair in neighbours(pairs, place, 2) for w in pair]
    return f"The opposite of {word} is", right, [word, *rng.sample(near, N_CHOICES - 2)]


def capital(rng: random.Random) -> Draft:
    """Return a question on the country of a capital, its neighbours in the list being wrong."""
    countries = list(CAPITALS)
    place = rng.randrange(len(countries))
    wrong = rng.sample(neighbours(countries, place, 3), N_CHOICES - 1)
    return f"{CAPITALS[countries[place]]} is the capital of", countries[place], wrong


def letter(rng: random.Random) -> Draft:
    """Return a question on the first or last letter of a word."""
    word = rng.choice([w for w in WORDS.split() if len(set(w)) >= N_CHOICES])
    where, right = rng.choice([("starts", word[0]), ("ends", word[-1])])
    wrong = rng.sample(sorted(set(word) - {right}), N_CHOICES - 1)
    return f"The word {word} {where} with", right.upper(), [w.upper() for w in wrong]


def recall(rng: random.Random) -> Draft:
    """Return a question on who has what; two to four people are named, then one of them again."""
    n_people = rng.choice([2, 3, 4])
    names = rng.sample(NAMES.split(), n_people)
    things = rng.sample(OBJECTS.split(), N_CHOICES)
    told = ", ".join(f"{n}: {t}" for n, t in zip(names, things, strict=False))
    asked = rng.randrange(n_people)
    wrong = things[:asked] + things[asked + 1 :]
    return f"{told}, {names[asked]}:", things[asked], wrong


def pattern(rng: random.Random) -> Draft:
    """Return a question on the next word of a repeating row of colors."""
    cycle = rng.sample(COLORS.split(), rng.choice([2, 3, 4]))
    shown = rng.randint(len(cycle) + 1, 2 * len(cycle))
    row = " ".join(cycle[i % len(cycle)] for i in range(shown))
    right = cycle[shown % len(cycle)]
    pool = [c for c in cycle if c != right]
    pool += rng.sample(sorted(set(COLORS.split()) - set(cycle)), N_CHOICES)
    return f"Repeat: {row}", right, pool[: N_CHOICES - 1]


def addition(rng: random.Random) -> Draft:
    """Return a question on a sum below 30; the wrong ones have the same number of tens."""
    total = rng.randint(3, 29)
    first = rng.randint(1, total - 1)
    tens = total - total % 10
    wrong = [str(n) for n in range(max(tens, 1), tens + 10) if n != total]
    return f"{first} plus {total - first} is", str(total), rng.sample(wrong, N_CHOICES - 1)


SUBTASKS: dict[str, Callable[[random.Random], Draft]] = {
    "opposite": opposite,
    "capital": capital,
    "addition": addition,
    "letter": letter,
    "recall": recall,
    "pattern": pattern,
}


def draw(subtask: str, count: int, seed: int) -> list[Draft]:
    """Return `count` drafts of one subtask, no two with the same question text.

    Raises
    ------
    ValueError
        If the template cannot make that many (it is tried 100 times per question).
    """
    rng = random.Random(f"{seed}/{subtask}")
    drafts: dict[str, Draft] = {}
    for _ in range(100 * count):
        draft = SUBTASKS[subtask](rng)
        drafts.setdefault(draft[0], draft)
        if len(drafts) == count:
            return list(drafts.values())
    raise ValueError(f"{subtask}: only {len(drafts)} questions of {count}; add words to words.py")


def place(drafts: list[Draft], subtask: str, seed: int) -> list[dict[str, Any]]:
    """Return rows in which each position holds the right answer equally often."""
    rng = random.Random(f"{seed}/{subtask}/positions")
    positions = [i % N_CHOICES for i in range(len(drafts))]
    rng.shuffle(positions)
    rows = []
    for (question, right, wrong), answer in zip(drafts, positions, strict=True):
        rng.shuffle(wrong)
        choices = [*wrong[:answer], right, *wrong[answer:]]
        row = {"subtask": subtask, "question": question, "choices": choices, "answer": answer}
        rows.append(row)
    return rows


def generate(seed: int = SEED) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the `test` and `fewshot` splits, numbered through both."""
    splits: dict[str, list[dict[str, Any]]] = {"test": [], "fewshot": []}
    for subtask in SUBTASKS:
        drafts = draw(subtask, N_FEWSHOT + N_TEST, seed)
        splits["fewshot"] += place(drafts[:N_FEWSHOT], subtask, seed)
        splits["test"] += place(drafts[N_FEWSHOT:], subtask, seed)
    for number, row in enumerate(splits["test"] + splits["fewshot"]):
        row["question_id"] = number
    return splits


def write(folder: Path, seed: int = SEED) -> list[Path]:
    """Return the Parquet files that had to change; files that hold the same rows are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for split, rows in generate(seed).items():
        path = folder / f"{split}.parquet"
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
        if path.exists() and pq.read_table(path).equals(table):
            continue
        pq.write_table(table, path)
        written.append(path)
    return written


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    changed = write(target)
    print("\n".join(f"wrote {path}" for path in changed) or "nothing to change")
