#!/usr/bin/env python3
"""Data-parallel training of a small transformer on real text, by characters.

    torchrun --standalone --nproc-per-node 2 examples/torch/train_text.py
    torchrun --standalone --nproc-per-node 2 examples/torch/train_text.py --optimizer ddp

`sharded`: each rank's gradients go as they are into coconet's ShardedAdam, which averages them and
updates parameters and 1/ranks of the state in one fused call. `ddp`: DistributedDataParallel over
gloo and torch's fused Adam. The losses are those of each other, but for rounding.
"""
import argparse
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

import coconet.torch as ct

DOCUMENTS = Path(__file__).resolve().parent.parent.parent / "docs"
CONTEXT = 64


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.before, self.after = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                       torch.nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.after(x))


class Model(torch.nn.Module):
    def __init__(self, letters, width, layers, heads=4):
        super().__init__()
        self.letters = torch.nn.Embedding(letters, width)
        self.places = torch.nn.Embedding(CONTEXT, width)
        self.blocks = torch.nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, letters)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.letters(x) + self.places.weight)))


def text_of(path):
    paths = sorted(path.glob("*.md")) if path.is_dir() else [path]
    return "".join(one.read_text() for one in paths)


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", type=Path, default=DOCUMENTS, help="a file, or a folder of *.md")
    parser.add_argument("--optimizer", choices=["sharded", "ddp"], default="sharded")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=8, help="sequences of each rank")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--losses", type=Path, help="a file for the mean loss of every step")
    return parser.parse_args()


def main():
    options = arguments_of()
    ct.init()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    text = text_of(options.text)
    letters = sorted(set(text))
    data = torch.tensor([letters.index(letter) for letter in text])

    torch.manual_seed(1)  # the same weights on all ranks
    model = net = Model(len(letters), options.width, options.layers)
    if options.optimizer == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(net)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    else:
        optimizer = ct.ShardedAdam(net.parameters(), lr=1e-3)

    losses, times = [], []
    for step in range(options.steps):
        draw = torch.Generator().manual_seed(ranks * step + rank)
        starts = torch.randint(len(data) - CONTEXT - 1, (options.batch,), generator=draw)
        x = torch.stack([data[s:s + CONTEXT] for s in starts])
        y = torch.stack([data[s + 1:s + CONTEXT + 1] for s in starts])
        optimizer.zero_grad()
        began = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        backward = time.perf_counter()
        optimizer.step()
        times.append((backward - began, time.perf_counter() - backward))
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / ranks)
        if rank == 0 and (step % 10 == 0 or step + 1 == options.steps):
            print(f"step {step:4}: loss {losses[-1]:.4f}", flush=True)

    state = optimizer.state_bytes() if options.optimizer == "sharded" else sum(
        value.numel() * 4 for held in optimizer.state.values() for value in held.values())
    if rank == 0:
        middle = [sorted(column)[len(times) // 2] * 1e3 for column in zip(*times)]
        print(f"{options.optimizer}: {sum(p.numel() for p in net.parameters())} parameters on "
              f"{ranks} ranks; state {state / 1e6:.2f} MB a rank; forward and backward "
              f"{middle[0]:.2f} ms, step {middle[1]:.2f} ms")
        if options.losses:
            options.losses.write_text("\n".join(map(repr, losses)))
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # a thread of gloo that still holds a tensor may abort a process that ends


if __name__ == "__main__":
    main()
