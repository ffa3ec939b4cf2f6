"""What each operation of an exported graph is in a program: by its name, a function of the capture,
the node, and the operation's arguments, whose tensors are the program's."""
import operator

import torch

from .. import _coconet, functions as f
from .capture_shapes import Refused, SizeNumber

OPERATIONS = {}
_DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32",
           torch.float64: "f64", torch.int32: "i32", torch.int64: "i64", torch.bool: "bool"}


def operation(*names):
    def add(convert):
        for name in names:
            OPERATIONS[name] = convert
        return convert
    return add


def _size_of(node):
    """Of the piece that an argument of a node is: its sizes."""
    return list(node.meta["val"].shape)


def positive(dim, dims):
    return dim % dims if dims else 0


def _is_tensor(value):
    return isinstance(value, _coconet.Tensor)


def need_whole(value, dims, what):
    """No slice may cut a dim that it goes over: torch would take a piece's, not all ranks'."""
    cut = [dim for dim in dims if dim in value._cuts]
    if cut:
        raise Refused(f"{what} over dim {cut[0]}, which is cut over ranks: torch takes a piece's")


# --- Pointwise


def _cast(value, dtype):
    if dtype not in _DTYPES:
        raise Refused(f"the dtype {dtype}")
    if not _is_tensor(value) or value._dtype.name == _DTYPES[dtype]:
        return value
    return f.cast(value, _DTYPES[dtype])


def _number(value):
    if not _is_tensor(value) and not isinstance(value, (int, float, bool)):
        raise Refused("a number that is made of dims with names; give it as a number, or leave the "
                      "dims without" if isinstance(value, SizeNumber) else f"an operand {value!r}")
    return value


def _arithmetic(compute):
    """Of two operands that torch promotes to the result's dtype."""
    def convert(capture, node, a, b, alpha=1):
        dtype = node.meta["val"].dtype
        a, b = (_cast(_number(each), dtype) for each in (a, b))
        return compute(a, b if alpha == 1 else b * alpha)
    return convert


def _comparison(compute):
    def convert(capture, node, a, b):
        dtypes = [each.meta["val"].dtype for each in node.args[:2]
                  if isinstance(each, torch.fx.Node)]
        dtype = dtypes[0] if len(dtypes) == 1 else torch.promote_types(*dtypes)
        return compute(_cast(_number(a), dtype), _cast(_number(b), dtype))
    return convert


for _name, _compute in {"add": operator.add, "sub": operator.sub, "mul": operator.mul}.items():
    operation(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(_arithmetic(_compute))
operation("aten.div.Tensor", "aten.div.Scalar")(_arithmetic(operator.truediv))
operation("aten.rsub.Scalar", "aten.rsub.Tensor")(_arithmetic(lambda a, b: b - a))
operation("aten.maximum.default", "aten.clamp_min.default")(_arithmetic(f.max))
operation("aten.minimum.default", "aten.clamp_max.default")(_arithmetic(f.min))
operation("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor")(_arithmetic(f.pow))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    operation(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(
        _comparison(getattr(operator, _name)))


def _of_one(compute):
    """Of one operand, in the result's dtype."""
    return lambda capture, node, x: compute(_cast(x, node.meta["val"].dtype))


for _name in ("abs", "sqrt", "rsqrt", "exp", "log", "tanh", "erf", "relu", "silu", "sigmoid"):
    operation(f"aten.{_name}.default")(_of_one(getattr(f, _name)))
operation("aten.neg.default")(_of_one(operator.neg))
operation("aten.square.default")(_of_one(lambda x: x * x))
operation("aten.reciprocal.default")(_of_one(lambda x: 1.0 / x))
operation("aten.logical_not.default", "aten.bitwise_not.default")(_of_one(operator.invert))


def _logical(compute):
    def convert(capture, node, a, b):
        if any(_is_tensor(each) and each._dtype.name != "bool" for each in (a, b)):
            raise Refused(f"{node.target} of numbers; legal is bool")
        return compute(a, b)
    return convert


for _name, _compute in {"and": operator.and_, "or": operator.or_}.items():
    operation(f"aten.logical_{_name}.default", f"aten.bitwise_{_name}.Tensor")(
        _logical(_compute))


@operation("aten.gelu.default")
def _gelu(capture, node, x, approximate="none"):
    if approximate != "none":
        raise Refused(f"gelu(approximate={approximate!r}); legal is 'none'")
    return f.gelu(x)


@operation("aten.clamp.default")
def _clamp(capture, node, x, min=None, max=None):
    x = x if min is None else f.max(x, min)
    return x if max is None else f.min(x, max)


@operation("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf")
def _where(capture, node, condition, a, b):
    dtype = node.meta["val"].dtype
    return f.where(condition, _cast(_number(a), dtype), _cast(_number(b), dtype))


@operation("aten.dropout.default")
def _dropout(capture, node, x, p, train):
    return f.dropout(x, float(p)) if train else x


@operation("aten.to.dtype", "aten._to_copy.default", "aten.to.device", "aten.to.dtype_layout",
            "aten.type_as.default", "aten.contiguous.default", "aten.clone.default",
            "aten.alias.default", "aten.detach.default", "aten.lift_fresh_copy.default",
            "aten._assert_tensor_metadata.default", "_c10d_functional.wait_tensor.default")
def _same(capture, node, x, *_, **__):
    value = node.meta.get("val")
    return _cast(x, value.dtype) if isinstance(value, torch.Tensor) and _is_tensor(x) else x


# --- Products, reductions, norms


@operation("aten.matmul.default", "aten.mm.default", "aten.bmm.default")
def _matmul(capture, node, a, b):
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise Refused(f"{node.target} of a vector; legal are matrices")
    return f.matmul(a, b)


@operation("aten.linear.default")
def _linear(capture, node, x, weight, bias=None):
    y = f.matmul(x, weight, tb=True)
    return y if bias is None else y + bias


@operation("aten.addmm.default")
def _addmm(capture, node, bias, a, b, beta=1, alpha=1):
    if (beta, alpha) != (1, 1):
        raise Refused(f"addmm(beta={beta}, alpha={alpha}); legal are 1 and 1")
    return bias + f.matmul(a, b)


def _reduction(compute, partial):
    """partial: over dims that are cut it stays a partial value, as what torch takes of a piece."""
    def convert(capture, node, x, dims=None, keepdim=False, dtype=None):
        size = _size_of(node.args[0])
        dims = [dims] if isinstance(dims, int) else dims
        over = sorted(positive(dim, len(size)) for dim in dims or range(len(size)))
        if not partial:
            need_whole(x, over, str(node.target))
        x = _cast(x, node.meta["val"].dtype)
        if len(over) == len(size) and not keepdim:
            return compute(x)
        out = compute(x, over)
        if keepdim:
            return out
        return f.reshape(out, [dim for at, dim in enumerate(out.shape) if at not in over])
    return convert


operation("aten.sum.dim_IntList", "aten.sum.default")(_reduction(f.sum, True))
operation("aten.mean.dim", "aten.mean.default")(_reduction(f.mean, False))
operation("aten.amax.default")(_reduction(f.max, True))
operation("aten.amin.default")(_reduction(f.min, True))
operation("aten.max.default")(lambda capture, node, x: f.max(x))
operation("aten.min.default")(lambda capture, node, x: f.min(x))


@operation("aten.linalg_vector_norm.default")
def _norm(capture, node, x, ord=2, dim=None, keepdim=False, dtype=None):
    if ord != 2 or dim is not None or keepdim or dtype is not None:
        raise Refused("a norm of some dims, or other than of squares; legal is that of the tensor")
    need_whole(x, range(len(x.shape)), "a norm")
    return f.norm(x)


@operation("aten.softmax.int", "aten._softmax.default")
def _softmax(capture, node, x, dim, dtype=None):
    dim = positive(dim, len(x.shape))
    need_whole(x, [dim], "a softmax")
    return f.softmax(_cast(x, node.meta["val"].dtype), [dim])


def _need_last(x, shape, weights, what):
    if len(shape) != 1 or any(each is None for each in weights):
        raise Refused(f"{what} over several dims or without weights; legal is over the last, with "
                      "weights")
    need_whole(x, [len(x.shape) - 1], what)


@operation("aten.layer_norm.default")
def _layer_norm(capture, node, x, shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    _need_last(x, shape, (weight, bias), "layer_norm")
    return f.layer_norm(x, weight, bias, float(eps))


@operation("aten.rms_norm.default")
def _rms_norm(capture, node, x, shape, weight=None, eps=None):
    _need_last(x, shape, (weight,), "rms_norm")
    if eps is None:
        eps = torch.finfo(node.meta["val"].dtype).eps
    return f.rms_norm(x, weight, float(eps))


# --- Movement of data


@operation("aten.t.default", "aten.transpose.int", "aten.permute.default", "aten.mT.default",
            "aten.numpy_T.default")
def _transpose(capture, node, x, first=None, second=None):
    dims = len(x.shape)
    order = list(range(dims))
    if isinstance(first, (list, tuple)):
        order = [positive(dim, dims) for dim in first]
    elif dims > 1:
        a, b = (dims - 2, dims - 1) if first is None else (positive(first, dims),
                                                           positive(second, dims))
        order[a], order[b] = b, a
    return x if order == list(range(dims)) else f.transpose(x, order)


@operation("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
            "aten.flatten.using_ints", "aten.unflatten.int", "aten.unsqueeze.default",
            "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze.default")
def _reshape(capture, node, x, *_, **__):
    before, after = _size_of(node.args[0]), _size_of(node)
    shape = capture.sizes.reshaped(x, before, after)
    return x if shape == x.shape else f.reshape(x, shape)


def narrowed(capture, x, dim, start, length):
    need_whole(x, [dim], "a part")
    return f.narrow(x, dim, capture.sizes.whole_of(start), capture.sizes.whole_of(length))


@operation("aten.slice.Tensor", "aten.narrow.default")
def _slice(capture, node, x, dim=0, start=None, end=None, step=1):
    before, after = _size_of(node.args[0]), _size_of(node)
    dim = positive(dim, len(before))
    if before[dim] == after[dim]:
        return x
    start = start or 0
    if step != 1 or not isinstance(start, int):
        raise Refused("a slice with steps, or that begins at a size; legal begin at a number")
    if start < 0:
        start = max(0, before[dim] + start)
    return narrowed(capture, x, dim, start, after[dim])


@operation("aten.select.int")
def _select(capture, node, x, dim, index):
    dim = positive(dim, len(x.shape))
    size = _size_of(node.args[0])[dim]
    if not isinstance(index, int) or (index < 0 and not isinstance(size, int)):
        raise Refused("an element at a place that is no number")
    part = narrowed(capture, x, dim, index % size if index < 0 else index, 1)
    return f.reshape(part, part.shape[:dim] + part.shape[dim + 1:])
