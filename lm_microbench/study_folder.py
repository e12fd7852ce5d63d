"""The folder of a study: its settings, and the trials that an unfinished one has kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lm_microbench import files
from lm_microbench.trial_table import read_trials

SETTINGS_FILE, TRIALS_FILE = "study.json", "trials.parquet"


def read_settings(folder: Path) -> Mapping[str, Any]:
    """Return the settings of the study in a folder; nothing where there is none."""
    path = folder / SETTINGS_FILE
    if not path.is_file():
        return {}
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not a JSON file ({error}); delete it") from None
    if not isinstance(settings, dict):
        raise ValueError(f"{path}: not the settings of a study; delete it")
    return settings


def write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a study into its folder."""
    files.write_text(folder / SETTINGS_FILE, json.dumps(settings, indent=1) + "\n")


class KeptTrials:
    """Trials of an unfinished study in its folder, a file each; nothing where there is none."""

    def __init__(self, folder: Path | None, settings: Mapping[str, Any]) -> None:
        """Take the folder, and what two studies must have in common to share trials."""
        self.folder = folder
        self.settings = settings

    def read(self, trials: int) -> dict[int, pa.Table]:
        """Return the kept trials; claims an empty folder for this study.

        Raises
        ------
        ValueError
            If the folder holds another study or results of another kind, more trials than asked,
            or a broken file.
        """
        if self.folder is None:
            return {}
        files.check_kind(self.folder, SETTINGS_FILE)
        there = {k: v for k, v in read_settings(self.folder).items() if k != "notes"}
        if not there:
            write_settings(self.folder, self.settings)
            return {}
        for key in [*self.settings, *there]:
            if there.get(key) != self.settings.get(key):
                raise ValueError(
                    f"{self.folder}: holds another study ({key}: {_short(there.get(key))}, asked "
                    f"for {_short(self.settings.get(key))}); give another folder, or delete it"
                )
        kept: dict[int, pa.Table] = {}
        whole = self.folder / TRIALS_FILE
        for path in [*([whole] if whole.is_file() else []), *sorted(self._parts.glob("*.parquet"))]:
            table = read_trials(path)
            numbers = table.column("trial").to_numpy()
            kept |= {int(t): table.filter(pa.array(numbers == t)) for t in np.unique(numbers)}
        if any(t >= trials for t in kept):
            raise ValueError(
                f"{self.folder}: holds {max(kept) + 1} trials of this study, asked for {trials}; "
                "ask for as many, or give another folder"
            )
        return kept

    def keep(self, trial: int, table: pa.Table) -> pa.Table:
        """Write one trial's rows, and return them."""
        if self.folder is not None:
            with files.atomic(self._parts / f"trial-{trial:05d}.parquet") as temporary:
                pq.write_table(table, temporary, compression="zstd")
        return table

    def clear(self) -> None:
        """Remove the folder of single trials: the study is saved as a whole."""
        # With all that is in it: a killed process may have left a temporary file.
        if self._parts.is_dir():
            shutil.rmtree(self._parts)

    @property
    def _parts(self) -> Path:
        return (self.folder or Path()) / "unfinished"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
