"""Programs and schedules written in Python are those of the text form."""
import ast
from pathlib import Path

import pytest

import coconet as cc

EXAMPLES = Path("examples")


def adam():
    p = cc.Program("adam", axes="dp")
    n = p.dim("N")
    grad = p.dtype("G", cc.f16)
    g = p.input("g", grad, [n], cc.local)
    w = p.input("p", cc.f32, [n])
    m = p.state("m", cc.f32, [n])
    v = p.state("v", "f32", [n])
    t = p.scalar("t", cc.i32)
    lr = p.scalar("lr", cc.f32, 1e-3)
    beta1 = p.scalar("beta1", cc.f32, 0.9)
    beta2 = p.scalar("beta2", cc.f32, 0.999)
    eps = p.scalar("eps", cc.f32, 1e-8)
    total = p.let("total", cc.all_reduce(cc.cast(g, cc.f32), "+"))
    avg = p.let("avg", total / p.size("dp"))
    m2 = p.let("m2", cc.update(m, beta1 * m + (1 - beta1) * avg))
    v2 = p.let("v2", cc.update(v, beta2 * v + (1 - beta2) * avg * avg))
    mh = p.let("mh", m2 / (1 - beta1**t))
    vh = p.let("vh", v2 / (1 - beta2**t))
    p2 = p.let("p2", cc.update(w, w - lr * mh / (cc.sqrt(vh) + eps)))
    p.returns(p2)
    s = cc.Scheduling("sharded", p.graph())
    rs, ag = s.split(total, into=["rs", "ag"])
    body, gm, gv, gp = s.reorder(
        ag, [avg, m2, v2, mh, vh, p2], into=["body", "gm", "gv", "gp"])
    s.as_slice(m)
    s.as_slice(v)
    s.dead(gm)
    s.dead(gv)
    s.fuse([rs, body, gp])
    return p.graph(), s


def attention():
    p = cc.Program("attention", axes=["tp"])
    b_, s_, h = p.dim("B"), p.dim("S"), p.dim("H")
    t = p.dtype("T", cc.f16)
    x = p.input("x", t, [b_, s_, h], cc.sliced(2))
    w = p.input("w", t, [h, h], cc.sliced(0))
    b = p.input("b", t, [h])
    r = p.input("r", t, [b_, s_, h])
    rate = p.scalar("rate", cc.f32, 0.1)
    layer = p.let("layer", x @ w)
    total = p.let("total", cc.all_reduce(layer, "+"))
    drop = p.let("drop", cc.dropout(total + b, rate))
    out = p.let("out", drop + r)
    p.returns(out)
    s = cc.Scheduling("overlapped", p.graph())
    rs, ag = s.split(total, into=["rs", "ag"])
    body, gather = s.reorder(ag, [drop, out], into=["body", "gather"])
    ar = s.fuse([rs, body, gather], into="ar")
    s.overlap([layer, ar])
    return p.graph(), s


@pytest.mark.parametrize("name, make", [("adam", adam), ("attention", attention)])
def test_is_the_graph_and_the_schedule_of_the_text(name, make):
    graph, scheduling = make()
    file = cc.read(str(EXAMPLES / f"{name}.coco"))
    assert graph == file.program(name)
    assert str(graph) == str(file.program(name))
    schedule = scheduling.schedule
    assert schedule == file.schedule(schedule.name, name)
    assert scheduling.graph == schedule.apply(graph)


def test_text_parses_back():
    graph, scheduling = adam()
    assert cc.parse(str(graph)).program() == graph
    assert cc.parse_schedule(str(scheduling.schedule)) == scheduling.schedule
    assert cc.parse(str(scheduling.graph)).program() == scheduling.graph


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.coco")), ids=lambda path: path.stem)
def test_reads_every_example(path):
    file = cc.read(str(path))
    for name in file.programs:
        assert cc.parse(str(file.program(name))).program() == file.program(name)
    for program, name in file.schedules:
        schedule = file.schedule(name, program)
        assert schedule.name == name
        assert schedule.apply(file.program(program)).name == program


def test_functions_make_what_the_text_makes():
    p = cc.Program("all", axes=["dp", "tp"])
    n, h = p.dim("N"), p.dim("H")
    x = p.input("x", cc.f32, [n, h], cc.sliced(0).on("dp"))
    y = p.input("y", cc.f32, [n, h], [cc.sliced(0).on("dp"), cc.partial("+").on("tp")])
    gamma = p.input("gamma", cc.f32, [h])
    a = p.let("a", cc.all_reduce(y, "+", axes="tp"))
    b = p.let("b", cc.where(a > x, cc.max(a, 1.5), -x))
    c = p.let("c", cc.max(b, [1]))
    d = p.let("d", cc.softmax(b, [1]) + cc.rms_norm(b, gamma, 1e-5) * c)
    e = p.let("e", cc.all_gather(d, axes=["dp"]))
    f = p.let("f", cc.transpose(e, [1, 0]))
    g = p.let("g", cc.shift(f, "tp", 1, wrap=True))
    o = p.let("o", cc.concat([f, f], 0))
    q = p.let("q", cc.all_gather(cc.shard(o, 1, axes="dp"), axes="dp"))
    p.returns(g, q)
    text = """
mesh world(dp, tp)
dim N, H
program all(x: f32[N,H] sliced(0)@dp, y: f32[N,H] sliced(0)@dp partial(+)@tp, gamma: f32[H]) {
  a = all_reduce(y, +)@tp
  b = where(a > x, max(a, 1.5), -x)
  c = max(b, [1])
  d = softmax(b, [1]) + rms_norm(b, gamma, 1e-5) * c
  e = all_gather(d)@dp
  f = transpose(e, [1,0])
  g = shift(f, tp, 1, wrap)
  o = concat(f, f, 0)
  q = all_gather(shard(o, (1))@dp)@dp
  return g, q
}
"""
    assert str(p.graph()) == str(cc.parse(text).program())


def test_an_error_names_the_line_of_python():
    p = cc.Program("bad", axes="dp")
    n = p.dim("N")
    x = p.input("x", cc.f32, [n], cc.local)
    with pytest.raises(cc.Error, match="all_gather") as caught:
        cc.all_gather(x)  # this line
    assert caught.value.kind == "type"
    assert Path(caught.value.file).name == "test_programs.py"
    line = Path(__file__).read_text().splitlines()[caught.value.line - 1]
    assert line.strip().endswith("# this line")
    assert str(caught.value).startswith(f"{caught.value.file}:{caught.value.line}")


def test_an_error_in_a_text_is_underlined():
    with pytest.raises(cc.Error) as caught:
        cc.parse("mesh world(dp)\nprogram p(x: f32[4]) {\n  y = x + totl\n  return y\n}",
                 "bad.coco")
    assert "bad.coco:3:11: error: `totl` is not a value" in str(caught.value)
    assert "^~~~" in str(caught.value)
    assert (caught.value.line, caught.value.column) == (3, 11)


@pytest.mark.parametrize("wrong, text", [
    (lambda p, x: p.input("y", "f31", [4]), "needed is a dtype"),
    (lambda p, x: p.input("y", cc.f32, 4), "needed is a list of dims"),
    (lambda p, x: p.input("y", cc.f32, [4], "local"), "needed is a placement"),
    (lambda p, x: cc.all_reduce(x, "plus"), "needed is a fold"),
    (lambda p, x: cc.shard(x, "0"), "needed is a slice"),
    (lambda p, x: cc.shard(x, (1, 0)), "needed is a slice"),
    (lambda p, x: x + "1", "needed is a tensor"),
    (lambda p, x: bool(x > 1), "condition of Python"),
    (lambda p, x: p.returns("y"), "needed are the tensors"),
    (lambda p, x: p.let("1x", x), "not a name"),
    (lambda p, x: cc.Scheduling("s", cc.parse(
        "mesh w(dp)\nprogram p(x: f32[4] local) { y = all_reduce(x, +)\n return y }").program()
    ).split(4), "needed is a tensor of the program"),
])
def test_refuses(wrong, text):
    p = cc.Program("p", axes="dp")
    x = p.input("x", cc.f32, [8], cc.local)
    with pytest.raises(cc.Error, match=text):
        wrong(p, x)


def test_says_what_may_come_next():
    graph, scheduling = adam()
    assert any(line.startswith("rs, ag = split(total") for line in cc.legal_steps(graph))
    assert "legal; exact" in cc.explain(graph, "rs, ag = split(total)")
    assert "not legal" in cc.explain(graph, "fuse(total, p2)")
    assert cc.legal_steps(graph, scheduling.schedule) != cc.legal_steps(graph)


def test_dtype_parameters():
    graph = cc.read("examples/attention.coco").program()
    assert "dtype T = f32" in str(graph.with_dtypes({"T": "f32"}))
    with pytest.raises(cc.Error, match="dtype parameters: T"):
        graph.with_dtypes({"G": "f32"})


def test_the_module_has_types():
    folder = Path(cc.__file__).parent
    assert (folder / "py.typed").is_file()
    stub = ast.parse((folder / "_coconet.pyi").read_text())
    named = {node.name for node in stub.body if hasattr(node, "name")} | {
        node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    public = {name for name in dir(cc._coconet) if not name.startswith("_")}
    assert public <= named, public - named
    for name in ("all_reduce", "matmul", "layer_norm"):
        assert getattr(cc, name).__annotations__["return"] == "Tensor"
