"""Layers of tensor parallelism (Shoeybi et al., Megatron-LM, 2019): the inner dim of two products
is cut over the ranks, by columns in the first and by rows in the second."""
import torch

from .. import _coconet
from ..running import error
from . import compile, world

_ROW = """
mesh world(tp)
dim N, K, M
program row_parallel(x: f32[N,K] sliced(1), w: f32[M,K] sliced(1), b: f32[M]{inputs},
                     scalar rate: f32{scalars}) {{
  layer = matmul(x, w, tb=true)
  total = all_reduce(layer, +)
  drop  = dropout(total + b, rate){steps}
  return {out}
}}
schedule overlapped for row_parallel {{
  rs, ag       = split(total)
  body, gather = reorder(ag, [{moved}])
  ar           = fuse(rs, body, gather)
  overlap(layer, ar)
}}
"""
_COLUMN = """
mesh world(tp)
dim N, K, M
program column_parallel(x: f32[N,K], w: f32[M,K] sliced(0), b: f32[M] sliced(0)) {
  y = matmul(x, w, tb=true) + b
  return y
}
"""


def _row_text(residual, norm):
    inputs, scalars, steps, moved = "", "", "", ["drop"]
    if residual:
        inputs += ", r: f32[N,M]"
        steps += "\n  added = drop + r"
        moved.append("added")
    if norm:
        inputs += ", gamma: f32[M]" + (", beta: f32[M]" if norm == "layer" else "")
        scalars += ", scalar eps: f32"
        weights = "gamma, beta" if norm == "layer" else "gamma"
        steps += f"\n  normed = {norm}_norm({moved[-1]}, {weights}, eps)"
        moved.append("normed")
    return _ROW.format(inputs=inputs, scalars=scalars, steps=steps, out=moved[-1],
                       moved=", ".join(moved))


def _need_cut(name, features, ranks):
    if features % ranks != 0:
        raise error("usage", f"found {name}={features} for {ranks} ranks; needed is a multiple")


class RowParallelLinear(torch.nn.Module):
    """norm(dropout(x w^T + b) + residual), each rank having its columns of x and of w, [out, in]:
    the product, the sum over the ranks and what follows overlap chunk by chunk.

    x: [..., in / ranks] of this rank; residual, if it is built with one, and the result:
    [..., out], whole. norm: None, "layer" or "rms". Rank r's weight is [:, r * in / ranks :] of the
    whole; `load(weight, bias)` takes that of a torch.nn.Linear. Dropout as the module's training
    mode says, of a seed of the layer's own.
    """

    def __init__(self, in_features, out_features, dropout=0.0, residual=False, norm=None, eps=1e-5,
                 seed=None):
        super().__init__()
        if norm not in (None, "layer", "rms"):
            raise error("usage", f"found norm={norm!r}; legal: None, 'layer', 'rms'")
        here = world()
        _need_cut("in_features", in_features, here.ranks)
        self.features, self.dropout, self.residual = (in_features, out_features), dropout, residual
        self.norm, self.eps, self._frozen = norm, eps, None
        own = in_features // here.ranks
        bound = in_features**-0.5
        self.weight = torch.nn.Parameter(torch.empty(out_features, own).uniform_(-bound, bound))
        self.bias = torch.nn.Parameter(torch.zeros(out_features))
        if norm:
            self.gamma = torch.nn.Parameter(torch.ones(out_features))
        if norm == "layer":
            self.beta = torch.nn.Parameter(torch.zeros(out_features))
        file = _coconet.parse(_row_text(residual, norm))
        self._function = compile(file.program(), file.schedule("overlapped"), seed=seed,
                                 sizes={"K": in_features})

    @torch.no_grad()
    def load(self, weight, bias):
        self.weight.copy_(weight.chunk(world().ranks, 1)[world().rank])
        self.bias.copy_(bias)

    def freeze(self):
        """For inference: the weight does not change until train() or freeze() again, so
        that it is packed for the product once. A change that torch sees is an error of the next
        call; one of weight.data it does not see."""
        self._frozen = self._state_of_weight()
        self._function.hold_constant("w")

    def train(self, mode=True):
        if mode and self._frozen:
            self._frozen = None
            self._function.release_constant("w")
        return super().train(mode)

    def _state_of_weight(self):
        return self.weight.data_ptr(), self.weight._version

    def forward(self, x, residual=None):
        if self._frozen and self._frozen != self._state_of_weight():
            raise error("usage", "found a weight that has changed since freeze(); call it again, "
                        "or train()")
        if (residual is not None) != self.residual:
            found = "no residual in a layer built with one" if self.residual else \
                "a residual in a layer built without"
            raise error("usage", f"found {found}")
        lead, out = x.shape[:-1], self.features[1]
        given = {"x": x.reshape(-1, x.shape[-1]).contiguous(), "w": self.weight, "b": self.bias}
        if self.residual:
            given["r"] = residual.reshape(-1, out).contiguous()
        if self.norm:
            given.update(gamma=self.gamma, eps=self.eps)
        if self.norm == "layer":
            given["beta"] = self.beta
        return self._function(rate=self.dropout if self.training else 0.0, **given).view(*lead, out)


class ColumnParallelLinear(torch.nn.Module):
    """x w^T + b, each rank having its rows of w, [out, in], and its columns of the result.

    x: [..., in], whole; the result: [..., out / ranks] of this rank. Its gradient by x is summed
    over the ranks.
    """

    def __init__(self, in_features, out_features):
        super().__init__()
        here = world()
        _need_cut("out_features", out_features, here.ranks)
        self.features = (in_features, out_features)
        own, bound = out_features // here.ranks, in_features**-0.5
        self.weight = torch.nn.Parameter(torch.empty(own, in_features).uniform_(-bound, bound))
        self.bias = torch.nn.Parameter(torch.zeros(own))
        self._function = compile(_coconet.parse(_COLUMN).program(), sizes={"M": out_features})

    @torch.no_grad()
    def load(self, weight, bias):
        self.weight.copy_(weight.chunk(world().ranks, 0)[world().rank])
        self.bias.copy_(bias.chunk(world().ranks)[world().rank])

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1]).contiguous()
        y = self._function(x=flat, w=self.weight, b=self.bias)
        return y.view(*x.shape[:-1], y.shape[-1])
