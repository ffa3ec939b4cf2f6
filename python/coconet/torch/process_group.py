"""The ranks of programs: those of a torch.distributed process group."""
import os

import torch
import torch.distributed as dist

from . import symmetric
from ..running import error

_world = None


class World:
    """The ranks of a torch.distributed process group, all processes of this machine."""

    def __init__(self, group, rank, ranks, name, seed):
        self.group, self.rank, self.ranks = group, rank, ranks
        self._name, self._seed, self._jobs, self._seeds = name, seed, 0, 0

    def next_job(self):
        """A job's name; the same on all ranks, as they make the same calls in one order."""
        self._jobs += 1
        return f"{self._name}-{self._jobs}"

    def next_seed(self):
        """For the dropouts of a function that has none: another for each, the same on all ranks."""
        self._seeds += 1
        return (self._seed + self._seeds * 0x9E3779B97F4A7C15) % (1 << 64)


def init(group=None):
    """Makes the ranks of the process group (by default the world's; under torchrun one is made,
    of gloo, if there is none) the ranks of programs. Once, before the first call of a program.
    What dropouts drop follows from rank 0's torch.manual_seed before it."""
    global _world
    if not dist.is_initialized():
        missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
                   if name not in os.environ]
        if missing:
            raise error("usage", "found neither a torch.distributed process group nor torchrun's "
                         f"environment ({', '.join(missing)}); needed is one of them")
        dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    # Of rank 0: a name that no other job has, and the seed; of all: the machine, as memory is
    # shared.
    told = [None] * ranks
    boot = open("/proc/sys/kernel/random/boot_id").read().strip()
    dist.all_gather_object(told, (boot, os.urandom(12).hex(), torch.initial_seed()), group=group)
    for other in range(ranks):
        if told[other][0] != told[0][0]:
            raise error("unsupported", f"found rank {other} on another machine than rank 0; "
                         "needed are ranks of one machine")
    _world = World(group, rank, ranks, f"torch-{os.getuid()}-{told[0][1]}", told[0][2])
    return _world


def empty(*size, dtype=torch.float32):
    """A tensor of zeros in memory that all ranks have mapped, 2 MiB at least: programs work on it,
    and on what torch views of it, in place, without the copies of staging. All ranks call it
    together, with the same size and dtype, and give such tensors to the same names of a call."""
    size = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return symmetric.allocate(world(), tuple(size), dtype)


def world():
    if _world is None:
        raise error("usage", "found no ranks; call coconet.torch.init() first")
    return _world
