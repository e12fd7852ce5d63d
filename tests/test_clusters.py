import numpy as np

from lm_microbench.clusters import fill, kmeans, representatives, shares


def test_kmeans_separate_groups_finds_them():
    # Groups around 0, 10 and 20: means 0.5, 10.5, 20.
    points = np.array([0.0, 1.0, 10.0, 11.0, 20.0])[:, None]
    labels, centres = kmeans(points, 3, np.random.default_rng(0))
    assert sorted(centres[:, 0]) == [0.5, 10.5, 20.0]
    assert labels[0] == labels[1] != labels[2] == labels[3] != labels[4]


def test_kmeans_is_at_a_fixed_point_no_worse_than_its_seeds():
    points = np.random.default_rng(3).normal(size=(500, 4))
    labels, centres = kmeans(points, 20, np.random.default_rng(0))
    distance = ((points[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels, distance.argmin(axis=1))
    for k in range(20):
        np.testing.assert_allclose(points[labels == k].mean(axis=0), centres[k])


def test_kmeans_fewer_distinct_points_makes_fewer_clusters():
    points = np.repeat(np.array([[0.1], [0.2], [0.3]]), 5, axis=0)
    labels, centres = kmeans(points, 10, np.random.default_rng(0))
    assert len(centres) == 3
    assert np.bincount(labels).tolist() == [5, 5, 5]


def test_kmeans_every_cluster_has_a_point():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        points = rng.integers(0, 6, (80, 2)).astype(float)
        labels, centres = kmeans(points, 25, rng)
        assert (np.bincount(labels, minlength=len(centres)) > 0).all()


def test_representatives_equal_up_to_rounding_gives_the_lower_position():
    # 0.1 + 0.2 is 0.30000000000000004: both points are as far from their mean.
    points = np.array([[0.1 + 0.2], [0.0], [0.3]])
    labels = np.array([0, 1, 0])
    centres = np.array([[0.3], [0.0]])
    assert representatives(points, labels, centres).tolist() == [0, 1]


def test_shares_members_divide_their_cluster():
    # Clusters of 3 and 1 items; the first has two chosen: 3/4 / 2 each, the other 1/4.
    found = shares(np.array([0, 0, 0, 1]), np.array([0, 2, 3]))
    assert found.tolist() == [0.375, 0.375, 0.25]


def test_fill_adds_distinct_items():
    found = fill(np.array([7, 2]), 5, 8, np.random.default_rng(0))
    assert {2, 7} <= set(found.tolist())
    assert (np.diff(found) > 0).all()
    assert len(found) == 5
