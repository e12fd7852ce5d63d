"""A tiny language model and a training run of it, for tests."""

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)


def make_tokenizer():
    """Return a tokenizer of single bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate(["<end>", "<pad>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<pad>")


def make_model(seed=0):
    """Return a Llama of 30,000 random parameters, with dropout."""
    config = LlamaConfig(
        vocab_size=258, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=1024, attention_dropout=0.1,
        bos_token_id=None, eos_token_id=0,
    )  # fmt: skip
    torch.manual_seed(seed)
    return LlamaForCausalLM(config)


class Logger(TrainerCallback):
    """A logger of the trainer, as those of TensorBoard and others are."""

    def __init__(self):
        self.logs = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.logs.append((state.global_step, dict(logs)))


def make_trainer(folder, callbacks=(), steps=6, **options):
    """Return a trainer of the tiny model on a handful of sentences."""
    tokenizer = make_tokenizer()
    texts = [f"The number after {n} is {n + 1}." for n in range(10, 42)]
    data = [{"input_ids": x, "labels": x} for x in tokenizer(texts)["input_ids"]]
    arguments = TrainingArguments(
        str(folder), max_steps=steps, per_device_train_batch_size=4, learning_rate=1e-2,
        use_cpu=True, report_to=[], disable_tqdm=True, dataloader_pin_memory=False,
        **{"logging_steps": 2, "save_strategy": "no", "seed": 3, **options},
    )  # fmt: skip
    return Trainer(
        make_model(), arguments, train_dataset=data, processing_class=tokenizer,
        callbacks=list(callbacks),
    )  # fmt: skip
