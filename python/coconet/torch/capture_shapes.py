"""Sizes of an exported graph, which are those of one rank's pieces, and of the program's, which are
those of the whole tensors."""
import sys

import torch

from ..running import error


class Refused(Exception):
    """What cannot be captured: "found ..", without the place."""


class Requirement(Exception):
    """A condition on sizes that the program needs: it is to be begun anew with it."""


class SizeNumber:
    """A number that the function makes of sizes that may differ from call to call."""


def is_dtensor(tensor):
    module = sys.modules.get("torch.distributed.tensor")  # without it there is none
    return module is not None and isinstance(tensor, module.DTensor)


def piece_of(tensor):
    """This rank's part, without its history."""
    held = tensor.to_local() if is_dtensor(tensor) else tensor
    return held.detach()


def _expression(size):
    """An int, or the expression of a size that may differ from call to call."""
    return size.node.expr if isinstance(size, torch.SymInt) else int(size)


class Sizes:
    """dims: the program's, by name. axes: of its mesh. required: the conditions on sizes that the
    program has."""

    def __init__(self, dims, axes, required):
        self.dims, self._axes, self._required = dims, axes, required
        self._symbols = {}  # (dim, whether it is cut), by the exported graph's symbol

    def whole_shape(self, name, sizes, names, placed, axes):
        """The program's shape of an input by its piece's."""
        ranks = {}  # by dim, of the axes that cut it
        for one in placed:
            dims = one._slice
            if dims is None:
                continue
            if len(dims) != 1:
                raise error("unsupported", f"{name}: found the placement {one}; legal are slices "
                            "of one dim")
            for axis in one._axes or axes.names[:1]:
                ranks[dims[0]] = ranks.get(dims[0], 1) * axes.ranks[axis]
        out = []
        for at, (size, dim) in enumerate(zip(sizes, names)):
            found = _expression(size)
            if not dim:
                out.append(int(found) * ranks.get(at, 1))
                continue
            if not isinstance(size, torch.SymInt):
                raise error("unsupported", f"{name}: torch.export took the dim {dim} for the "
                            f"constant {found}; leave it without a name, as None")
            self._symbols[found] = (self.dims[dim], at in ranks)
            out.append(self.dims[dim])
        return out

    def whole_of(self, size):
        """The program's size of a piece's that no slice cuts."""
        found = _expression(size)
        if isinstance(found, int):
            return found
        whole = 1
        for factor, power in found.as_powers_dict().items():
            if factor.is_Integer:
                whole = int(factor) ** int(power) * whole
                continue
            dim, cut = self._symbols.get(factor, (None, False))
            if dim is None or cut or not power.is_Integer or power < 0:
                raise Refused(f"the size {found}, which is no product of dims that no slice cuts")
            for _ in range(int(power)):
                whole = dim * whole
        return whole

    def reshaped(self, value, before, after):
        """The program's shape of what reshapes `value` from pieces of sizes `before` to `after`."""
        whole, cut, out = value.shape, value._cuts, []
        sizes = [_expression(size) for size in before], [_expression(size) for size in after]
        for ins, outs in _groups(*sizes, cut):
            if len(ins) == 1 and len(outs) == 1:
                out.append(whole[ins[0]])
            elif not any(dim in cut for dim in ins):
                out += [self.whole_of(after[at]) for at in outs]
            elif len(outs) == 1:
                product = 1
                for dim in ins:
                    product = whole[dim] * product
                out.append(product)
            else:
                out += self._split(value, ins, [after[at] for at in outs], before)
        return out

    def _split(self, value, ins, sizes, before):
        """A dim that is cut into several, the first of which is cut then."""
        known = all(isinstance(_expression(size), int) for size in sizes)
        if len(ins) != 1 or not known or not str(value.shape[ins[0]]).isdigit():
            raise Refused("a reshape of dims that are cut and have names, or of several; legal are "
                          "one such dim of a size that is a number, and merging them")
        whole = int(str(value.shape[ins[0]])) // int(before[ins[0]]) * int(sizes[0])
        ranks = " * ".join(f"size({self._axes[axis]})" for axis in value._cuts[ins[0]])
        condition = f"{whole} % ({ranks}) == 0"
        if condition not in self._required:
            raise Requirement(condition)
        return [whole, *(int(size) for size in sizes[1:])]


def _groups(before, after, cut):
    """The dims of both sides, in the smallest runs of them with the same product."""
    if any(before[dim] == 1 for dim in cut):
        raise Refused("a reshape of a dim of which a piece has 1; legal are larger examples")
    ins = [at for at, size in enumerate(before) if size != 1]
    outs = [at for at, size in enumerate(after) if size != 1]
    ends, product = {}, 1
    for at, dim in enumerate(outs):
        product = product * after[dim]
        ends[product] = at + 1
    out, product, first, done = [], 1, 0, 0
    for at, dim in enumerate(ins):
        product = product * before[dim]
        if ends.get(product, 0) > done:
            out.append((ins[first:at + 1], outs[done:ends[product]]))
            first, done = at + 1, ends[product]
    if first != len(ins) or done != len(outs):
        raise Refused(f"a reshape from {before} to {after}")
    out += [([], [at]) for at, size in enumerate(after) if size == 1]
    return sorted(out, key=lambda pair: pair[1][0])
