"""Report files: one self-contained HTML page, the same in Markdown, and every figure's files."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_microbench import __version__, files, plots, report
from lm_microbench.compared import Comparison
from lm_microbench.pairs import LEVEL
from lm_microbench.plots import Plot
from lm_microbench.results import THRESHOLD, StudyResult

HTML_FILE, MARKDOWN_FILE, FIGURES = "report.html", "report.md", "figures"
MANY_ROWS = 40

Tables = Sequence[tuple[str, report.Table]]


@dataclass(frozen=True)
class Page:
    """What a report says, before it is written in some format.

    Parameters
    ----------
    title, made : str
        Of what, and how it was made.
    sentences, notes, words : sequence of str
        What was found; what a reader must keep in mind; what the words mean. May hold `code`.
    tables : sequence of (str, Table)
        With their titles.
    plots : sequence of Plot
    """

    title: str
    made: str
    sentences: Sequence[str]
    notes: Sequence[str]
    words: Sequence[str]
    tables: Tables
    plots: Sequence[Plot]

    def save(self, folder: Path) -> list[Path]:
        """Write `report.html`, `report.md` and `figures/`; return the paths of the first two.

        Every figure is there as CSV, PNG and SVG. Figures of an earlier report that this one has
        not are left as they are.
        """
        for plot in self.plots:
            base = Path(folder) / FIGURES / plot.name
            files.write_text(base.with_name(f"{plot.name}.csv"), plot.csv())
            files.write_text(base.with_name(f"{plot.name}.svg"), plot.svg())
            with files.atomic(base.with_name(f"{plot.name}.png")) as temporary:
                temporary.write_bytes(plot.png())
        paths = [Path(folder) / HTML_FILE, Path(folder) / MARKDOWN_FILE]
        files.write_text(paths[0], self.html())
        files.write_text(paths[1], self.markdown())
        return paths

    def html(self) -> str:
        """Return the page, with its figures in it."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("lm_microbench"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True,
        )  # fmt: skip
        environment.filters["code"] = _code
        page = {
            **{name: getattr(self, name) for name in ("title", "made", "sentences", "notes")},
            "words": self.words,
            "version": __version__,
            "tables": [_html_table(title, table) for title, table in self.tables],
            "plots": [_html_plot(plot) for plot in self.plots],
        }
        return environment.get_template("report.html.jinja").render(page=page)

    def markdown(self) -> str:
        """Return the report as Markdown; it refers to the files in `figures/`."""
        parts = [f"# {self.title}", self.made, _bullets(self.sentences)]
        if self.notes:
            parts += ["## To keep in mind", _bullets(self.notes)]
        if self.plots:
            parts.append("## Figures")
        for plot in self.plots:
            image = f"![{plot.title}]({FIGURES}/{plot.name}.png)"
            links = f"[Data]({FIGURES}/{plot.name}.csv), [SVG]({FIGURES}/{plot.name}.svg)."
            parts += [f"### {plot.title}", image, f"{plot.caption} {links}"]
        for title, table in self.tables:
            parts += [f"## {title}", _markdown_table(table)]
        parts += ["## What the words mean", _bullets(self.words)]
        return "\n\n".join(parts) + f"\n\nlm-microbench {__version__}\n"


def study_page(
    result: StudyResult,
    against: StudyResult | None = None,
    *,
    level: float = LEVEL,
    threshold: float = THRESHOLD,
) -> Page:
    """Return the report of a study; without figures where matplotlib is missing."""
    names = {"level": level, "threshold": threshold}
    shown = [("What was found", report.study_table(result, **names))]
    sentences = report.study_sentences(result, **names)
    if against is not None:
        what = f"{against.settings.get('target_mode')} targets"
        shown.append((f"The other study: {what}", report.study_table(against, **names)))
        sentences += [f"With {what}: {x}" for x in report.study_sentences(against, **names)]
    return Page(
        title="How reliably small subsets rank models",
        made=report.study_made(result),
        sentences=sentences,
        notes=result.notes,
        words=report.study_words(**names),
        tables=shown,
        plots=plots.study_plots(result, against, **names) if plots.available() else [],
    )


def comparison_page(result: Comparison) -> Page:
    """Return the report of a comparison; without figures where matplotlib is missing."""
    shown = [("Models", report.models_table(result))]
    shown.append(("Pairs of models", report.pairs_table(result, every=True)))
    if len(result.bins):
        shown.append(("Agreement with the full runs", report.summary_table(result)))
        shown.append(("Agreement by difference", report.bins_table(result)))
    return Page(
        title="What the micro-benchmarks say of these models",
        made=report.comparison_made(result),
        sentences=report.comparison_sentences(result),
        notes=result.notes,
        words=report.comparison_words(result),
        tables=shown,
        plots=plots.comparison_plots(result) if plots.available() else [],
    )


def _html_table(title: str, table: report.Table) -> dict[str, Any]:
    head, rows = table
    number = re.compile(r"(never|-|[<>]? ?-?\d.*)$")
    text = [not all(number.match(row[i]) for row in rows) for i in range(len(head))]
    folded = len(rows) > MANY_ROWS
    title = f"{title} ({len(rows)} rows)" if folded else title
    return {"title": title, "head": head, "rows": rows, "text": text, "folded": folded}


def _html_plot(plot: Plot) -> dict[str, Any]:
    from markupsafe import escape

    # The size in points gives way to the page's; `viewBox` keeps the proportions.
    opening, rest = plot.svg().split(">", 1)
    opening = re.sub(r' (?:width|height)="[^"]*"', "", opening)
    data = base64.b64encode(plot.csv().encode("utf-8")).decode("ascii")
    label = escape(f"{plot.title}. {plot.caption}")
    return {
        "name": plot.name,
        "wide": plot.size[0] > plots.WIDTH,
        "title": plot.title,
        "caption": plot.caption,
        "data": f"data:text/csv;base64,{data}",
        "svg": f'{opening} role="img" aria-label="{label}">{rest}',
    }


def _code(text: str) -> Any:
    """Return text for HTML, `code` between backticks marked as such."""
    from markupsafe import Markup, escape

    text = str(escape(text)).replace(" %", "\N{NO-BREAK SPACE}%")
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", text))


def _bullets(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _markdown_table(table: report.Table) -> str:
    head, rows = table
    lines = [head, ["---"] * len(head), *rows]
    cells = ([x.replace("|", "\\|") for x in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
