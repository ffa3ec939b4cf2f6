"""The functions of the language (docs/language.md), on tensors of a program and numbers.

`axes`: the mesh's axes that a collective is over, a name or several; may be left out if one fits.
A slice is a dim as 0, the dims from..to as (0, 1), or "*".
"""
from . import _coconet

_call = _coconet._call


def abs(x):
    return _call("abs", [x])


def sqrt(x):
    return _call("sqrt", [x])


def rsqrt(x):
    return _call("rsqrt", [x])


def exp(x):
    return _call("exp", [x])


def log(x):
    return _call("log", [x])


def tanh(x):
    return _call("tanh", [x])


def erf(x):
    return _call("erf", [x])


def relu(x):
    return _call("relu", [x])


def gelu(x):
    return _call("gelu", [x])


def silu(x):
    return _call("silu", [x])


def sigmoid(x):
    return _call("sigmoid", [x])


def pow(x, exponent):
    return _call("pow", [x, exponent])


def where(condition, x, y):
    return _call("where", [condition, x, y])


def cast(x, dtype):
    return _call("cast", [x, dtype])


def dropout(x, p, site=None):
    """The same mask for any schedule. site: numbered in order if left out."""
    return _call("dropout", [x, p, site])


# --- Products, reductions, normalisation


def matmul(a, b, ta=False, tb=False, out=None):
    """ta, tb: the operand is given transposed. out: the dtype of the result."""
    return _call("matmul", [a, b, ta, tb, out])


def conv2d(x, w, stride=1, padding=0, size=None):
    return _call("conv2d", [x, w, stride, padding, size])


def sum(x, dims=None):
    """Over dims, which stay as 1; over the whole tensor without."""
    return _call("sum", [x, dims])


def prod(x, dims=None):
    return _call("prod", [x, dims])


def mean(x, dims=None):
    return _call("mean", [x, dims])


def max(x, y=None):
    """max(x): of the whole tensor; max(x, [0]): over dims; max(x, y): of each two elements, where y
    is a tensor or a number."""
    return _call("max", [x, y])


def min(x, y=None):
    """As max."""
    return _call("min", [x, y])


def norm(x, out=None):
    return _call("norm", [x, out])


def layer_norm(x, gamma, beta, eps):
    return _call("layer_norm", [x, gamma, beta, eps])


def rms_norm(x, gamma, eps):
    return _call("rms_norm", [x, gamma, eps])


def softmax(x, dims=None):
    """Without dims: over the last."""
    return _call("softmax", [x, dims])


def across(x, fold, size=None):
    """The fold of a list's members, in list order; of tensors, which all have the shape `size`."""
    return _call("across", [x, fold, size])


# --- Movement of data


def transpose(x, order):
    return _call("transpose", [x, order])


def reshape(x, shape):
    return _call("reshape", [x, shape])


def narrow(x, dim, start, length):
    return _call("narrow", [x, dim, start, length])


def concat(tensors, dim, size=None):
    return _call("concat", [tensors, dim, size])


def update(storage, value):
    """The new value of a state or input; what reads the old one runs before."""
    return _call("update", [storage, value])


# --- Communication


def all_reduce(x, fold, axes=None):
    return _call("all_reduce", [x, fold], axes)


def reduce_scatter(x, fold, slice, axes=None):
    return _call("reduce_scatter", [x, fold, slice], axes)


def all_gather(x, axes=None):
    return _call("all_gather", [x], axes)


def reduce(x, fold, root, axes=None):
    return _call("reduce", [x, fold, root], axes)


def broadcast(x, root=None, axes=None):
    return _call("broadcast", [x, root], axes)


def all_to_all(x, from_slice, to_slice, axes=None):
    return _call("all_to_all", [x, from_slice, to_slice], axes)


def shard(x, slice, axes=None):
    return _call("shard", [x, slice], axes)


def root(x, rank, axes=None):
    return _call("root", [x, rank], axes)


def as_partial(x, fold, axes=None):
    return _call("as_partial", [x, fold], axes)


def stack(x, axes=None):
    return _call("stack", [x], axes)


def shift(x, axis, by, wrap=False):
    """To the rank `by` further on the axis; zeros where none sends."""
    return _call("shift", [x, None, by, wrap], axis)
