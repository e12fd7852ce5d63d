"""`report`: the page of a finished study or comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lm_microbench.cli.app import app
from lm_microbench.cli.pages import save_page


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished study or comparison.")],
    against: Annotated[
        Path | None, typer.Option(help="Folder of a study of other targets, shown beside it.")
    ] = None,
    level: Annotated[
        float | None, typer.Option(help="Agreement that counts as consistent. Default: 0.8.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Difference of interest, a fraction: 0.02 is 2 points (default)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Another folder for the report.")
    ] = None,
) -> None:
    """Write the report of a finished study or comparison: report.html, report.md, figures.

    Example: `lm-microbench report study_random --against study_top`

    Another: `lm-microbench report comparison` (the folder of `compare -o comparison`)
    """
    from lm_microbench.compared import COMPARISON_FILE

    if not folder.is_dir():
        raise FileNotFoundError(
            f"{folder}: no such folder; give that of a finished study or comparison"
        )
    options = {"against": against, "level": level, "threshold": threshold}
    given = {name: value for name, value in options.items() if value is not None}
    if not (folder / COMPARISON_FILE).is_file():
        save_page(_study_page(folder, given), output or folder)
        return
    if given:
        raise ValueError(f"--{next(iter(given))}: is for studies; {folder} holds a comparison")
    from lm_microbench.compared import Comparison
    from lm_microbench.html import comparison_page

    save_page(comparison_page(Comparison.load(folder)), output or folder)


def _study_page(folder: Path, options: dict[str, Any]) -> Any:
    from lm_microbench.html import study_page
    from lm_microbench.results import StudyResult

    against = options.pop("against", None)
    other = None if against is None else StudyResult.load(against)
    return study_page(StudyResult.load(folder), other, **options)
