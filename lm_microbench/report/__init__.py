"""What people read: tables and sentences in points (x 100); only `numbers` makes points."""

from lm_microbench.report.comparison import (
    bins_table,
    comparison_json,
    comparison_made,
    comparison_sentences,
    comparison_tables,
    comparison_words,
    models_table,
    pairs_table,
    rank_models,
    summary_table,
)
from lm_microbench.report.history import history_lines
from lm_microbench.report.numbers import Table, brief, percent, points
from lm_microbench.report.plan import (
    plan_matrices,
    plan_sentences,
    plan_table,
    size_sentences,
)
from lm_microbench.report.study import study_made, study_sentences, study_table, study_words
from lm_microbench.report.tasks import tasks_table

__all__ = [
    "Table", "bins_table", "brief", "comparison_json", "comparison_made", "comparison_sentences",
    "comparison_tables", "comparison_words", "history_lines", "models_table", "pairs_table",
    "percent", "plan_matrices", "plan_sentences", "plan_table", "points", "rank_models",
    "size_sentences", "study_made", "study_sentences", "study_table", "study_words",
    "summary_table", "tasks_table",
]  # fmt: skip
