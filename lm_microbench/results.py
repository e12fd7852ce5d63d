"""StudyResult: what a study found, as tidy tables that can be computed again from its trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lm_microbench import files
from lm_microbench.pairs import LEVEL, MIN_PAIRS, TOLERANCE
from lm_microbench.resampling import Resampled, interval, resample
from lm_microbench.study_folder import SETTINGS_FILE, TRIALS_FILE, read_settings, write_settings
from lm_microbench.trial_table import KEYS, Cell, cells_of, read_trials

__all__ = ["KEYS", "NORMAL_95", "THRESHOLD", "Cell", "StudyResult"]

THRESHOLD = 0.02
NORMAL_95 = 1.96

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StudyResult:
    """What a study found.

    Parameters
    ----------
    table : pyarrow.Table
        One row for each trial, method, number of sources, size, reference and target: `score` is
        the target's accuracy on the reference items, `estimate` what the subset says of it.
    settings : dict
        How the study was made.
    notes : tuple of str
        What a reader of the figures must know.
    n_kept : int
        Trials that an earlier, interrupted run had left.
    """

    table: pa.Table
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    n_kept: int = 0
    _memory: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return len(self.table.column("trial").unique())

    def trials(self) -> pd.DataFrame:
        """Return one row for each trial, method, n_sources, size, reference and target."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def mdad(self, level: float = LEVEL, min_pairs: int = MIN_PAIRS) -> pd.DataFrame:
        """Return the minimum detectable ability differences, as fractions.

        Columns: method, n_sources, size, reference, `mdad` with its 95 % interval `mdad_low`,
        `mdad_high` (NaN: the level is never reached), the same of `mdad_sustained`, `n_thick_bins`
        (bins of at least `min_pairs` pairs; with none, no MDAD is sustained), `share_below_mdad`
        (share of the pairs that are closer than the MDAD; NaN where it is), n_pairs, n_trials.
        """
        check_reading(level, THRESHOLD)
        rows = []
        for cell in self.cells:
            r = self._resampled(cell)
            row: dict[str, Any] = dict(zip(KEYS, cell.key, strict=True))
            row["mdad"] = r.counts.mdad(level)[0]
            row["mdad_low"], row["mdad_high"] = _floats(
                interval(r.count_draws.mdad(level), never=True)
            )
            row["mdad_sustained"] = r.counts.mdad_sustained(level, min_pairs)[0]
            row["mdad_sustained_low"], row["mdad_sustained_high"] = _floats(
                interval(r.count_draws.mdad_sustained(level, min_pairs), never=True)
            )
            row["n_thick_bins"] = int((r.counts.pairs >= min_pairs).sum())
            row["share_below_mdad"] = r.counts.share_within(float(row["mdad"]))[0]
            rows.append(row | {"n_pairs": int(r.counts.pairs.sum()), "n_trials": len(cell.score)})
        return _frame(rows)

    def estimation(self, threshold: float = THRESHOLD) -> pd.DataFrame:
        """Return how well scores and ranks are estimated, as fractions.

        Columns: method, n_sources, size, reference; with 95 % intervals `_low` and `_high`:
        `error` (mean absolute), `kendall_tau` (tau-b), `spearman`, `agreement` (share of pairs
        ranked rightly), `wrong_within` (share of the pairs closer than `threshold` that would be
        ranked wrongly); `threshold`, `share_within` (share of pairs closer than it), `bias` (mean
        of estimate - score), `standard_error` (mean of those the subsets state; NaN: none),
        `covered` (share of scores within 1.96 standard errors of their estimate), n_trials.
        """
        check_reading(LEVEL, threshold)
        rows = []
        for cell in self.cells:
            r = self._resampled(cell)
            row: dict[str, Any] = dict(zip(KEYS, cell.key, strict=True))
            draws = r.mean_draws | {
                "agreement": r.count_draws.total_agreement(),
                "wrong_within": r.count_draws.wrong_within(threshold),
            }
            values = r.means | {
                "agreement": r.counts.total_agreement()[0],
                "wrong_within": r.counts.wrong_within(threshold)[0],
            }
            for name, value in values.items():
                row[name] = value
                row[f"{name}_low"], row[f"{name}_high"] = _floats(interval(draws[name]))
            row |= {"threshold": threshold, "share_within": r.counts.share_within(threshold)[0]}
            rows.append(row | _of_standard_error(cell) | {"n_trials": len(cell.score)})
        return _frame(rows)

    def pairs(self) -> pd.DataFrame:
        """Return the agreement curve: a row for each bin of reference difference that has pairs.

        Columns: method, n_sources, size, reference, `bin_low`, `bin_high` (fractions), `pairs`,
        `agreement` and its 95 % interval `agreement_low`, `agreement_high`.
        """
        frames = []
        for cell in self.cells:
            r = self._resampled(cell)
            used = np.flatnonzero(r.counts.pairs[0] > 0)
            low, high = interval(r.count_draws.agreement()[:, used])
            columns = {
                "bin_low": r.counts.edges[used],
                "bin_high": np.round(r.counts.edges[used] + r.counts.width, 12),
                "pairs": r.counts.pairs[0, used],
                "agreement": r.counts.agreement()[0, used],
                "agreement_low": low,
                "agreement_high": high,
            }
            frame = pd.DataFrame(columns)
            for at, (name, value) in enumerate(zip(KEYS, cell.key, strict=True)):
                frame.insert(at, name, value)
            frames.append(frame)
        curve: pd.DataFrame = pd.concat(frames, ignore_index=True)
        return curve

    def save(
        self, folder: Path | str, *, level: float = LEVEL, threshold: float = THRESHOLD
    ) -> None:
        """Write `mdad.csv`, `estimation.csv`, `pairs.csv`, `trials.parquet` and `study.json`.

        Raises
        ------
        ValueError
            If the folder holds results of another kind.
        """
        folder = Path(folder)
        files.check_kind(folder, SETTINGS_FILE)
        frames = {
            "mdad": self.mdad(level),
            "estimation": self.estimation(threshold),
            "pairs": self.pairs(),
        }
        for name, frame in frames.items():
            files.write_text(folder / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
        with files.atomic(folder / TRIALS_FILE) as temporary:
            pq.write_table(self.table, temporary, compression="zstd")
        write_settings(folder, {**self.settings, "notes": list(self.notes)})

    @classmethod
    def load(cls, folder: Path | str) -> StudyResult:
        """Return the result that `save` wrote.

        Raises
        ------
        FileNotFoundError
            If the folder holds no finished study.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: no such folder; give that of a finished study")
        if not (folder / TRIALS_FILE).is_file():
            raise FileNotFoundError(
                f"{folder / TRIALS_FILE}: no such file; `lm-microbench study ... -o {folder}` "
                "writes it, and ends what was begun there"
            )
        settings = dict(read_settings(folder))
        if not settings:
            raise FileNotFoundError(
                f"{folder / SETTINGS_FILE}: no such file, or empty; the study's folder is not whole"
            )
        notes = tuple(settings.pop("notes", ()))
        return cls(read_trials(folder / TRIALS_FILE), settings, notes)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every method, number of sources, size and reference, in the order of the study."""
        return tuple(cells_of(self.table))

    def _resampled(self, cell: Cell) -> Resampled:
        if cell.key not in self._memory:
            seed = int(self.settings.get("seed", 0))
            self._memory[cell.key] = resample(cell.score, cell.estimate, seed)
        found: Resampled = self._memory[cell.key]
        return found


def check_reading(level: float, threshold: float) -> None:
    """Raise `ValueError` if a level of agreement, or a difference of interest, is not possible."""
    if not 0 < level <= 1:
        raise ValueError(f"level: {level}; give a fraction above 0, such as 0.8")
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold: {threshold}; give a fraction, such as 0.02 for 2 points")


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame: pd.DataFrame = pd.DataFrame(rows)
    return frame


def _of_standard_error(cell: Cell) -> dict[str, float]:
    difference = cell.estimate - cell.score
    stated = ~np.isnan(cell.standard_error + difference)
    within = np.abs(difference) <= NORMAL_95 * cell.standard_error + TOLERANCE
    nan = float("nan")
    return {
        "bias": _mean(difference, ~np.isnan(difference)),
        "standard_error": _mean(cell.standard_error, stated),
        "covered": float(within[stated].mean()) if stated.any() else nan,
    }


def _mean(values: Array, known: npt.NDArray[np.bool_]) -> float:
    return float(values[known].mean()) if known.any() else float("nan")


def _floats(bounds: tuple[Array, Array]) -> tuple[float, float]:
    return float(bounds[0]), float(bounds[1])
