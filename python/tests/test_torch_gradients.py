"""Gradients that are derived, beside torch's own and quotients of differences."""
import pytest

from ranks import on_ranks

torch = pytest.importorskip("torch", reason="torch is not installed: tools/python.sh torch")


PROGRAMS = [
    ("x: f64[N,H], w: f64[H,H], b: f64[H]",
     "y = all_reduce(matmul(shard(x, (1)), shard(w, (0))), +); z = gelu(y + b) + x"),
    ("x: f64[N,H], w: f64[H,H], b: f64[H]",
     "a = silu(matmul(x, shard(w, (1)))); y = all_gather(a); z = rms_norm(y + x, b, 0.01)"),
    ("x: f64[N,H], w: f64[H,H], b: f64[H]",
     "s = shard(x, (0)); y = layer_norm(s * s, b, b, 0.01); z = matmul(all_gather(softmax(y)), w)"),
]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_gradcheck(tmp_path, ranks):
    on_ranks(tmp_path, ranks, f"""
        for inputs, body in {PROGRAMS!r}:
            graph = cc.parse("mesh world(tp)\\ndim N, H\\nprogram f(" + inputs + ") {{ " + body +
                             "; return z }}").program()
            f = ct.compile(graph)
            torch.manual_seed(0)
            given = {{name: torch.randn(shape, dtype=torch.float64, requires_grad=True)
                     for name, shape in (("x", (3, 8)), ("w", (8, 8)), ("b", (8,)))}}
            assert torch.autograd.gradcheck(lambda *xs: f(**dict(zip(given, xs))),
                                            tuple(given.values()))
    """)


def test_a_tail_as_torch_has_it(tmp_path):
    on_ranks(tmp_path, 2, """
        file = cc.read("examples/attention.coco", dtypes={"T": "f32"})
        tail = ct.compile(file.program(), file.schedule("overlapped"), sizes={"H": 64})
        torch.manual_seed(1)
        B, S, H = 2, 8, 64
        whole = [torch.randn(s, requires_grad=True) for s in ((B, S, H), (H, H), (H,), (B, S, H))]
        x, w, b, r = whole
        (x @ w + b + r).square().sum().backward()
        half = slice(rank * 32, rank * 32 + 32)
        own = [x[..., half], w[half], b, r]
        own = [each.detach().clone().contiguous().requires_grad_() for each in own]
        out = tail(**dict(zip("xwbr", own)), rate=0.0)
        out.square().sum().backward()
        for found, want in zip(own, (x.grad[..., half], w.grad[half], b.grad, r.grad)):
            assert torch.allclose(found.grad, want, rtol=1e-4, atol=1e-3), (found.grad - want)
    """)


def test_dropout_drops_the_same_backward(tmp_path):
    on_ranks(tmp_path, 2, """
        graph = cc.parse('''
        mesh world(dp)
        dim N
        program f(x: f32[N], scalar p: f32) {
          y = dropout(x, p)
          return y
        }''').program()
        f = ct.compile(graph, seed=4)
        x = torch.ones(4096, requires_grad=True)
        first, second = f(x=x, p=0.5), f(x=x, p=0.5)
        assert not torch.equal(first, second)
        for out in (second, first):  # in another order
            x.grad = None
            out.sum().backward()
            assert torch.equal(x.grad, out.detach())  # 0 or 2, where the call had them
    """)


def test_two_outputs_and_inputs_without_gradients(tmp_path):
    on_ranks(tmp_path, 2, """
        graph = cc.parse('''
        mesh world(dp)
        dim N
        program f(x: f32[N] local, y: f32[N], i: i32[N]) {
          s = all_reduce(x, +) * y
          t = y * 2
          return s, t
        }''').program()
        f = ct.compile(graph)
        x, y = (torch.full((5,), float(rank + 1), requires_grad=True),
                torch.arange(5.0).requires_grad_())
        s, t = f(x=x, y=y, i=torch.zeros(5, dtype=torch.int32))
        s.sum().backward()
        assert torch.equal(x.grad, y.detach())
        assert torch.equal(y.grad, torch.full((5,), 3.0))
        s, t = f(x=x.detach(), y=y, i=torch.zeros(5, dtype=torch.int32))
        y.grad = None
        t.sum().backward()
        assert torch.equal(y.grad, torch.full((5,), 2.0))
    """)


def test_refuses_what_writes(tmp_path):
    on_ranks(tmp_path, 1, """
        file = cc.read("examples/sgd.coco")
        step = ct.compile(file.program().with_dtypes({}))
        names = [name for name, kind, _ in step.graph.inputs if kind != "scalar"]
        dtypes = step.graph._dtypes()
        given = {name: torch.zeros(4, dtype=ct._DTYPES[dtypes[name]]) for name in names}
        given[names[-1]].requires_grad_()
        scalars = {name: 0.1 for name, kind, _ in step.graph.inputs if kind == "scalar"}
        refused(lambda: step(**given, **scalars), "no_grad")
    """)


COMPILED = """
        text = '''
        mesh world(tp)
        dim N, H
        program f(x: f32[N,H], w: f32[H,H], scalar p: f32 = 0.5) {
          y = all_reduce(matmul(shard(x, (1)), shard(w, (0))), +)
          z = dropout(y, p)
          return z
        }
        program step(g: f32[N] local, p: f32[N], scalar lr: f32) {
          q = update(p, p - lr * all_reduce(g, +))
          return q
        }'''
        file = cc.parse(text)
"""


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_torch_compile_takes_a_program_as_it_stands(tmp_path, monkeypatch, backend):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    on_ranks(tmp_path, 2, f"\n        backend = {backend!r}" + COMPILED + """
        f, step = ct.compile(file.program("f"), seed=2), ct.compile(file.program("step"))

        @torch.compile(fullgraph=True, backend=backend)
        def loss_of(x, w):
            return (f(x=torch.relu(x), w=w) * 2).sum()

        torch.manual_seed(0)
        x, w = torch.randn(4, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
        for call in range(2):
            x.grad = w.grad = None
            loss = loss_of(x, w)
            loss.backward()
            found = loss.detach(), x.grad, w.grad
            f._calls = call  # the same call again, not compiled
            x.grad = w.grad = None
            again = (f(x=torch.relu(x), w=w) * 2).sum()
            again.backward()
            for one, other in zip(found, (again.detach(), x.grad, w.grad)):
                assert torch.allclose(one, other), (one, other)

        @torch.compile(fullgraph=True, backend=backend)
        def move(g, p):
            return step(g=g * 2, p=p, lr=0.5) + 1

        p = torch.zeros(6)
        out = move(torch.ones(6), p)
        assert torch.equal(p, torch.full((6,), -2.0)) and torch.equal(out, p + 1)
    """)


def test_what_torch_compile_is_refused(tmp_path):
    on_ranks(tmp_path, 1, COMPILED + """
        f = ct.compile(file.program("f"), seed=2)
        x, w = torch.randn(4, 8), torch.randn(8, 8)

        @torch.compile(fullgraph=True, backend="aot_eager")
        def wrong(x, w):
            return f(x=x, w=w, v=x)

        @torch.compile(fullgraph=True, backend="aot_eager")
        def into(x, w, z):
            return f(x=x, w=w, z=z)

        for call in (lambda: wrong(x, w), lambda: into(x, w, torch.zeros(4, 8))):
            try:
                call()
            except Exception as error:  # torch's, around ours
                assert "which it has not" in str(error) or "outputs" in str(error), str(error)
            else:
                raise AssertionError("taken")

        alone = ct.compile(file.program("f"))
        operator = alone.operator()
        del alone
        import gc
        gc.collect()
        refused(lambda: operator(x.detach(), w.detach(), 0.5), "not there any more")
    """)
