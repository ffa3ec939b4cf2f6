"""Runs with numpy's arrays, on ranks that coconet starts and on ranks that join."""
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import coconet as cc


def sum_program(placement=cc.local, dtype=cc.f32):
    p = cc.Program("sum", axes="dp")
    n = p.dim("N")
    x = p.input("x", dtype, [n], placement)
    p.returns(p.let("y", cc.all_reduce(x, "+")))
    return p.graph()


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_sum(ranks, size):
    x = np.arange(ranks * size, dtype="float32").reshape(ranks, size)
    result = cc.compile(sum_program()).run({"x": x}, ranks=ranks)
    np.testing.assert_array_equal(result["y"], x.sum(0))
    assert result["y"].dtype == np.float32
    assert len(result.microseconds) == 1 and len(result.microseconds[0]) == ranks


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_dtypes(dtype):
    names = {"float16": "f16", "float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}
    x = np.array([[1, -2, 3], [4, 5, 6]], dtype)
    result = cc.compile(sum_program(dtype=names[dtype])).run({"x": x}, ranks=2)
    assert result["y"].dtype == x.dtype
    np.testing.assert_array_equal(result["y"], x.sum(0))


@pytest.mark.parametrize("view", [
    lambda x: x[:, ::2], lambda x: x[:, ::-1], lambda x: x.T.copy().T, lambda x: x[:, 1:3]])
def test_arrays_of_any_strides(view):
    x = view(np.arange(12, dtype="float32").reshape(2, 6))
    result = cc.compile(sum_program()).run({"x": x}, ranks=2)
    np.testing.assert_array_equal(result["y"], x.sum(0))


def test_a_read_only_array():
    x = np.ones((2, 3), "float32")
    x.flags.writeable = False
    np.testing.assert_array_equal(cc.compile(sum_program()).run({"x": x}, ranks=2)["y"], 2)


@pytest.mark.parametrize("schedule", [None, "sharded"])
def test_adam_against_numpy(schedule):
    file = cc.read("examples/adam.coco", dtypes={"G": "f32"})
    graph = file.program()
    steps = file.schedule(schedule) if schedule else None
    rng = np.random.default_rng(1)
    g = rng.standard_normal((2, 3000)).astype("float32")
    w = rng.standard_normal(3000).astype("float32")
    m = rng.standard_normal(3000).astype("float32")
    v = rng.random(3000).astype("float32")
    result = cc.compile(graph, steps).run({"g": g, "p": w, "m": m, "v": v, "t": 3}, ranks=2)
    avg = g.astype("float64").mean(0)
    m2, v2 = 0.9 * m + 0.1 * avg, 0.999 * v + 0.001 * avg**2
    p2 = w - 1e-3 * (m2 / (1 - 0.9**3)) / (np.sqrt(v2 / (1 - 0.999**3)) + 1e-8)
    np.testing.assert_allclose(result["p2"], p2, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(result.storage["m"], m2, rtol=1e-5, atol=1e-6)
    plain = cc.compile(graph).run({"g": g, "p": w, "m": m, "v": v, "t": 3}, ranks=2)
    np.testing.assert_array_equal(result["p2"], plain["p2"])


def test_states_begin_as_zeros():
    graph = cc.read("examples/adam.coco", dtypes={"G": "f32"}).program()
    g, w = np.ones((2, 5), "float32"), np.zeros(5, "float32")
    result = cc.compile(graph).run({"g": g, "p": w, "t": 1}, ranks=2)
    np.testing.assert_allclose(result.storage["m"], 0.1, rtol=1e-6)


def test_lists():
    graph = cc.read("examples/lamb_list.coco").program()
    inputs = {name: kind for name, kind, type in graph.inputs}
    lists = [name for name, kind, type in graph.inputs if "list" in type and kind == "tensor"]
    assert lists
    sizes = [5, 0, 1027]
    rng = np.random.default_rng(2)
    given = {}
    for name, kind, type in graph.inputs:
        if kind == "tensor" and "list" in type:
            dtype = "float16" if "G[" in type or "f16[" in type else "float32"
            lead = (2,) if "local" in type else ()
            given[name] = [rng.standard_normal((*lead, n)).astype(dtype) for n in sizes]
        elif kind == "scalar" and name == "t":
            given[name] = 1
    result = cc.compile(graph).run(given, ranks=2)
    name = graph.outputs[0][0]
    assert [len(member) for member in result[name]] == sizes
    assert "t" not in inputs or inputs["t"] == "scalar"


@pytest.mark.parametrize("inputs, text", [
    ({}, "found no value for x; needed are values for x"),
    ({"y": np.ones((2, 3), "float32")}, "the program has no input y; its inputs are x"),
    ({"x": np.ones((2, 3), "float64")}, "f64"),
    ({"x": np.ones((3, 3), "float32")}, "x"),
    ({"x": np.ones((2, 3), "uint8")}, "u8"),
    ({"x": np.ones((2, 3), "complex64")}, "complex"),
    ({"x": "one"}, "found a str"),
    ({"x": np.ones((2, 3), ">f4")}, "byte order"),
    ({"x": 10**400}, "beyond all"),
    ({"x": [[1.0], [2.0]]}, "found a list"),
])
def test_refuses_inputs(inputs, text):
    with pytest.raises(cc.Error, match=text):
        cc.compile(sum_program()).run(inputs, ranks=2)


@pytest.mark.parametrize("keywords, text", [
    ({"ranks": 0}, "number of ranks"),
    ({"ranks": {"tp": 2}}, "number of ranks"),
    ({"ranks": "2"}, "number of ranks"),
    ({"ranks": 2, "repeat": 0}, "repeat"),
    ({"ranks": 2, "protocol": "fast"}, "protocol"),
    ({"ranks": 2, "timeout": -1}, "timeout"),
    ({"ranks": 2, "threads": -1}, "threads"),
    ({"ranks": 2, "sizes": {"N": 4}}, "N"),
    ({"ranks": 2, "sizes": {"N": 3.0}}, "found 3.0"),
    ({"ranks": 2, "seed": -1}, "seed=-1"),
    ({"ranks": 2, "chunk": 3}, "found chunk; legal are protocol, chunks, threads"),
    ({"ranks": 2, "chunks": [3]}, "numbers of chunks"),
])
def test_refuses_settings(keywords, text):
    with pytest.raises(cc.Error, match=text):
        cc.compile(sum_program()).run({"x": np.ones((2, 3), "float32")}, **keywords)


def test_refuses_what_is_no_schedule():
    with pytest.raises(cc.Error, match="found the schedule 'sharded'; needed is a Schedule"):
        cc.compile(sum_program(), "sharded")


def join_and_sum(job, rank, queue):
    try:
        program = cc.compile(sum_program(), staged=["x", "y"])
        one = program.join(job, rank, ranks=2, sizes={"N": 1000}, join_timeout=20)
        x, y = np.empty(1000, "float32"), np.empty(1000, "float32")
        one.bind("x", x)
        one.bind("y", y)
        for call in range(5):
            x[:] = (rank + 1) * call
            one.call()
            assert (y == 3 * call).all(), (call, y)
        one.leave()
        queue.put((rank, "fine"))
    except BaseException as error:
        queue.put((rank, repr(error)))


def test_ranks_that_join_use_arrays_in_place():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    job = f"python-test-{os.getpid()}"
    ranks = [context.Process(target=join_and_sum, args=(job, rank, queue)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    ends = sorted(queue.get(timeout=60) for _ in ranks)
    for rank in ranks:
        rank.join()
    assert ends == [(0, "fine"), (1, "fine")]


def joined_alone(staged=("x", "y")):
    program = cc.compile(sum_program(), staged=staged)
    return program.join(f"alone-{os.getpid()}", 0, ranks=1, sizes={"N": 4})


def test_own_memory_is_no_copy():
    rank = joined_alone(staged=())
    rank.own("x")[:] = [1, 2, 3, 4]
    rank.call()
    np.testing.assert_array_equal(rank.own("y"), [1, 2, 3, 4])
    assert rank.shape("x") == [4] and rank.bytes("x") == 16


@pytest.mark.parametrize("array, text", [
    (np.ones(4, "float64"), "found elements of f64; needed is f32"),
    (np.ones(8, "float32")[::2], "contiguous"),
    (np.ones(5, "float32"), r"found the shape \[5\]; needed is \[4\], this rank's piece"),
    (np.ones((2, 2), "float32"), r"found the shape \[2, 2\]"),
    (np.broadcast_to(np.float32(1), 4), "must not be written"),
    ([1, 2, 3, 4], "found a list"),
])
def test_bind_refuses(array, text):
    with pytest.raises(cc.Error, match=text):
        joined_alone().bind("x", array)


def test_a_rank_that_has_left():
    rank = joined_alone()
    rank.leave()
    with pytest.raises(cc.Error, match="has left"):
        rank.call()


def test_bound_arrays_stay_with_the_rank():
    rank = joined_alone()
    held = [np.arange(4.0, dtype="float32"), np.zeros(4, "float32")]
    rank.bind("x", held[0])
    rank.bind("y", held[1])
    before = sys.getrefcount(held[0])
    seen = weakref.ref(held[0])
    held[0] = None
    assert seen() is not None and before > 2
    rank.call()
    np.testing.assert_array_equal(held[1], [0, 1, 2, 3])
    rank.leave()
    assert seen() is None


def test_arrays_of_a_rank_that_has_left():
    rank = joined_alone(staged=())
    array = rank.own("x")
    rank.leave()
    array[:] = 3
    assert array.sum() == 12


def test_calls_are_made_by_the_thread_that_joined():
    rank = joined_alone(staged=())
    rank.own("x")
    said = []

    def call():
        try:
            rank.call()
        except cc.Error as error:
            said.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert "another thread" in said[0]
    rank.call()


def test_memory_of_a_rank_stays_while_its_array_does():
    array = joined_alone(staged=()).own("x")  # the rank itself is gone
    array[:] = 3
    assert array.sum() == 12


def test_tune_finds_a_schedule_that_runs():
    graph = cc.read("examples/sgd.coco", dtypes={"G": "f32"}).program()
    found = cc.tune(graph, ranks=2, sizes={"N": 300})
    assert found.us > 0 and found.unscheduled_us > 0
    n = 300
    types = {name: type for name, kind, type in graph.inputs if kind == "tensor"}
    given = {name: np.ones(((2, n) if "local" in type else n), "float32")
             for name, type in types.items()}
    scalars = {name: 0.5 for name, kind, type in graph.inputs if kind == "scalar"}
    result = cc.compile(graph, found.schedule, **found.knobs).run({**given, **scalars}, ranks=2)
    plain = cc.compile(graph).run({**given, **scalars}, ranks=2)
    name = graph.outputs[0][0]
    np.testing.assert_array_equal(result[name], plain[name])


def test_an_interrupt_ends_a_run():
    text = ("import coconet as cc, numpy\n"
            "p = cc.Program('p', axes='dp')\n"
            "x = p.input('x', cc.f32, [1000], cc.local)\n"
            "p.returns(p.let('y', cc.all_reduce(x, '+')))\n"
            "compiled = cc.compile(p.graph())\n"
            "print('ready', flush=True)\n"
            "compiled.run({'x': numpy.ones((2, 1000), 'f4')}, ranks=2, repeat=1 << 30)\n")
    run = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert run.stdout.readline() == "ready\n"
    time.sleep(1)
    os.killpg(run.pid, signal.SIGINT)
    said = run.communicate(timeout=30)[1]
    assert said.strip().endswith("KeyboardInterrupt"), said


def test_no_array_is_lost_at_exit():
    """An interpreter that ends with arrays and ranks alive says nothing."""
    text = ("import os, coconet as cc, numpy\n"
            "p = cc.Program('p', axes='dp')\n"
            "x = p.input('x', cc.f32, [4], cc.local)\n"
            "p.returns(p.let('y', cc.all_reduce(x, '+')))\n"
            "rank = cc.compile(p.graph()).join(f'exit-{os.getpid()}', 0, ranks=1, sizes={})\n"
            "array = rank.own('x')\n")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
