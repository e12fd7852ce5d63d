"""Reports: what the pages and their files hold, that they reach for nothing, and in a browser."""

import base64
import dataclasses
import io
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import browser as real
import numpy as np
import pandas as pd
import pytest

from lm_microbench import html, plots
from lm_microbench.cli import main
from lm_microbench.compared import Comparison
from lm_microbench.comparison import compare
from lm_microbench.methods import select
from lm_microbench.plots.style import styles_of
from lm_microbench.readers import MicroRun
from lm_microbench.responses import ResponseMatrix
from lm_microbench.studies import study

LONG = "an-organisation-with-a-long-name/" + "x" * 90 + "$x^2$<script>"


def answers(n_models, n_items=60):
    rng = np.random.default_rng(n_models)
    scores = rng.random((n_models, n_items)) < rng.random((n_models, 1))
    names = [f"m{i}" for i in range(n_models)], [f"x/{i:02}" for i in range(n_items)]
    return ResponseMatrix(scores.astype(float), *names, ["x"] * n_items)


def studied(**options):
    return study(answers(30), methods=["random", "anchor"], sizes=[5, 10], n_targets=8, trials=4,
                 seed=1, **options)  # fmt: skip


@pytest.fixture(scope="module")
def study_page():
    return html.study_page(studied(), studied(target_mode="top"))


def compared(n_models=7, full=True, rename=None):
    matrix = answers(n_models)
    subset = select(matrix, "random", 20, seed=0)
    names = [rename if rename and i == 0 else m for i, m in enumerate(matrix.models)]
    matrix = ResponseMatrix(matrix.scores, names, matrix.items, matrix.subtasks)
    micro = matrix.take(items=subset.items)
    runs = [MicroRun(m, "x_micro20_random", {}, micro.take(models=[m]), False) for m in names]
    return compare(runs, {"x_micro20_random": subset}, matrix if full else None)


class Links(HTMLParser):
    """What a page refers to, and the tags that are open at its end."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open, self.ids = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open += [tag] if tag not in {"meta", "link", "br"} else []
        self.found += [v for k, v in attrs if k in {"src", "href", "xlink:href"}]
        self.ids += [v for k, v in attrs if k == "id"]

    def handle_startendtag(self, tag, attrs):
        self.found += [v for k, v in attrs if k in {"src", "href", "xlink:href"}]
        self.ids += [v for k, v in attrs if k == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", ["study", "comparison"])
def test_page_is_whole_and_refers_to_nothing_outside(kind, study_page):
    page = study_page if kind == "study" else html.comparison_page(compared())
    text = page.html()
    links = Links(text)
    assert links.open == []
    assert all(x.startswith(("#", "data:")) for x in links.found)
    assert len(links.ids) == len(set(links.ids)), "identifiers are unique in the page"
    assert {x[1:] for x in links.found if x.startswith("#")} <= set(links.ids)
    assert "<script" not in text


def test_page_of_the_same_result_is_the_same(study_page):
    assert study_page.html() == html.study_page(studied(), studied(target_mode="top")).html()


def test_study_page_has_the_figures_and_the_sentences(study_page):
    assert [plot.name for plot in study_page.plots] == [
        "agreement_5", "agreement_10", "mdad", "mdad_sustained", "error", "rank_correlation",
        "seen_unseen_error", "seen_unseen_agreement", "targets_error", "targets_agreement",
        "targets_mdad",
    ]  # fmt: skip
    assert study_page.sentences[0].startswith("At 5 examples `random` ranks")
    assert study_page.sentences[2].startswith("With top targets: At 5 examples `random` ranks")
    text = study_page.html()
    assert "<code>random</code> ranks" in text
    for name in ("random", "anchor"):
        assert f">{name}</text>" in study_page.plots[0].svg(), "text stays text"


def test_study_plots_draw_the_numbers_of_the_tables():
    result = studied()
    drawn = {plot.name: plot.data for plot in plots.study_plots(result)}
    expected = result.mdad()
    seen = expected[expected["reference"] == "seen"]
    assert drawn["mdad"]["mdad"].tolist() == pytest.approx(seen["mdad"].tolist(), nan_ok=True)
    error = result.estimation().set_index(["method", "size", "reference"])["error"]
    for row in drawn["seen_unseen_error"].itertuples():
        assert row.error_x == error[row.method, row.size, "seen"]
        assert row.error_y == error[row.method, row.size, "unseen"]


def test_study_plots_of_several_numbers_of_sources_show_the_largest():
    drawn = plots.study_plots(studied(n_sources=[5, 20]))
    assert all(set(p.data["n_sources"]) == {20} for p in drawn if "n_sources" in p.data)


def test_study_page_of_a_study_that_is_not_divided_has_no_unseen_items():
    page = html.study_page(studied(split="none"))
    assert not any("seen" in plot.name for plot in page.plots)
    assert page.html()


def test_comparison_page_draws_every_model_best_first():
    result = compared()
    ladder, pairs = html.comparison_page(result).plots
    assert ladder.data["estimate"].is_monotonic_decreasing
    assert sorted(ladder.data["model"]) == sorted(result.models["model"])
    assert len(pairs.data) == 21


def test_comparison_page_without_full_runs_says_so():
    page = html.comparison_page(compared(full=False))
    assert page.made == "7 models on x_micro20_random (20 items); no full runs are given."
    assert [title for title, _ in page.tables] == ["Models", "Pairs of models"]


def test_page_of_a_strange_name_shows_it_as_it_is():
    page = html.comparison_page(compared(rename=LONG))
    text = page.html()
    assert "&lt;script&gt;" in text and "<script" not in text
    assert "$x^2$&lt;script&gt;</text>" in page.plots[0].svg(), "no formula is made of it"


def test_page_of_one_model_has_a_ladder_only():
    page = html.comparison_page(compared(1))
    assert [plot.name for plot in page.plots] == ["ladder_x_micro20_random"]
    assert page.html()


def test_page_saves_every_figure_three_times_and_as_markdown(tmp_path, study_page):
    paths = study_page.save(tmp_path)
    assert [path.name for path in paths] == ["report.html", "report.md"]
    for plot in study_page.plots:
        base = tmp_path / "figures" / plot.name
        assert base.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        ET.parse(base.with_suffix(".svg"))
        table = pd.read_csv(base.with_suffix(".csv"))
        assert len(table) == len(plot.data) > 0
    markdown = paths[1].read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", markdown):
        assert (tmp_path / target).is_file()
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1, "one table, of one width"


def test_page_holds_the_data_of_each_figure(study_page):
    text = study_page.html()
    for plot in study_page.plots:
        pattern = rf'download="{plot.name}.csv" href="data:text/csv;base64,([^"]+)"'
        held = base64.b64decode(re.search(pattern, text)[1]).decode()
        assert held == plot.csv()
        assert len(pd.read_csv(io.StringIO(held))) == len(plot.data)


def test_page_without_matplotlib_has_all_but_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(plots, "available", lambda: False)
    studied(folder=tmp_path / "s").save(tmp_path / "s")
    monkeypatch.setattr("sys.argv", ["lm-microbench", "report", str(tmp_path / "s")])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert capsys.readouterr().err == plots.HINT + "\n"
    text = (tmp_path / "s" / "report.html").read_text(encoding="utf-8")
    assert "<svg" not in text and "What was found" in text
    assert not (tmp_path / "s" / "figures").exists()


def test_report_of_no_study_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["lm-microbench", "report", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert "trials.parquet: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("full", [True, False])
def test_report_of_a_comparison_is_the_page_that_compare_wrote(tmp_path, monkeypatch, full):
    # Names that a table's reader could take for numbers or for nothing.
    result = compared(6, full, rename="NA")
    models = result.models.replace({"model": {"m1": "007"}})
    pairs = result.pairs.replace({"model_a": {"m1": "007"}, "model_b": {"m1": "007"}})
    result = dataclasses.replace(result, models=models, pairs=pairs, notes=("a note",))
    page = html.comparison_page(result)
    result.save(tmp_path)
    monkeypatch.setattr("sys.argv", ["lm-microbench", "report", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page.html()
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == page.markdown()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("comparison.json", "{", "comparison.json: not the settings of a comparison"),
        ("comparison.json", "[1]", "comparison.json: not the settings of a comparison"),
        ("models.csv", None, "models.csv: no such file; compare again"),
        ("models.csv", "", "models.csv: cannot be read"),
        ("pairs.csv", "task,model\n", "pairs.csv: not a table of a comparison (other columns)"),
        ("summary.csv", "task,n_models,n_pairs,agreement,mdad,mdad_sustained,kendall_tau,spearman,"
         "error\nt,many,1,1,1,1,1,1,1\n", "summary.csv: column n_models is not of numbers"),
    ],
)  # fmt: skip
def test_report_of_a_damaged_comparison_is_one_line(
    tmp_path, monkeypatch, capsys, name, text, said
):
    compared(3).save(tmp_path)
    (tmp_path / name).unlink()
    if text is not None:
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("sys.argv", ["lm-microbench", "report", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        main()
    line = capsys.readouterr().err
    assert end.value.code == 1
    assert said in line and line.count("\n") == 1
    assert not (tmp_path / "report.html").exists()


def test_load_of_a_comparison_that_lost_a_row_is_refused(tmp_path):
    compared(3).save(tmp_path)
    path = tmp_path / "models.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ValueError, match=r"models\.csv: 2 rows where 3 were written"):
        Comparison.load(tmp_path)


def test_report_of_a_comparison_with_options_of_a_study_is_refused(tmp_path, monkeypatch, capsys):
    compared(3).save(tmp_path)
    monkeypatch.setattr("sys.argv", ["lm-microbench", "report", str(tmp_path), "--level", "0.9"])
    with pytest.raises(SystemExit):
        main()
    assert "--level: is for studies" in capsys.readouterr().err


def test_study_and_comparison_do_not_take_each_others_folder(tmp_path):
    compared(3).save(tmp_path / "a")
    with pytest.raises(ValueError, match="a: holds a comparison; give another folder"):
        studied(folder=tmp_path / "a")
    studied().save(tmp_path / "b")
    with pytest.raises(ValueError, match="b: holds a study; give another folder"):
        compared(3).save(tmp_path / "b")


def test_styles_tell_every_method_from_the_others():
    names = [f"m{i}" for i in range(11)] + ["random"]
    styles = styles_of(names)
    assert styles["random"]["color"] == "#000000"
    looks = {(x["color"], x["marker"], str(x["linestyle"])) for x in styles.values()}
    assert len(looks) == 12
    assert len({x["marker"] for x in styles.values()}) == 12, "by the marker alone, in grey"


@pytest.fixture(scope="module")
def driver():
    if real.missing():
        pytest.skip(real.missing())
    with real.browser() as driver:
        yield driver


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", ["study", "comparison", "many models"])
def test_page_in_a_browser_fits_and_complains_of_nothing(tmp_path, driver, kind, width, study_page):
    page = study_page
    if kind != "study":
        result = compared(30 if kind == "many models" else 7, rename=LONG)
        note = f"x_micro20_random: {LONG} has no full run"
        page = html.comparison_page(dataclasses.replace(result, notes=(note,)))
    (tmp_path / "report.html").write_text(page.html(), encoding="utf-8")
    real.resize(driver, width)
    driver.get((tmp_path / "report.html").as_uri())
    assert driver.get_log("browser") == []
    assert driver.title == page.title
    wide, view = driver.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth]"
    )
    assert view == width
    assert wide <= view, "nothing sticks out to the side"
    boxes = driver.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(x => x.getBoundingClientRect())"
        ".map(x => [x.width, x.height])"
    )
    assert len(boxes) == len(page.plots)
    assert all(w > 250 and h > 100 for w, h in boxes), "every figure is drawn"
    loaded = driver.execute_script(
        "return performance.getEntriesByType('resource').map(x => x.name)"
        ".filter(x => !x.startsWith('data:'))"
    )
    assert loaded == [], "nothing is fetched"
