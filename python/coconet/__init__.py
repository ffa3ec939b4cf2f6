"""CoCoNet: distributed tensor programs whose computation and communication are compiled together.

    import coconet as cc

    p = cc.Program("sum", axes="dp")
    n = p.dim("N")
    x = p.input("x", cc.f32, [n], cc.local)
    y = p.let("y", cc.all_reduce(x, "+"))
    p.returns(y)
    result = cc.compile(p.graph()).run({"x": numpy.ones((2, 5), "float32")}, ranks=2)
    result["y"]  # 2, 2, 2, 2, 2
"""
import os as _os
from pathlib import Path as _Path

_folder = _Path(__file__).parent
# As installed: what generated code includes, and the library that multiplies matrices.
if (_folder / "include").is_dir():
    _os.environ.setdefault("COCONET_INCLUDE", str(_folder / "include"))
    _os.environ.setdefault("COCONET_GEMM", str(_folder / "libcoconet_gemm.so"))

from . import _coconet  # noqa: E402
from ._coconet import (  # noqa: E402
    Dim, DType, Error, File, Graph, InternalError, Placement, Program, Rank, Schedule, Scheduling,
    Slice, Tensor, bf16, boolean, explain, f16, f32, f64, gradient, i32, i64, legal_steps, list_of,
    local, parse, parse_schedule, partial, read, replicated, rooted, sliced)
from .functions import (  # noqa: E402
    abs, across, all_gather, all_reduce, all_to_all, as_partial, broadcast, cast, concat, conv2d,
    dropout, erf, exp, gelu, layer_norm, log, matmul, max, mean, min, narrow, norm, pow, prod,
    reduce, reduce_scatter, relu, reshape, rms_norm, root, rsqrt, shard, shift, sigmoid, silu,
    softmax, sqrt, stack, sum, tanh, transpose, update, where)
from .running import CompiledProgram, Decision, Result, compile, tune  # noqa: E402

_coconet._set_package_folder(str(_folder) + _os.sep)

__all__ = [name for name in dir() if not name.startswith("_")]
