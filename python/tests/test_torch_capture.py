"""Programs from torch functions: what they compute is what the function computes."""
import pytest

from ranks import on_ranks

torch = pytest.importorskip("torch", reason="torch is not installed: tools/python.sh torch")

# A function, its whole tensors, its placements, and a result's dim that is cut (None: whole).
HEAD = """
import torch.distributed._functional_collectives as funcol
from torch.nn import functional as F
torch.manual_seed(3)

def pieces_of(whole, cuts):
    return {name: tensor.chunk(ranks, cuts[name])[rank].contiguous() if name in cuts else tensor
            for name, tensor in whole.items()}

def agrees(function, whole, cuts, dims=None, atol=1e-5, text=()):
    pieces = pieces_of(whole, cuts)
    graph = ct.capture(function, pieces, {name: cc.sliced(dim) for name, dim in cuts.items()}, dims)
    for part in text:
        assert part in str(graph), str(graph)
    want = function(**pieces)
    want = want if isinstance(want, tuple) else (want,)
    sizes = {} if dims is None else {name: tensor.shape[at] for each, names in dims.items()
                                     for tensor in [whole[each]]
                                     for at, name in enumerate(names) if name}
    got = ct.compile(graph, sizes=sizes)(**pieces)
    got = got if isinstance(got, tuple) else (got,)
    for a, b in zip(got, want):
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
        if a.is_floating_point():
            assert torch.allclose(a, b, atol=atol), (a - b).abs().max()
        else:
            assert torch.equal(a, b)
    return graph
"""


def run(tmp_path, ranks, body):
    on_ranks(tmp_path, ranks, HEAD + body)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_tail_of_tensor_parallelism(tmp_path, ranks):
    run(tmp_path, ranks, '''
def tail(x, w, b, r, gamma, beta):
    part = x @ w
    total = funcol.all_reduce(part, "sum", dist.group.WORLD)
    added = F.dropout(total + b, 0.1, training=False) + r
    return F.layer_norm(added, (16,), gamma, beta, 1e-5)

whole = {"x": torch.randn(2, 6, 32), "w": torch.randn(32, 16), "b": torch.randn(16),
         "r": torch.randn(2, 6, 16), "gamma": torch.randn(16), "beta": torch.randn(16)}
cuts = {"x": 2, "w": 0} if ranks > 1 else {}
if ranks > 1:
    graph = agrees(tail, whole, cuts, text=["total = all_reduce(part, +)", "added = "])
    s = cc.Scheduling("scattered", graph)
    rs, ag = s.split("total", into=["rs", "ag"])          # the variable's name
    named = {"x": ["B", "S", None], "r": ["B", "S", None]}
    graph = agrees(tail, whole, cuts, named, text=["f32[B,S,16]"])
    tail_of = ct.compile(graph, sizes={})                  # at other sizes
    whole["x"], whole["r"] = torch.randn(3, 5, 32), torch.randn(3, 5, 16)
    pieces = pieces_of(whole, cuts)
    assert torch.allclose(tail_of(**pieces), tail(**pieces), atol=1e-5)
''')


def test_pointwise_and_norms_and_shapes(tmp_path):
    run(tmp_path, 2, '''
def mixed(x, y, k, mask, gamma):
    a = torch.where(mask, x * 2 - y, x / (y.abs() + 1)).clamp(-1, 2)
    b = F.gelu(a) + F.silu(a) + torch.sigmoid(a) + torch.tanh(a) + torch.exp(-a) + a ** 2
    c = (b + k).transpose(0, 1).reshape(4, 2, 6).permute(1, 0, 2)
    d = torch.softmax(c, -1).sum(1) + c.mean(1) + c.amax(1)
    e = F.rms_norm(d, (6,), gamma, 1e-6)
    f = torch.cat([e[:, 1:4], e[:, :3]], 1).unsqueeze(1).flatten()
    g = torch.maximum(f, f.square().sqrt()).to(torch.float64)
    return e, g, g > 0.5, x.half() + 1, (k // 1 if False else k + 1), e[0], x.norm()

agrees(mixed, {"x": torch.randn(6, 8), "y": torch.randn(6, 8), "k": torch.arange(8),
               "mask": torch.randn(6, 8) > 0, "gamma": torch.randn(6)}, {}, atol=1e-5)

def heads(x, w):
    y = (x @ w).view(2, 5, -1, 4)             # of this rank's heads
    z = torch.softmax(y.transpose(1, 2) @ y.permute(0, 2, 3, 1), -1)
    return (z @ y.transpose(1, 2)).transpose(1, 2).reshape(2, 5, -1)

def scores(x, w):                             # w is cut where x is whole, of one name
    return (x @ w).relu()

agrees(scores, {"x": torch.randn(6, 8), "w": torch.randn(8, 6)}, {"w": 1},
       {"x": ["N", None], "w": [None, "N"]})
agrees(lambda x: x[:, -9:-1] * 2, {"x": torch.randn(4, 3)}, {"x": 0})
agrees(heads, {"x": torch.randn(2, 5, 8), "w": torch.randn(8, 16)}, {"w": 1}, atol=1e-5)
''')


@pytest.mark.parametrize("ranks", [2, 4])
def test_collectives(tmp_path, ranks):
    run(tmp_path, ranks, '''
world = dist.group.WORLD

def rows(x):
    y = funcol.all_gather_tensor(x * 2, 0, world)
    return y + 1

def columns(x):
    return funcol.all_gather_tensor(x, 1, world)

def largest(x):
    return funcol.all_reduce(x.amax(1), "max", world)

x = torch.randn(8, 12)
agrees(rows, {"x": x}, {"x": 0}, text=["all_gather"])
agrees(columns, {"x": x}, {"x": 1}, text=["all_gather"])
agrees(largest, {"x": x}, {"x": 1}, text=["all_reduce"])

def summed(g, p):
    mean = funcol.all_reduce(g, "avg" if False else "sum", world) / 2
    return p - 0.1 * mean, funcol.reduce_scatter_tensor(g, "sum", 0, world), \\
        funcol.reduce_scatter_tensor(g, "sum", 1, world)

g, p = torch.randn(8, 12) * (rank + 1), x
graph = ct.capture(summed, {"g": g, "p": p}, {"g": cc.local})
assert "reduce_scatter(g, +, (1))" in str(graph), str(graph)
for got, want in zip(ct.compile(graph)(g=g, p=p), summed(g, p)):
    assert torch.allclose(got, want, atol=1e-5)
''')


def test_a_module_and_dtensors(tmp_path):
    run(tmp_path, 4, '''
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 6)

    def forward(self, x):
        return F.relu(self.fc(x))

net = Net()
graph = ct.capture(net, {"x": torch.randn(3, 8)})
x = torch.randn(3, 8)
got = ct.compile(graph)(x=x, fc_weight=net.fc.weight.detach(), fc_bias=net.fc.bias.detach())
assert torch.allclose(got, net(x), atol=1e-6)

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
x = distribute_tensor(torch.randn(4, 8), mesh, [Shard(0), Shard(1)])
w = distribute_tensor(torch.randn(8, 6), mesh, [Replicate(), Shard(0)])

def tail(x, w):
    return funcol.all_reduce(x @ w, "sum", mesh.get_group("tp"))

graph = ct.capture(tail, {"x": x, "w": w})
assert "x: f32[4,8] sliced(0)@dp sliced(1)@tp" in str(graph), str(graph)
assert "@tp" in str(graph) and "w: f32[8,6] sliced(0)@tp" in str(graph)
got = ct.compile(graph, ranks={"dp": 2, "tp": 2})(x=x.to_local(), w=w.to_local())
assert torch.allclose(got, tail(x.to_local(), w.to_local()), atol=1e-5)
''')


def test_what_cannot_be_captured_is_named_with_its_place(tmp_path):
    run(tmp_path, 2, '''
def strange(x):
    y = torch.sort(x).values
    z = torch.fft.fft(x)
    return y + 1

refused(lambda: ct.capture(strange, {"x": torch.randn(4)}), "aten.sort.default", "ranks.py:",
        "y = torch.sort(x).values", "aten.fft")

def of_a_piece(x):
    return x.mean(1)

refused(lambda: ct.capture(of_a_piece, {"x": torch.randn(4, 4)}, {"x": cc.sliced(1)}),
        "aten.mean.dim", "cut over ranks")

def scaled(x):
    return x / x.shape[0]

refused(lambda: ct.capture(scaled, {"x": torch.randn(4, 4)}, dims={"x": ["N", None]}),
        "made of dims with names")
assert "/ 4" in str(ct.capture(scaled, {"x": torch.randn(4, 4)}))

def adds_too_often(x, b):
    return funcol.all_reduce(x.sum(1) + b, "sum", dist.group.WORLD)

refused(lambda: ct.capture(adds_too_often, {"x": torch.randn(4, 4), "b": torch.randn(4)},
                           {"x": cc.sliced(1)}), "partial")
refused(lambda: ct.capture(scaled, {"x": torch.randn(4, 4)}, {"y": cc.local}), "y", "x")
refused(lambda: ct.capture(scaled, {"x": 3.0}), "float")

refused(lambda: ct.capture(lambda x: x.chunk(2)[0], {"x": torch.randn(4)}, {"x": cc.sliced(0)}),
        "a part over dim 0")
kept = torch.ones(4)

def adds_its_own(x):
    return x + kept

refused(lambda: ct.capture(adds_its_own, {"x": torch.randn(4)}), "of its own")
refused(lambda: ct.capture(lambda x: x[:, -9:-1] + x[:1, :2], {"x": torch.randn(4, 3)},
                           {"x": cc.sliced(0)}), "a part over dim 0")

def writes(x):
    x.add_(1)
    return x * 2

refused(lambda: ct.capture(writes, {"x": torch.randn(4)}), "add_")
''')
