"""Where task folders lie: ours, then those in `LM_MICROBENCH_PATH`."""

from __future__ import annotations

import os
from pathlib import Path

PATH_VARIABLE = "LM_MICROBENCH_PATH"


def own_tasks() -> Path:
    """Return the folder of the tasks that come with this package.

    In an installed wheel it lies inside the package; in an editable install or a checkout it
    lies beside it.

    Raises
    ------
    FileNotFoundError
        If neither exists: the installation is broken.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "tasks", package.parent / "tasks"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{package}: the tasks folder is missing; reinstall lm-microbench")


def task_folders() -> list[Path]:
    """Return every folder with tasks: ours first, then each of `LM_MICROBENCH_PATH`.

    Raises
    ------
    FileNotFoundError
        If the variable names a folder that does not exist.
    """
    folders = [own_tasks()]
    for entry in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if not entry.strip():
            continue
        folder = Path(entry).expanduser()
        if not folder.is_dir():
            raise FileNotFoundError(
                f"{PATH_VARIABLE}: {folder} is not a folder; create it or unset it"
            )
        folders.append(folder)
    return folders
