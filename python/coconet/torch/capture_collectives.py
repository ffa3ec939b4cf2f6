"""Parts of tensors, and collectives: torch's all_gather_tensor and reduce_scatter_tensor along
another dim than the first are parts that are joined otherwise around a collective along the
first."""
from .. import functions as f
from .capture_operations import narrowed, need_whole, operation, positive
from .capture_shapes import Refused

_FOLDS = {"sum": "+", "max": "max", "min": "min", "product": "prod"}


class _Parts:
    """Parts of a tensor along a dim: at each the start and the length."""

    def __init__(self, whole, dim, ranges):
        self.whole, self.dim, self.ranges = whole, dim, ranges


class _Part:
    """The tensor is made when it is read: of parts that are joined again it is none."""

    def __init__(self, of, at):
        self.of, self.at = of, at


class _Gathered:
    """What torch gathers along dim 0 of a value that is cut along another: to be joined there."""

    def __init__(self, value, axis, dim):
        self.value, self.axis, self.dim = value, axis, dim


class _Shuffled:
    """The parts of a value along a dim, one behind the other along dim 0: to be scattered."""

    def __init__(self, value, dim, parts):
        self.value, self.dim, self.parts = value, dim, parts


# Operations whose operands may be other than tensors.
TAKE_PARTS = {"aten.chunk.default", "aten.split.Tensor", "<built-in function getitem>",
              "aten.cat.default", "_c10d_functional.wait_tensor.default",
              "_c10d_functional.reduce_scatter_tensor.default"}


def plain(capture, value):
    """As other operations read it."""
    if isinstance(value, _Part) and not isinstance(value.of.whole, _Gathered):
        return narrowed(capture, value.of.whole, value.of.dim, *value.of.ranges[value.at])
    if isinstance(value, (_Parts, _Part, _Gathered, _Shuffled)):
        raise Refused("parts of ranks that are not joined as torch's all_gather_tensor and "
                      "reduce_scatter_tensor join them")
    return value


@operation("aten.chunk.default", "aten.split.Tensor", "aten.split_with_sizes.default")
def _parts(capture, node, x, _, dim=0):
    sizes = [value.shape for value in node.meta["val"]]
    dim, ranges, start = positive(dim, len(sizes[0])), [], 0
    for size in sizes:
        ranges.append((start, size[dim]))
        start = start + size[dim]
    return _Parts(x, dim, ranges)


@operation("<built-in function getitem>")
def _item(capture, node, parts, at):
    if not isinstance(parts, _Parts):
        raise Refused("one of several results")
    return _Part(parts, at)


@operation("aten.cat.default")
def _cat(capture, node, tensors, dim=0):
    dim = positive(dim, len(node.meta["val"].shape))
    joined = _joined(tensors, dim)
    if joined is not None:
        return joined
    tensors = [plain(capture, each) for each in tensors]
    for each in tensors:
        need_whole(each, [dim], "cat")
    return f.concat(tensors, dim)


def _joined(tensors, dim):
    """Of all parts of a tensor in order, joined along another dim."""
    of = tensors[0].of if isinstance(tensors[0], _Part) else None
    if of is None or len(of.ranges) != len(tensors) or not all(
            isinstance(each, _Part) and each.of is of and each.at == at
            for at, each in enumerate(tensors)):
        return None
    if not isinstance(of.whole, _Gathered):
        return _Shuffled(of.whole, of.dim, len(tensors)) if dim == 0 else None
    if of.dim == 0 and dim == of.whole.dim:
        return f.all_gather(of.whole.value, of.whole.axis)
    return None


# --- Communication


def _communication(*names):
    return operation(*(f"_c10d_functional.{name}.default" for name in names))


def _folded(capture, x, fold, axis, collective):
    if fold == "avg":
        return collective(x, "+") / capture.program.size(axis)
    if fold not in _FOLDS:
        raise Refused(f"a collective by {fold!r}; legal are {', '.join(_FOLDS)} and avg")
    return collective(x, _FOLDS[fold])


@_communication("all_reduce")
def _all_reduce(capture, node, x, fold, group):
    axis = capture.axes.of(group)
    return _folded(capture, x, fold, axis, lambda x, fold: f.all_reduce(x, fold, axis))


@_communication("all_gather_into_tensor")
def _all_gather(capture, node, x, ranks, group):
    axis = capture.axes.of(group)
    [cut, *others] = list(x._cuts) or [None]
    if cut is None or others:
        raise Refused("an all_gather of a tensor that is not cut along one dim")
    return f.all_gather(x, axis) if cut == 0 else _Gathered(x, axis, cut)


@_communication("reduce_scatter_tensor")
def _reduce_scatter(capture, node, x, fold, ranks, group):
    axis, dim = capture.axes.of(group), 0
    if isinstance(x, _Shuffled):
        if x.parts != ranks:
            raise Refused("a reduce_scatter of other parts than there are ranks")
        x, dim = x.value, x.dim
    return _folded(capture, x, fold, axis,
                   lambda x, fold: f.reduce_scatter(x, fold, dim, axis))


@_communication("broadcast")
def _broadcast(capture, node, x, source, group):
    if len(capture.axes.names) > 1:
        raise Refused("a broadcast on a mesh of several axes")
    return f.broadcast(x, source, capture.axes.of(group))
