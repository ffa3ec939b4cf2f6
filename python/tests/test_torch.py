"""Programs on torch tensors, in ranks of torch.distributed."""
import subprocess
import sys

import pytest

from ranks import on_ranks

torch = pytest.importorskip("torch", reason="torch is not installed: tools/python.sh torch")


@pytest.mark.parametrize("ranks", [2, 3])
def test_adam_as_torch_has_it(tmp_path, ranks):
    on_ranks(tmp_path, ranks, """
        file = cc.read("examples/adam.coco", dtypes={"G": "f32"})
        step = ct.compile(file.program(), file.schedule("sharded"))
        n = 5000
        own = [torch.Generator().manual_seed(r) for r in range(dist.get_world_size())]
        want = torch.nn.Parameter(torch.linspace(-1, 1, n))
        adam = torch.optim.Adam([want], lr=1e-3)
        p = want.detach().clone()
        rank_of = step.rank({"N": n})
        m, v = (torch.zeros(rank_of.shape(name)) for name in ("m", "v"))
        for t in range(1, 4):
            grads = [torch.randn(n, generator=g) for g in own]
            want.grad = sum(grads[1:], grads[0].clone()) / len(grads)
            adam.step()
            before = p.data_ptr()
            result = step(g=grads[rank], p=p, m=m, v=v, t=t)
            assert result is p and p.data_ptr() == before
            assert torch.allclose(p, want.detach(), atol=1e-6), (p - want).abs().max()
        assert m.numel() < n  # sharded
    """)


def test_outputs_and_two_sizes(tmp_path):
    on_ranks(tmp_path, 2, """
        graph = cc.parse('''
        mesh world(dp)
        dim N
        program both(x: f32[N] local, scalar a: f32 = 2) {
          s = all_reduce(x, +) * a
          r = reduce_scatter(x, +, (0))
          return s, r
        }''').program()
        both = ct.compile(graph)
        for n in (10, 7, 10):
            x = torch.full((n,), rank + 1.0)
            s, r = both(x=x)
            assert torch.equal(s, torch.full((n,), 6.0))
            assert torch.equal(r, torch.full((n // 2 + (n % 2 and rank == 0),), 3.0)), r
            kept = torch.empty(n)
            assert both(x=x, a=3.0, s=kept)[0] is kept
            assert torch.equal(kept, torch.full((n,), 9.0))
    """)


def test_bf16_and_a_matmul(tmp_path):
    on_ranks(tmp_path, 2, """
        file = cc.read("examples/attention.coco", dtypes={"T": "bf16"})
        tail = ct.compile(file.program(), file.schedule("overlapped"), sizes={"H": 64})
        torch.manual_seed(1)
        B, S, H = 2, 8, 64
        x, w, b, r = (torch.randn(s).bfloat16() for s in ((B, S, H), (H, H), (H,), (B, S, H)))
        half = slice(rank * 32, rank * 32 + 32)
        out = tail(x=x[..., half].contiguous(), w=w[half].contiguous(), b=b, r=r, rate=0.0)
        want = x.float() @ w.float() + b.float() + r.float()
        assert torch.allclose(out.float(), want, atol=0.2, rtol=0.02), (out - want).abs().max()
    """)


REFUSED = [
    ("step(x=torch.zeros(4).double())", "torch.float64"),
    ("step(x=torch.zeros(8)[::2])", "strides"),
    ("step(x=[1.0])", "found a list"),
    ("step(x=torch.zeros(4), y=torch.zeros(4, requires_grad=True))", "no_grad"),
    ("step()", "without x"),
    ("step(x=torch.zeros(4), z=1)", "z, which it has not"),
    ("step(x=torch.zeros(4, device='meta'))", "meta"),
    ("step(x=torch.zeros(4), y=torch.zeros(5))", "y"),
    ("lr(x=torch.zeros(4))", "without a"),
    ("lr(x=torch.zeros(4), a='3')", "found '3'"),
    ("lr(x=torch.zeros(4), k=2.5)", "found 2.5; needed is a number that i32 has"),
    ("step(x=torch.zeros(4).to_sparse())", "sparse"),
    ("step(x=torch._neg_view(torch.ones(4)))", "negative"),
    # as many elements in another shape
    ("square(x=torch.zeros(2, 8), y=torch.zeros(4, 4))", "found K=8 in x and K=4 in y"),
    ("square(x=torch.zeros(4, 4), y=torch.zeros(4, 2))", "the shape [4, 2]; needed is [4, 4]"),
    ("step(x=torch.zeros(2, 2))", "x: found the shape [2, 2]; needed is a piece of f32[N] local"),
]


def test_refuses(tmp_path):
    on_ranks(tmp_path, 1, f"""
        text = ("mesh world(dp)\\ndim N\\nprogram p(x: f32[N] local) "
                "{{ y = all_reduce(x, +); return y }}")
        step = ct.compile(cc.parse(text).program())
        lr = ct.compile(cc.parse(text.replace("local)", "local, scalar a: f32, scalar k: i32 = 1)")
                                 .replace("+);", "+) * a * cast(k, f32);")).program())
        square = ct.compile(cc.parse(
            "mesh world(dp)\\ndim N, K\\nprogram q(x: f32[N,K] sliced(0), "
            "y: f32[K,N] sliced(1)) {{ z = x * 2; w = y * 2; return z, w }}").program(),
                            sizes={{"N": 4, "K": 4}})
        for call, text in {REFUSED!r}:
            refused(lambda: eval(call), text)
        assert lr(x=torch.ones(4), a=2.0).sum() == 8
    """)


def test_ranks_that_disagree_are_told(tmp_path):
    out = on_ranks(tmp_path, 2, """
        graph = cc.parse("mesh world(dp)\\ndim N\\nprogram p(x: f32[N] local) "
                         "{ y = all_reduce(x, +)\\n return y }").program()
        ct.compile(graph)(x=torch.zeros(4 + rank))
    """, fails=True)
    assert "joined with N=" in out


def test_needs_ranks():
    done = subprocess.run([sys.executable, "-c", "import coconet.torch as ct; ct.init()"],
                          capture_output=True, text=True)
    assert "needed is one of them" in done.stderr


@pytest.mark.parametrize("first, second", [("torch", "coconet"), ("coconet", "torch")])
def test_either_is_imported_first(first, second):
    """Both have a oneDNN of their own; products of each are right beside the other's."""
    text = f"""
import {first}, {second}, numpy, coconet as cc, torch
graph = cc.parse("mesh world(dp)\\nprogram p(x: f32[64,64], w: f32[64,64]) "
                 "{{ y = matmul(x, w)\\n return y }}").program()
x = torch.randn(64, 64)
want = x.double() @ x.double()
got = cc.compile(graph).run({{"x": x, "w": x}}, ranks=1)["y"]
assert numpy.allclose(got, want.numpy(), atol=1e-4)
conv = torch.nn.functional.conv2d(torch.ones(1, 8, 16, 16), torch.ones(8, 8, 3, 3))
assert (conv == 72).all() and torch.allclose((x @ x).double(), want, atol=1e-4)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_symmetric_tensors_are_used_where_they_are(tmp_path):
    on_ranks(tmp_path, 3, """
        file = cc.read("examples/adam.coco", dtypes={"G": "f32"})
        step = ct.compile(file.program(), file.schedule("sharded"))
        n = 50_000
        torch.manual_seed(rank)
        grad, weight = torch.randn(n), torch.linspace(-1, 1, n)
        both = ct.empty(2, n + 48)          # rows begin at multiples of 128 bytes
        g, p = both[0, :n], both[1, :n]
        assert both.sum() == 0
        p.copy_(weight)
        m, v, m2, v2 = (torch.zeros(step.rank({"N": n}).shape(name)) for name in "mvmv")
        for t in range(1, 4):
            g.copy_(grad * t)
            assert step(g=g, p=p, m=m, v=v, t=t) is p
            step(g=grad * t, p=weight, m=m2, v=v2, t=t)   # staged
            assert torch.equal(p, weight) and torch.equal(m, m2) and torch.equal(v, v2)
        [places] = [places for _, places in step._jobs if places]
        assert [name for name, _, _ in places] == ["g", "p"]

        total = ct.compile(cc.parse('''
        mesh world(dp)
        dim N
        program total(x: f32[N] local) {
          y = all_reduce(x, +)
          return y
        }''').program())
        x = ct.empty(1000)
        x.fill_(rank + 1.0)
        assert torch.equal(total(x=x, y=x), torch.full((1000,), 6.0))  # in place: staged
        assert total(x=x[1:]).numel() == 999                           # at no place: staged
        assert ct.empty(0).numel() == 0 and ct.empty((2, 3), dtype=torch.bfloat16).shape == (2, 3)
        refused(lambda: ct.empty(-1), "-1")
    """)


def test_symmetric_tensors_on_one_rank_alone_are_refused(tmp_path):
    on_ranks(tmp_path, 2, """
        total = ct.compile(cc.parse('''
        mesh world(dp)
        dim N
        program total(x: f32[N] local) {
          y = all_reduce(x, +)
          return y
        }''').program(), timeout=20.0)
        x = ct.empty(1000)
        refused(lambda: total(x=x if rank == 0 else torch.zeros(1000)), "rank 1 joined with")
    """)
