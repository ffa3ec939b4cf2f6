"""Tensors in memory that all ranks have mapped: programs read and write them where they are, peers
too, where other tensors are copied chunk by chunk."""
import weakref

import torch

from .. import _coconet
from ..running import error

ALIGNMENT = 128  # bytes: coconet/execute/symmetric_places.h

_memories = []  # weakly: memory goes with its last tensor, or with the functions that use it


def allocate(here, shape, dtype):
    count = 1
    for size in shape:
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise error("usage", f"found the size {size!r}; needed is an int from 0 on")
        count *= size
    memory = _coconet._symmetric_memory(here.next_job(), here.rank, here.ranks,
                                        count * dtype.itemsize, 60.0)
    bytes = torch.from_dlpack(memory.array)
    _memories[:] = [each for each in _memories if each[2]() is not None]
    _memories.append((bytes.data_ptr(), bytes.numel(), weakref.ref(memory)))
    return bytes.view(dtype).view(shape)


def place_of(tensor):
    """(memory, byte) if all of the tensor stands in symmetric memory, at a place for a program."""
    first = tensor.data_ptr()
    for begin, size, memory in _memories:
        inside = begin <= first and first + tensor.nbytes <= begin + size and tensor.nbytes > 0
        if inside and (first - begin) % ALIGNMENT == 0 and memory() is not None:
            return memory(), first - begin
    return None


def places_of(tensors):
    """{name: (memory, byte)} of those that stand there and share it with no other of the call."""
    found = {name: place_of(tensor) for name, tensor in tensors.items()}
    spans = {name: (tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes)
             for name, tensor in tensors.items()}

    def apart(name):
        first, end = spans[name]
        return all(other == name or end <= spans[other][0] or spans[other][1] <= first
                   for other in spans)

    return {name: place for name, place in found.items() if place and apart(name)}
