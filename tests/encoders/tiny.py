"""Real transformers models of a few kilobytes: real classes, random weights, a dozen words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = ["the", "a", "red", "blue", "fox", "whale", "runs", "swims", "in", "sea", "forest", "and", "deep"]
TEXTS = ["red fox", "the blue whale swims in the deep blue sea", "whale", "a fox runs in the forest"]


def save_tokenizer(folder: Path, *, padding: bool = True, side: str = "right") -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]"] if padding else ["[UNK]"]
    vocabulary = {word: number for number, word in enumerate(special + WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    options = {"pad_token": "[PAD]"} if padding else {}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", padding_side=side, model_max_length=32, **options
    ).save_pretrained(folder)


def save_model(folder: Path, kind: str) -> Path:
    """A BERT, a GPT-2 (whose tokenizer has no padding token) or a T5 (with its decoder)."""
    import torch
    import transformers

    torch.manual_seed(0)
    torch.set_num_threads(1)  # for models this small a second thread only waits
    if kind == "bert":
        shape: Any = transformers.BertConfig(
            vocab_size=20,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=32,
        )
        model: Any = transformers.BertModel(shape)
    elif kind == "roberta":
        shape = transformers.RobertaConfig(
            vocab_size=20,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=12,
            pad_token_id=0,
        )
        model = transformers.RobertaModel(shape)
    elif kind == "gpt2":
        shape = transformers.GPT2Config(
            vocab_size=20, n_embd=16, n_layer=2, n_head=2, n_positions=32, bos_token_id=0, eos_token_id=0
        )
        model = transformers.GPT2Model(shape)
    else:
        shape = transformers.T5Config(vocab_size=20, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
        model = transformers.T5ForConditionalGeneration(shape)
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    save_tokenizer(folder, padding=kind != "gpt2", side="left" if kind == "gpt2" else "right")
    return folder


def save_gguf(file: Path) -> Path:
    """A llama of two layers, with a byte-level tokenizer that knows single letters and the word "the"."""
    import gguf
    import numpy as np

    tokens = ["<s>", "</s>", *"abcdefghijklmnopqrstuvwxyzĠ", "th", "the"]
    dim, hidden = 16, 32
    random = np.random.default_rng(0)
    out = gguf.GGUFWriter(str(file), "llama")
    out.add_context_length(32)
    out.add_embedding_length(dim)
    out.add_block_count(2)
    out.add_feed_forward_length(hidden)
    out.add_head_count(2)
    out.add_head_count_kv(2)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_freq_base(10_000.0)
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("gpt2")
    out.add_token_list(tokens)
    out.add_token_merges(["t h", "th e"])
    out.add_token_types([3, 3] + [1] * (len(tokens) - 2))
    out.add_bos_token_id(0)
    out.add_eos_token_id(1)
    shapes = {"token_embd": (len(tokens), dim), "output_norm": (dim,), "output": (len(tokens), dim)}
    for layer in range(2):
        shapes |= {f"blk.{layer}.attn_{part}": (dim, dim) for part in ("q", "k", "v", "output")}
        shapes |= {f"blk.{layer}.ffn_{part}": (hidden, dim) for part in ("gate", "up")}
        shapes |= {f"blk.{layer}.ffn_down": (dim, hidden)}
        shapes |= {f"blk.{layer}.{part}_norm": (dim,) for part in ("attn", "ffn")}
    for name, shape in shapes.items():
        out.add_tensor(f"{name}.weight", random.normal(size=shape).astype(np.float32) * 0.3)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return file
