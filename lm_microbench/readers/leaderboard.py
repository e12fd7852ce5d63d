"""Open LLM Leaderboard v2 "details": sample logs of lm_eval in one data set a model, on the hub."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

PREFIX = "leaderboard:"
_ORGANISATION = "open-llm-leaderboard"
_COMMIT = re.compile(r"^[0-9a-f]{40}$")


@dataclass(frozen=True)
class Details:
    """A model's details in the local cache: the folder of one commit."""

    source: str
    folder: Path
    commit: str


def fetch_details(
    source: str, leaves: Iterable[str], *, endpoint: str | None = None, cache: Path | None = None
) -> Details:
    """Return where a model's details of some tasks lie, after downloading what is not cached.

    Everything is read at one commit: the one given, or the newest, which is looked up once and
    told. A download that broke off goes on where it stopped.

    Parameters
    ----------
    source : str
        `leaderboard:<org>/<model>`, with `@<revision>` at its end to pin one. A commit of 40 digits
        that is cached needs no network.
    leaves : names
        Leaf tasks whose samples are wanted.
    endpoint : str, optional
        Address of the hub.
    cache : Path, optional
        Folder of the cache; the hub's own by default.

    Raises
    ------
    ValueError
        If the source is not of that form.
    OSError
        If the data set does not exist, is gated, or cannot be reached: one line that says which.
    """
    model, _, revision = source.removeprefix(PREFIX).partition("@")
    if model.count("/") != 1 or not all(model.split("/")):
        raise ValueError(f"{source}: no model; write {PREFIX}<org>/<model>")
    repository = f"{_ORGANISATION}/{model.replace('/', '__')}-details"
    try:
        commit = revision
        if not _COMMIT.match(revision):
            info = HfApi(endpoint=endpoint).dataset_info(repository, revision=revision or None)
            commit = str(info.sha)
        folder = snapshot_download(
            repository,
            repo_type="dataset",
            revision=commit,
            allow_patterns=_patterns(leaves),
            cache_dir=cache,
            endpoint=endpoint,
        )
    except (OSError, HFValidationError) as error:
        raise OSError(f"{source}: {_reason(error, repository)}") from None
    return Details(source, Path(folder), commit)


def _patterns(leaves: Iterable[str]) -> list[str]:
    """Return the files wanted; a digit ends the task's name, so that no longer name matches."""
    return ["*results_*.json", *(f"*samples_{leaf}_[0-9]*" for leaf in leaves)]


def _reason(error: Exception, repository: str) -> str:
    """Return why a data set cannot be had, and what to do, in one line."""
    page = f"https://huggingface.co/datasets/{repository}"
    if isinstance(error, GatedRepoError):
        return f"gated; ask for access at {page}, then log in with `hf auth login`"
    if isinstance(error, RevisionNotFoundError):
        return f"{repository} has no such revision; see {page}"
    if isinstance(error, RepositoryNotFoundError):
        return f"no data set {repository}, or it is not open to you; log in with `hf auth login`"
    text = " ".join(str(error).split())
    return (
        f"{repository} cannot be read from the hub ({text[:200]}); offline, give a local copy's "
        "folder, or @ and the commit that is cached"
    )
