"""Optimizers for data-parallel training: gradients are averaged over the ranks, the parameters
updated and the state kept, 1/ranks of it on each rank, in one fused step."""
import torch
import torch.distributed as dist

from .. import _coconet
from ..running import error
from . import compile, empty, world

_BLOCK = 1024  # elements: members of a list stand at multiples (coconet/type/list.h)

_HEAD = """
mesh world(dp)
dim N_i
program step(g: f32[N_i] list local, p: f32[N_i] list, state m: f32[N_i] list,
             state v: f32[N_i] list, scalar t: i32, scalar lr: f32, scalar beta1: f32,
             scalar beta2: f32, scalar eps: f32, scalar wd: f32) {
  total = all_reduce(g, +)
  %s
  m2    = update(m, beta1 * m + (1 - beta1) * avg)
  v2    = update(v, beta2 * v + (1 - beta2) * avg * avg)
  mh    = m2 / (1 - pow(beta1, t))
  vh    = v2 / (1 - pow(beta2, t))
  %s
  return p2
}
schedule sharded for step {
  rs, ag           = split(total)
  body, gm, gv, gp = reorder(ag, [avg, m2, v2, mh, vh, %s])
  as_slice(m); as_slice(v)
  dead(gm); dead(gv)
  fuse(rs, body, gp)
}
"""
_MEAN = "avg   = total / size(dp)"
_ADAM = (_MEAN + " + wd * p", "p2 = update(p, p - lr * mh / (sqrt(vh) + eps))", "p2")
_ADAMW = (_MEAN, "p2 = update(p, p * (1 - lr * wd) - lr * mh / (sqrt(vh) + eps))", "p2")
_LAMB = (_MEAN, """u     = mh / (sqrt(vh) + eps) + wd * p
  np    = norm(p)
  nu    = norm(u)
  ratio = where(np > 0 and nu > 0, np / nu, 1)
  p2    = update(p, p - lr * ratio * u)""", "u, np, nu, ratio, p2")


class _Packed:
    """Memory of a list of tensors: each begins at a multiple of blocks."""

    def __init__(self, tensors):
        self.counts = [tensor.numel() for tensor in tensors]
        self.first = [0]
        for count in self.counts:
            self.first.append(self.first[-1] + -(-count // _BLOCK) * _BLOCK)
        self.memory = empty(self.first[-1])  # zeros
        self.views = self.views_of(self.memory, [tensor.shape for tensor in tensors])

    def views_of(self, memory, shapes):
        return [memory[first:first + count].view(shape)
                for first, count, shape in zip(self.first, self.counts, shapes)]


class _Group:
    """The parameters of one group of the optimizer, moved to memory where they stand together."""

    def __init__(self, params, text):
        for param in params:
            if param.dtype != torch.float32 or param.device.type != "cpu":
                raise error("unsupported", f"found a parameter of {param.dtype} on "
                             f"{param.device}; needed are parameters of float32 on the CPU")
        self.params = params
        self.p, self.g = _Packed(params), _Packed(params)
        for param, view, grad in zip(params, self.p.views, self.g.views):
            view.copy_(param.data)
            param.data = view
            if param.grad is not None:
                grad.copy_(param.grad)
            param.grad = grad
        file = _coconet.parse(text)
        sizes = {"N_i": self.p.counts}
        self.step = compile(file.program(), file.schedule("sharded"), sizes=sizes)
        self.rank = self.step.rank(sizes, p=self.p.memory, g=self.g.memory)
        self.m, self.v = (torch.zeros(self.rank.shape(name)) for name in ("m", "v"))
        self.t = 0

    def take(self):
        """Parameters and gradients that stand elsewhere by now, back to where the step has them."""
        for param, own, view in zip(self.params, self.p.views, self.g.views):
            if param.data_ptr() != own.data_ptr():
                own.copy_(param.data)
                param.data = own
            if param.grad is None:
                view.zero_()
            elif param.grad.data_ptr() != view.data_ptr():
                view.copy_(param.grad)
            param.grad = view

    def whole(self, piece, name):
        """The whole state of all parameters, from the ranks' pieces."""
        out = torch.zeros_like(self.p.memory)
        first = self.rank.first(name)
        out[first:first + piece.numel()] = piece
        dist.all_reduce(out, group=world().group)
        return out

    def load(self, states):
        """By parameter: what torch's Adam has of it, or None."""
        steps = {int(state["step"]) for state in states if state}
        if len(steps) > 1:
            raise error("unsupported", f"found parameters after {sorted(steps)} steps; needed is "
                        "one number for all of a group")
        self.t = steps.pop() if steps else 0
        shapes = [param.shape for param in self.params]
        for piece, name, key in ((self.m, "m", "exp_avg"), (self.v, "v", "exp_avg_sq")):
            whole = torch.zeros_like(self.p.memory)
            for state, view in zip(states, self.p.views_of(whole, shapes)):
                if state:
                    view.copy_(state[key])
            first = self.rank.first(name)
            piece.copy_(whole[first:first + piece.numel()])


class _Sharded(torch.optim.Optimizer):
    def __init__(self, params, defaults, parts):
        super().__init__(params, defaults)
        self._text = _HEAD % parts
        self._packed = [_Group(group["params"], self._text) for group in self.param_groups]

    def add_param_group(self, group):
        super().add_param_group(group)
        if hasattr(self, "_packed"):
            self._packed.append(_Group(self.param_groups[-1]["params"], self._text))

    def zero_grad(self, set_to_none=True):
        """Gradients stay where they are, as zeros, whatever set_to_none says."""
        for packed in self._packed:
            packed.take()
            packed.g.memory.zero_()

    @torch.no_grad()
    def step(self, closure=None):
        """One step on all ranks, with the mean of their gradients; a parameter without one counts
        as having zeros."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group, packed in zip(self.param_groups, self._packed):
            packed.take()
            packed.t += 1
            packed.step(g=packed.g.memory, p=packed.p.memory, m=packed.m, v=packed.v, t=packed.t,
                        lr=float(group["lr"]), beta1=group["betas"][0], beta2=group["betas"][1],
                        eps=group["eps"], wd=group["weight_decay"])
        return loss

    def state_bytes(self):
        """Of the state that this rank keeps."""
        return sum(4 * (packed.m.numel() + packed.v.numel()) for packed in self._packed)

    def state_dict(self):
        """As torch's Adam has it, whole on every rank, so that any number of ranks may load it; all
        ranks call it together."""
        self.state.clear()
        for packed in self._packed:
            shapes = [param.shape for param in packed.params]
            m, v = (packed.p.views_of(packed.whole(piece, name), shapes)
                    for piece, name in ((packed.m, "m"), (packed.v, "v")))
            for param, exp_avg, exp_avg_sq in zip(packed.params, m, v):
                self.state[param] = {"step": torch.tensor(float(packed.t)),
                                     "exp_avg": exp_avg.clone(), "exp_avg_sq": exp_avg_sq.clone()}
        out = super().state_dict()
        self.state.clear()
        return out

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        for packed in self._packed:
            packed.load([self.state.get(param) for param in packed.params])
        self.state.clear()

    def sharded_state_dict(self):
        """This rank's part alone, for as many ranks as there are now."""
        here = world()
        return {"ranks": here.ranks, "rank": here.rank,
                "groups": [{"step": packed.t, "m": packed.m.clone(), "v": packed.v.clone()}
                           for packed in self._packed]}

    def load_sharded_state_dict(self, state):
        here = world()
        found, needed = (state["ranks"], state["rank"]), (here.ranks, here.rank)
        if found != needed:
            raise error("data", f"found the state of rank {found[1]} of {found[0]}; needed is "
                        f"that of rank {needed[1]} of {needed[0]}; state_dict() may be loaded by "
                        "any number of ranks")
        sizes = [group["m"].numel() for group in state["groups"]]
        own = [packed.m.numel() for packed in self._packed]
        if sizes != own:
            raise error("data", f"found groups of {sizes} elements on this rank; needed are {own}")
        for packed, held in zip(self._packed, state["groups"]):
            packed.m.copy_(held["m"])
            packed.v.copy_(held["v"])
            packed.t = held["step"]


class ShardedAdam(_Sharded):
    """torch.optim.Adam over the mean of the ranks' gradients; with decoupled, AdamW.

    Each rank keeps 1/ranks of the state. The parameters, float32 on the CPU and alike on all ranks,
    are moved to memory where they stand together, their gradients too; both stay torch's tensors.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 decoupled=False):
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults, _ADAMW if decoupled else _ADAM)


class ShardedLAMB(_Sharded):
    """LAMB (You et al., 2020) over the mean of the ranks' gradients, sharded as ShardedAdam."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults, _LAMB)
