"""The functions of the language (docs/language.md), on tensors of a program and numbers.

`axes`: the mesh's axes that a collective is over, a name or several; may be left out if one fits.
A slice is a dim as 0, the dims from..to as (0, 1), or "*".
"""
from __future__ import annotations

from typing import Sequence, Tuple, Union

from . import _coconet
from ._coconet import Dim, DType, Slice, Tensor

Operand = Union[Tensor, int, float, bool]
Cut = Union[int, Tuple[int, int], str, Slice]
_call = _coconet._call


def abs(x: Operand) -> Tensor:
    return _call("abs", [x])


def sqrt(x: Operand) -> Tensor:
    return _call("sqrt", [x])


def rsqrt(x: Operand) -> Tensor:
    return _call("rsqrt", [x])


def exp(x: Operand) -> Tensor:
    return _call("exp", [x])


def log(x: Operand) -> Tensor:
    return _call("log", [x])


def tanh(x: Operand) -> Tensor:
    return _call("tanh", [x])


def erf(x: Operand) -> Tensor:
    return _call("erf", [x])


def relu(x: Operand) -> Tensor:
    return _call("relu", [x])


def gelu(x: Operand) -> Tensor:
    return _call("gelu", [x])


def silu(x: Operand) -> Tensor:
    return _call("silu", [x])


def sigmoid(x: Operand) -> Tensor:
    return _call("sigmoid", [x])


def pow(x: Operand, exponent: Operand) -> Tensor:
    return _call("pow", [x, exponent])


def where(condition: Operand, x: Operand, y: Operand) -> Tensor:
    return _call("where", [condition, x, y])


def cast(x: Operand, dtype: DType | str) -> Tensor:
    return _call("cast", [x, dtype])


def dropout(x: Operand, p: Operand, site: int | None = None) -> Tensor:
    """The same mask for any schedule. site: numbered in order if left out."""
    return _call("dropout", [x, p, site])


# --- Products, reductions, normalisation


def matmul(a: Operand, b: Operand, ta: bool = False, tb: bool = False,
           out: DType | str | None = None) -> Tensor:
    """ta, tb: the operand is given transposed. out: the dtype of the result."""
    return _call("matmul", [a, b, ta, tb, out])


def conv2d(x: Operand, w: Operand, stride: int = 1, padding: int = 0,
           size: Sequence[int | Dim] | int | Dim | None = None) -> Tensor:
    return _call("conv2d", [x, w, stride, padding, size])


def sum(x: Operand, dims: Sequence[int] | None = None) -> Tensor:
    """Over dims, which stay as 1; over the whole tensor without."""
    return _call("sum", [x, dims])


def prod(x: Operand, dims: Sequence[int] | None = None) -> Tensor:
    return _call("prod", [x, dims])


def mean(x: Operand, dims: Sequence[int] | None = None) -> Tensor:
    return _call("mean", [x, dims])


def max(x: Operand, y: Operand | Sequence[int] | None = None) -> Tensor:
    """max(x): of the whole tensor; max(x, [0]): over dims; max(x, y): of each two elements, where y
    is a tensor or a number."""
    return _call("max", [x, y])


def min(x: Operand, y: Operand | Sequence[int] | None = None) -> Tensor:
    """As max."""
    return _call("min", [x, y])


def norm(x: Operand, out: DType | str | None = None) -> Tensor:
    return _call("norm", [x, out])


def layer_norm(x: Operand, gamma: Operand, beta: Operand, eps: Operand) -> Tensor:
    return _call("layer_norm", [x, gamma, beta, eps])


def rms_norm(x: Operand, gamma: Operand, eps: Operand) -> Tensor:
    return _call("rms_norm", [x, gamma, eps])


def softmax(x: Operand, dims: Sequence[int] | None = None) -> Tensor:
    """Without dims: over the last."""
    return _call("softmax", [x, dims])


def across(x: Operand, fold: str, size: Sequence[int | Dim] | int | Dim | None = None) -> Tensor:
    """The fold of a list's members, in list order; of tensors, which all have the shape `size`."""
    return _call("across", [x, fold, size])


# --- Movement of data


def transpose(x: Operand, order: Sequence[int]) -> Tensor:
    return _call("transpose", [x, order])


def reshape(x: Operand, shape: Sequence[int | Dim]) -> Tensor:
    return _call("reshape", [x, shape])


def narrow(x: Operand, dim: int, start: int | Dim, length: int | Dim) -> Tensor:
    return _call("narrow", [x, dim, start, length])


def concat(tensors: Sequence[Tensor], dim: int,
           size: Sequence[int | Dim] | int | Dim | None = None) -> Tensor:
    return _call("concat", [tensors, dim, size])


def update(storage: Tensor, value: Operand) -> Tensor:
    """The new value of a state or input; what reads the old one runs before."""
    return _call("update", [storage, value])


# --- Communication


def all_reduce(x: Operand, fold: str, axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("all_reduce", [x, fold], axes)


def reduce_scatter(x: Operand, fold: str, slice: Cut,
                   axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("reduce_scatter", [x, fold, slice], axes)


def all_gather(x: Operand, axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("all_gather", [x], axes)


def reduce(x: Operand, fold: str, root: int, axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("reduce", [x, fold, root], axes)


def broadcast(x: Operand, root: int | None = None,
              axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("broadcast", [x, root], axes)


def all_to_all(x: Operand, from_slice: Cut, to_slice: Cut,
               axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("all_to_all", [x, from_slice, to_slice], axes)


def shard(x: Operand, slice: Cut, axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("shard", [x, slice], axes)


def root(x: Operand, rank: int, axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("root", [x, rank], axes)


def as_partial(x: Operand, fold: str, axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("as_partial", [x, fold], axes)


def stack(x: Operand, axes: str | Sequence[str] | None = None) -> Tensor:
    return _call("stack", [x], axes)


def shift(x: Operand, axis: str, by: int, wrap: bool = False) -> Tensor:
    """To the rank `by` further on the axis; zeros where none sends."""
    return _call("shift", [x, None, by, wrap], axis)
