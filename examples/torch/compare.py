#!/usr/bin/env python3
"""Times optimizer steps and tensor-parallel tails beside what PyTorch has, in one run, interleaved.

    torchrun --standalone --nproc-per-node 2 examples/torch/compare.py

`exchange and update`: from gradients that lie ready to updated parameters on all ranks.
`training step`: forward, backward, exchange, update. `tail`: product, sum over the ranks, bias,
dropout of 0, residual, layer_norm. A time is the slowest rank's, the median of the rounds.
"""
import argparse
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional as F

import coconet.torch as ct
from embed_sentences import GlooTail
from train_text import CONTEXT, Model

LETTERS = 96
BUCKET = 25 << 20  # bytes, DistributedDataParallel's default


def model_of(options):
    torch.manual_seed(1)
    return Model(LETTERS, options.width, options.layers)


def buckets_of(parameters):
    out, size = [[]], 0
    for one in parameters:
        if size + one.numel() * 4 > BUCKET and out[-1]:
            out.append([])
            size = 0
        out[-1].append(one)
        size += one.numel() * 4
    return out


def exchange(buckets):
    """What DistributedDataParallel does with gradients, behind one another."""
    for bucket in buckets:
        flat = torch.cat([one.grad.view(-1) for one in bucket])
        dist.all_reduce(flat)
        flat /= dist.get_world_size()
        parts = flat.split([one.numel() for one in bucket])
        for one, part in zip(bucket, parts):
            one.grad.copy_(part.view_as(one))


def fill(parameters):
    draw = torch.Generator().manual_seed(dist.get_rank())
    for one in parameters:
        one.grad = torch.randn(one.shape, generator=draw) * 1e-3


def updates(options):
    """{name: function} from gradients to parameters."""
    out = {}
    ours = list(model_of(options).parameters())
    sharded = ct.ShardedAdam(ours, lr=1e-3)
    draw = torch.Generator().manual_seed(dist.get_rank())
    for one in ours:
        one.grad.copy_(torch.randn(one.shape, generator=draw) * 1e-3)
    out["ShardedAdam"] = sharded.step
    plain = list(model_of(options).parameters())
    fill(plain)
    adam = torch.optim.Adam(plain, lr=1e-3, fused=True)
    buckets = buckets_of(plain)
    out["all_reduce + fused Adam (DDP's)"] = lambda: (exchange(buckets), adam.step())
    parted = list(model_of(options).parameters())
    fill(parted)
    zero = ZeroRedundancyOptimizer(parted, torch.optim.Adam, lr=1e-3, fused=True)
    parts = buckets_of(parted)
    out["all_reduce + ZeroRedundancyOptimizer"] = lambda: (exchange(parts), zero.step())
    return out


def trainings(options):
    """{name: function} of a whole step on one batch."""
    draw = torch.Generator().manual_seed(dist.get_rank())
    x, y = (torch.randint(LETTERS, (options.batch, CONTEXT), generator=draw) for _ in range(2))

    def step_of(model, optimizer):
        def step():
            optimizer.zero_grad()
            F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
            optimizer.step()
        return step

    net = model_of(options)
    out = {"ShardedAdam": step_of(net, ct.ShardedAdam(net.parameters(), lr=1e-3))}
    net = model_of(options)
    out["DDP + fused Adam"] = step_of(torch.nn.parallel.DistributedDataParallel(net),
                                      torch.optim.Adam(net.parameters(), lr=1e-3, fused=True))
    net = model_of(options)
    out["DDP + ZeroRedundancyOptimizer"] = step_of(
        torch.nn.parallel.DistributedDataParallel(net),
        ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=1e-3, fused=True))
    net = model_of(options)
    mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
    for block in net.blocks:
        dist.fsdp.fully_shard(block, mesh=mesh)
    dist.fsdp.fully_shard(net, mesh=mesh)
    out["FSDP + Adam"] = step_of(net, torch.optim.Adam(net.parameters(), lr=1e-3))
    return out


def tails(rows, inner, out):
    """{name: function} of one tail."""
    torch.manual_seed(2)
    weight, bias = torch.randn(out, inner) * inner**-0.5, torch.randn(out)
    own = inner // dist.get_world_size()
    x, residual = torch.randn(rows, own), torch.randn(rows, out)
    ours = ct.RowParallelLinear(inner, out, residual=True, norm="layer")
    theirs = GlooTail(inner, out, 1e-5)
    theirs.gamma.data.fill_(1)
    theirs.beta.data.zero_()
    for each in (ours, theirs):
        each.load(weight, bias)
    ours.freeze()

    def calls(tail):
        @torch.no_grad()
        def call():
            return tail(x, residual)
        return call

    difference = (calls(ours)() - calls(theirs)()).abs().max().item()
    assert difference < 1e-4, difference
    return {"RowParallelLinear": calls(ours), "torch + gloo": calls(theirs)}


def measure(title, calls, rounds):
    times = {name: [] for name in calls}
    for name, call in calls.items():
        call(), call()
    for _ in range(rounds):
        for name, call in calls.items():
            dist.barrier()
            began = time.perf_counter()
            call()
            mine = torch.tensor(time.perf_counter() - began, dtype=torch.float64)
            dist.all_reduce(mine, dist.ReduceOp.MAX)
            times[name].append(mine.item() * 1e3)
    if dist.get_rank() != 0:
        return
    first = None
    for name, each in times.items():
        middle = statistics.median(each)
        first = first or middle
        print(f"{title:36} {name:38} {middle:9.3f} ms  {middle / first:6.2f}x", flush=True)


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=4, help="sequences of each rank")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tails", default="128x384x384,128x1536x384,1024x1536x384,512x4096x1024",
                        help="rows x inner dim of all ranks x width")
    return parser.parse_args()


def main():
    options = arguments_of()
    ct.init()
    torch.set_num_threads(1)
    count = sum(one.numel() for one in model_of(options).parameters())
    ranks = dist.get_world_size()
    if dist.get_rank() == 0:
        print(f"{count} parameters, {ranks} ranks, torch {torch.__version__}, gloo, one thread a "
              "rank; the last column: times the first's of its kind")
    measure("exchange and update", updates(options), options.rounds)
    measure("training step", trainings(options), options.rounds)
    for size in options.tails.split(","):
        measure("tail " + size, tails(*map(int, size.split("x"))), 2 * options.rounds)
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # a thread of gloo that still holds a tensor may abort a process that ends


if __name__ == "__main__":
    main()
