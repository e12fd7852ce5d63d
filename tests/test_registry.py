"""Where tasks live: names, files, and lm_eval's own tasks left as they are."""

import make_runs as make
import pytest

from lm_microbench import registry
from lm_microbench.benchmark import load_benchmark
from lm_microbench.build import build
from lm_microbench.methods import get_method, select
from lm_microbench.subset import Subset


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setenv("LM_MICROBENCH_PATH", str(tmp_path))
    return make.make_benchmark(tmp_path / "toy")


def built(toy, size=3, seed=0):
    return build(toy, get_method("random"), [size], seed=seed)[0]


def test_task_name_is_benchmark_size_and_method():
    assert registry.task_name("mmlu_pro", 25, "irt") == "mmlu_pro_micro25_irt"
    assert registry.task_name("a", 5, "gp-irt") == "a_micro5_gp_irt"
    assert registry.task_name("a", 5, "irt", "seed-7") == "a_micro5_irt_seed-7"
    with pytest.raises(ValueError, match="label: 'a/b'; use letters"):
        registry.task_name("a", 5, "irt", "a/b")


def test_write_task_writes_a_manifest_and_the_yaml_that_lm_eval_reads(toy, tmp_path):
    entry = registry.write_task(built(toy), tmp_path / "new")
    assert entry.name == "toy_micro3_random"
    assert entry.load() == built(toy)
    text = entry.manifest.with_suffix(".yaml").read_text()
    assert text.startswith("task: toy_micro3_random\nclass: !function lm_microbench.task.MicroTask")


def test_write_task_an_equal_subset_keeps_the_date_and_another_is_refused(toy, tmp_path):
    old = built(toy)
    dated = old.provenance.model_copy(update={"date": "2020-01-01", "package_version": "0.0"})
    entry = registry.write_task(old.with_(provenance=dated), tmp_path)
    before = entry.manifest.read_bytes()
    registry.write_task(built(toy), tmp_path)
    assert entry.manifest.read_bytes() == before
    with pytest.raises(ValueError, match=r"another subset \(seed 0.*--label.*--replace"):
        registry.write_task(built(toy, seed=1), tmp_path)
    assert entry.manifest.read_bytes() == before
    labelled = registry.write_task(built(toy, seed=1), tmp_path, label="other")
    assert labelled.name == "toy_micro3_random_other"
    assert labelled.load() == built(toy, seed=1)
    registry.write_task(built(toy, seed=1), tmp_path, replace=True)
    assert entry.load() == built(toy, seed=1)


def test_write_task_over_a_manifest_of_a_later_version_is_refused(toy, tmp_path):
    path = tmp_path / "toy_micro3_random.json"
    path.write_text('{"schema_version": 99}')
    with pytest.raises(ValueError, match=r"schema_version 99 is newer.*upgrade lm-microbench"):
        registry.write_task(built(toy), tmp_path)
    assert path.read_text() == '{"schema_version": 99}'


@pytest.mark.parametrize("content", ["", "{", '{"schema_version": 1}'])
def test_write_task_over_a_damaged_manifest_makes_it_whole(toy, tmp_path, content):
    (tmp_path / "toy_micro3_random.json").write_text(content)
    assert registry.write_task(built(toy), tmp_path).load() == built(toy)


def test_write_task_of_a_subset_of_no_benchmark_is_refused_and_writes_nothing(toy, tmp_path):
    from test_methods_sampling import population

    with pytest.raises(ValueError, match="not built for a benchmark"):
        registry.write_task(select(population([5]), "random", 2), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_find_subset_by_name_by_manifest_and_by_yaml(toy, tmp_path):
    entry = registry.write_task(built(toy), tmp_path)
    for name in (entry.name, str(entry.manifest), str(entry.manifest.with_suffix(".yaml"))):
        assert registry.find_subset(name) == built(toy)


def test_find_subset_unknown_name_shows_the_nearest():
    with pytest.raises(KeyError, match="unknown micro-task 'mmlu_pro_micro26_random'; did you mean "
                       r".*mmlu_pro_micro25_random"):  # fmt: skip
        registry.find_subset("mmlu_pro_micro26_random")


def test_find_subset_missing_manifest_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.json: no such manifest"):
        registry.find_subset(str(tmp_path / "a.yaml"))


def test_tasks_need_both_files_and_leave_the_remains_of_killed_writes_alone(toy, tmp_path):
    entry = registry.write_task(built(toy), tmp_path)
    (tmp_path / "toy_micro4_random.json").write_text("{}")
    (tmp_path / ".toy_micro3_random.json.ab.tmp").write_text("{")
    ours = [x.name for x in registry.tasks() if x.name.startswith("toy")]
    assert ours == [entry.name]
    assert len({x.name for x in registry.tasks()}) == len(list(registry.tasks())) > 50


def test_tasks_of_one_name_are_the_one_that_lm_eval_runs(toy, tmp_path):
    from lm_eval.tasks import TaskManager

    for folder, seed in [("x/b", 1), ("x/a", 2), ("x-y", 3)]:
        registry.write_task(built(toy, seed=seed), tmp_path / folder)
    name = "toy_micro3_random"
    index = TaskManager(include_defaults=False, include_path=[str(tmp_path)]).task_index
    assert registry.find_subset(name) == Subset.load(index[name].yaml_path.with_suffix(".json"))


def test_tasks_of_a_folder_of_the_users_come_before_ours(tmp_path, monkeypatch):
    from lm_eval.tasks import TaskManager

    bbh = load_benchmark("bbh")
    registry.write_task(build(bbh, get_method("random"), [10], seed=9)[0], tmp_path)
    monkeypatch.setenv("LM_MICROBENCH_PATH", str(tmp_path))
    assert registry.find_subset("bbh_micro10_random").provenance.seed == 9
    manager = TaskManager(include_defaults=False)
    registry.add_tasks(manager)
    assert manager.task_index["bbh_micro10_random"].yaml_path.parent == tmp_path


def test_add_tasks_adds_ours_and_keeps_what_the_manager_knows(tmp_path):
    from lm_eval.tasks import TaskManager

    theirs = tmp_path / "theirs.yaml"
    theirs.write_text("task: bbh_micro10_random\noutput_type: multiple_choice\n")
    manager = TaskManager(include_defaults=False, include_path=str(tmp_path))
    registry.add_tasks(manager)
    assert manager.task_index["bbh_micro10_random"].yaml_path == theirs
    assert "bbh_micro25_random" in manager.all_tasks
    assert "bbh_micro25_random" in manager.all_subtasks
    assert "microdemo" in manager.all_groups
    again = list(manager.all_tasks)
    registry.add_tasks(manager)
    assert manager.all_tasks == again
    assert len(set(again)) == len(again)
