"""Groups of items: k-means, and the item that stands for each group.

Everything here gives the same answer on any machine and any number of threads: sums are taken in a
fixed order, and what is equal up to rounding error is equal, the lower index going first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

_N_ITERATIONS = 50
_BLOCK = 1024
_TOLERANCE = 1e-9  # of the squared distances, relative to the spread of the points


def kmeans(points: Array, n_clusters: int, rng: np.random.Generator) -> tuple[Labels, Array]:
    """Return the label of each point and the centres: Lloyd's algorithm from k-means++ seeds.

    Parameters
    ----------
    points : array, shape (n_points, n_dimensions)
    n_clusters : int
        Fewer are made where there are fewer distinct points.

    Returns
    -------
    labels : array of int, shape (n_points,)
        Every label occurs.
    centres : array, shape (n_labels, n_dimensions)
    """
    centres = _seeds(points, n_clusters, rng)
    labels = _nearest(points, centres)
    for _ in range(_N_ITERATIONS):
        centres = _means(points, labels, len(centres))
        changed = _without_empty(points, _nearest(points, centres), centres)
        if (changed == labels).all():
            break
        labels = changed
    return labels, _means(points, labels, len(centres))


def representatives(points: Array, labels: Labels, centres: Array) -> Labels:
    """Return the member of each cluster that is nearest to its centre, shape (n_clusters,)."""
    distance = ((points - centres[labels]) ** 2).sum(axis=1)
    distance = np.floor(distance / _unit(points) + 0.5)
    order = np.lexsort((np.arange(len(points)), distance, labels))
    first = np.searchsorted(labels[order], np.arange(len(centres)))
    return order[first]


def fill(chosen: Labels, size: int, n_items: int, rng: np.random.Generator) -> Labels:
    """Return `chosen` with items drawn at random added until there are `size`; ascending."""
    left = np.setdiff1d(np.arange(n_items), chosen)
    more = rng.choice(left, size - len(chosen), replace=False)
    return np.sort(np.concatenate([chosen, more]).astype(np.intp))


def shares(labels: Labels, chosen: Labels) -> Array:
    """Return each chosen item's weight: the share of items in its cluster.

    Chosen items of the same cluster divide its share. Weights add up to 1 where every cluster has a
    chosen item.
    """
    size = np.bincount(labels)
    members = np.bincount(labels[chosen], minlength=len(size))
    return np.asarray(size[labels[chosen]] / members[labels[chosen]] / len(labels))


def _unit(points: Array) -> float:
    """Return the smallest difference of squared distances that counts."""
    spread = float(points.var(axis=0).sum())
    return _TOLERANCE * spread if spread > 0 else float(np.finfo(np.float64).tiny)


def _seeds(points: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Return distinct points, each drawn with probability in proportion to squared distance."""
    chosen = [int(rng.integers(len(points)))]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n_clusters and distance.max() > _unit(points):
        cumulative = np.cumsum(np.where(distance > _unit(points), distance, 0.0))
        drawn = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        chosen.append(min(drawn, int(np.argmax(cumulative))))
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return points[chosen]


def _nearest(points: Array, centres: Array) -> Labels:
    labels = np.empty(len(points), dtype=np.intp)
    constant = (centres**2).sum(axis=1)
    for start in range(0, len(points), _BLOCK):
        block = slice(start, start + _BLOCK)
        distance = points[block] @ (-2 * centres.T)
        distance += constant
        near = distance.min(axis=1) + _unit(points)
        labels[block] = np.argmax(distance <= near[:, None], axis=1)
    return labels


def _means(points: Array, labels: Labels, n_clusters: int) -> Array:
    count = np.bincount(labels, minlength=n_clusters)
    total = np.column_stack([np.bincount(labels, x, minlength=n_clusters) for x in points.T])
    return np.asarray(total / count[:, None])


def _without_empty(points: Array, labels: Labels, centres: Array) -> Labels:
    """Return labels in which every empty cluster was given the point that fits its own least."""
    count = np.bincount(labels, minlength=len(centres))
    if (count > 0).all():
        return labels
    labels = labels.copy()
    distance = ((points - centres[labels]) ** 2).sum(axis=1)
    for empty in np.flatnonzero(count == 0):
        distance[count[labels] < 2] = -1.0
        worst = int(np.argmax(distance >= distance.max() - _unit(points)))
        count[labels[worst]] -= 1
        labels[worst], count[empty], distance[worst] = empty, 1, -1.0
    return labels
