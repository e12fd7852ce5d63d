"""`diversity`: items spread over the space of the sources' answers by a determinantal process."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lm_microbench.estimators import LinearEstimator
from lm_microbench.methods.base import Choice, Method, filled
from lm_microbench.responses import ResponseMatrix

Array = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]

_EDGE = 0.99
_RANK_TOLERANCE = 1e-9
_BATCH = 64


@dataclass(frozen=True)
class Diversity(Method):
    """A discrete orthogonal polynomial ensemble over the items' principal components; plain mean.

    Items that lie outside the `trim` and 1 - `trim` quantiles of any component are set aside; the
    components of the others are scaled to (-0.99, 0.99). The kernel of the determinantal process
    projects on the multivariate polynomials of lowest total degree, as many as items are asked
    (Bardenet & Hardy, "Monte Carlo with determinantal point processes", Annals of Applied
    Probability 30, 2020, in its discrete form; as used in arXiv 2510.08730). Where the items'
    places carry fewer polynomials than that, or fewer items are left, the rest is drawn uniformly.

    Products of Legendre polynomials stand for monomials: they span the same spaces, and are far
    better conditioned. Scores are used where no confidences are known.

    Parameters
    ----------
    n_components : int
    trim : float
        In [0, 0.5).
    """

    name: ClassVar[str] = "diversity"
    n_components: int = 4
    trim: float = 0.01

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if self.n_components < 1:
            raise ValueError(f"n_components: {self.n_components}; give 1 or more")
        if not 0 <= self.trim < 0.5:
            raise ValueError(f"trim: {self.trim}; give a fraction of at least 0 and below 0.5")

    def _prepare(self, source: ResponseMatrix, rng: np.random.Generator) -> tuple[Positions, Array]:
        values = source.scores if source.confidence is None else source.confidence
        places = principal_components(filled(values), self.n_components)
        low, high = np.quantile(places, [self.trim, 1 - self.trim], axis=0)
        slack = _RANK_TOLERANCE * (1 + np.abs(places).max(axis=0, initial=0.0))
        inside = ((places >= low - slack) & (places <= high + slack)).all(axis=1)
        kept = np.flatnonzero(inside)
        return kept, _scaled(places[kept])

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        kept, places = prepared
        basis = orthonormal_polynomials(places, min(size, len(kept)))
        chosen = kept[sample_projection_dpp(basis, rng)]
        spare = kept if len(kept) >= size else np.arange(source.n_items)
        spare = np.setdiff1d(spare, chosen)
        more = rng.choice(spare, size - len(chosen), replace=False)
        chosen = np.sort(np.concatenate([chosen, more]))
        return Choice(chosen, LinearEstimator(weights=(1 / size,) * size))


def principal_components(values: Array, n_components: int) -> Array:
    """Return the items' places on the leading components of their answers, signs fixed.

    Components without variance are left out.

    Parameters
    ----------
    values : array, shape (n_models, n_items)

    Returns
    -------
    places : array, shape (n_items, at most n_components)
    """
    centred = values - values.mean(axis=1, keepdims=True)
    variance, axes = np.linalg.eigh(centred @ centred.T)
    variance, axes = variance[::-1][:n_components], axes[:, ::-1][:, :n_components]
    axes = axes[:, variance > _RANK_TOLERANCE * max(values.size, 1)]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    return np.asarray(centred.T @ (axes * np.sign(largest)))


def orthonormal_polynomials(places: Array, n_functions: int) -> Array:
    """Return an orthonormal basis of the first polynomials on the items, shape (n_items, rank).

    Products of Legendre polynomials in order of total degree. A product that is a combination of
    earlier ones on these items is left out, and none is put in its place.
    """
    n_items, n_dimensions = places.shape
    powers = _graded(n_dimensions, n_functions)
    highest = max(max(power, default=0) for power in powers)
    table = np.moveaxis(np.polynomial.legendre.legvander(places, highest), 1, 0)
    values = np.ones((n_items, len(powers)))
    for dimension in range(n_dimensions):
        values *= table[dimension][:, [power[dimension] for power in powers]]
    norms = np.sqrt((values**2).sum(axis=0))
    q, r = np.linalg.qr(values / np.where(norms > 0, norms, 1.0))
    return np.asarray(q[:, np.abs(np.diag(r)) > _RANK_TOLERANCE])


def sample_projection_dpp(basis: Array, rng: np.random.Generator) -> Positions:
    """Return a draw from the determinantal process whose kernel is `basis @ basis.T`; ascending.

    Exact: the chain rule draws each next item in proportion to its squared distance from the span
    of the drawn ones. Here items are proposed in proportion to their squared length, which never
    changes, and accepted with probability distance over length (Derezinski, Calandriello & Valko,
    NeurIPS 2019; Barthelmé, Tremblay & Amblard, 2022), so that no pass over all items is needed;
    proposals go in batches, for the matrix products.

    Parameters
    ----------
    basis : array, shape (n_items, rank)
        Orthonormal columns; the draw has `rank` items.
    """
    rank = basis.shape[1]
    length = (basis**2).sum(axis=1)
    cumulative = np.cumsum(length)
    span = np.zeros((rank, rank))
    drawn: list[int] = []
    while len(drawn) < rank:
        wanted = rng.random(_BATCH) * cumulative[-1]
        proposed = np.minimum(np.searchsorted(cumulative, wanted, "right"), len(basis) - 1)
        level = rng.random(_BATCH) * length[proposed]
        rows = basis[proposed]
        distance = length[proposed] - ((rows @ span[: len(drawn)].T) ** 2).sum(axis=1)
        for j in range(_BATCH):
            if distance[j] <= max(level[j], _RANK_TOLERANCE * length[proposed[j]]):
                continue
            span[len(drawn)] = _orthogonal_part(rows[j], span[: len(drawn)])
            distance -= (rows @ span[len(drawn)]) ** 2
            drawn.append(int(proposed[j]))
            if len(drawn) == rank:
                break
    return np.sort(np.array(drawn, dtype=np.intp))


def _orthogonal_part(vector: Array, span: Array) -> Array:
    """Return the unit vector of what `span` (orthonormal rows) does not hold of `vector`."""
    length = np.sqrt((vector**2).sum())
    for _ in range(2):  # twice is enough, and once unless much was lost (Giraud et al., 2005)
        vector = vector - span.T @ (span @ vector)
        left = np.sqrt((vector**2).sum())
        if left > 0.1 * length:
            break
    return np.asarray(vector / left)


def _scaled(places: Array) -> Array:
    """Return each component scaled linearly to [-0.99, 0.99]; 0 where it is constant."""
    low, high = places.min(axis=0), places.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    scaled = _EDGE * (2 * (places - low) / width - 1)
    return np.asarray(np.where(high > low, scaled, 0.0))


def _graded(n_dimensions: int, n: int) -> list[tuple[int, ...]]:
    """Return the first `n` exponents by total degree (fewer only where there is no dimension)."""
    powers: list[tuple[int, ...]] = []
    for degree in range(n if n_dimensions else 1):
        for factors in combinations_with_replacement(range(n_dimensions), degree):
            powers.append(tuple(factors.count(d) for d in range(n_dimensions)))
            if len(powers) == n:
                return powers
    return powers
