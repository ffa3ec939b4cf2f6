"""Programs from torch: what torch.export makes of a function, operation by operation, as a program.

The function is written for one rank's pieces, with torch's functional collectives where ranks talk;
the program has the types of the whole tensors, which the placements give.
"""
import linecache
import os
import re
import types

import torch
import torch.distributed as dist

from .. import _coconet
from ..running import error
from . import world
from .capture_collectives import TAKE_PARTS, plain
from .capture_operations import OPERATIONS
from .capture_shapes import Refused, Requirement, SizeNumber, Sizes, is_dtensor, piece_of

_NOT_THE_USERS = (torch.__path__[0], os.path.dirname(__file__), "<")
_WORDS = ("return", "fused", "overlapped", "and", "or", "not", "true", "false")
_NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32",
          torch.float64: "f64", torch.int32: "i32", torch.int64: "i64", torch.bool: "bool"}


def capture(function, tensors, placements=None, dims=None, mesh="tp", name=None):
    """The program of a function, or of a module, of tensors.

    tensors: {parameter: this rank's piece, or a DTensor}, as the function is called; its values do
    not matter. Parameters and buffers of a module follow, `fc.weight` as `fc_weight`. placements:
    {name: placement, or a list of such}; without, that of the DTensor, or replicated. dims: {name:
    [a dim's name or None]}: sizes that may differ from call to call; others are as found. mesh: its
    only axis, of all ranks, or a torch DeviceMesh with names. Numbers that the function is not
    given as tensors are part of the program.

    Values are named as the variables of the function. Raises Error for all that it cannot capture,
    each with its place in the function's source.
    """
    called = _Called(function, tensors)
    placements, dims = dict(placements or {}), dict(dims or {})
    for given, what in ((placements, "placements"), (dims, "dims")):
        unknown = [each for each in given if each not in called.tensors]
        if unknown:
            raise error("usage", f"found {what} of {', '.join(unknown)}; the tensors are "
                        f"{', '.join(called.tensors)}")
    axes = _Axes(mesh, called.tensors)
    placed = {each: _placements_of(tensor, placements.get(each), axes)
              for each, tensor in called.tensors.items()}
    exported = _export(called, dims, placed)
    name = name or getattr(function, "__name__", type(function).__name__).strip("<>").lower()
    required = []
    while True:
        try:
            return _Capture(name, called, placed, dims, axes, exported, required).graph()
        except Requirement as needed:
            required.append(str(needed))


def _as_forward(function):
    """The function under the name forward: of such frames torch.export keeps the place."""
    if not isinstance(function, types.FunctionType):
        return function
    code = function.__code__.replace(co_name="forward")
    out = types.FunctionType(code, function.__globals__, "forward", function.__defaults__,
                             function.__closure__)
    out.__kwdefaults__ = function.__kwdefaults__
    return out


class _Called(torch.nn.Module):
    """The function, with its tensors as positional arguments."""

    def __init__(self, function, tensors):
        super().__init__()
        self.tensors, self._written = dict(tensors), []
        if isinstance(function, torch.nn.Module):
            held = {**dict(function.named_parameters()), **dict(function.named_buffers())}
            self._written = list(held)
            for written, tensor in held.items():
                own = written.replace(".", "_")
                if own in self.tensors:
                    raise error("usage", f"found {own} twice, a tensor and {written} of the module")
                self.tensors[own] = tensor
        for each, tensor in self.tensors.items():
            if not isinstance(tensor, torch.Tensor):
                raise error("usage", f"{each}: found a {type(tensor).__name__}; needed is a tensor "
                            "(a number is part of the function: functools.partial)")
        self._names = list(tensors)
        self._function = [_as_forward(function)]  # in a list: its parameters are not this module's

    def pieces(self):
        return tuple(piece_of(tensor) for tensor in self.tensors.values())

    def forward(self, *pieces):
        given = dict(zip(self._names, pieces))
        function = self._function[0]
        if not self._written:
            return function(**given)
        held = dict(zip(self._written, pieces[len(self._names):]))
        return torch.func.functional_call(function, held, kwargs=given)


def _export(called, dims, placed):
    known, shapes = {}, []  # by name, and whether it is a piece's
    for each, tensor in zip(called.tensors, called.pieces()):
        names = dims.get(each, [None] * tensor.dim())
        if len(names) != tensor.dim():
            raise error("usage", f"{each}: found the dims {names}; needed are {tensor.dim()}, a "
                        "name or None for each")
        cut = {dim for one in placed[each] for dim in one._slice or ()}
        keys = [(one, at in cut) for at, one in enumerate(names)]
        for one, of_a_piece in keys:
            if one:
                known.setdefault((one, of_a_piece),
                                 torch.export.Dim(one + "_of_a_piece" if of_a_piece else one))
        shapes.append({at: known[key] for at, key in enumerate(keys) if key[0]})
    training = called._function[0].training if called._written else False
    called.train(training)
    try:
        with torch.no_grad():
            return torch.export.export(called, called.pieces(), dynamic_shapes=(tuple(shapes),),
                                       strict=False)
    except _coconet.Error:
        raise
    except Exception as failed:  # whatever torch's tracer throws
        raise error("unsupported", f"torch.export cannot trace it: {failed}") from failed


class _Axes:
    """The mesh's axes, by the process group that a collective names."""

    def __init__(self, mesh, tensors):
        for tensor in tensors.values():
            if is_dtensor(tensor) and isinstance(mesh, str) and tensor.device_mesh.mesh_dim_names:
                mesh = tensor.device_mesh
        if isinstance(mesh, str):
            self.names, self.ranks = [mesh], {mesh: world().ranks}
            self._groups = {}
        else:
            if not mesh.mesh_dim_names:
                raise error("usage", "found a DeviceMesh without mesh_dim_names; needed are the "
                            "names of its axes")
            self.names = list(mesh.mesh_dim_names)
            self.ranks = {each: mesh.size(at) for at, each in enumerate(self.names)}
            self._groups = {mesh.get_group(each).group_name: each for each in self.names}

    def of(self, group):
        """The axis of that group; of the world's, the only one."""
        if group in self._groups:
            return self._groups[group]
        here = dist.get_world_size(dist.distributed_c10d._resolve_process_group(group))
        if len(self.names) == 1 and here == self.ranks[self.names[0]]:
            return self.names[0]
        raise Refused(f"a collective of {here} ranks that are no axis of the mesh "
                      f"({', '.join(self.names)})")


def _placements_of(tensor, given, axes):
    """As given, or of a DTensor its own on each axis."""
    if given is not None or not is_dtensor(tensor):
        return list(given) if isinstance(given, (list, tuple)) else [given] if given else []
    out = []
    for axis, placement in zip(axes.names, tensor.placements):
        if placement.is_shard() and type(placement).__name__ == "Shard":
            out.append(_coconet.sliced(placement.dim).on(axis))
        elif not placement.is_replicate():
            folds = {"sum": "+", "max": "max", "min": "min"}
            if getattr(placement, "reduce_op", "") not in folds:
                raise error("unsupported", f"found a DTensor that is {placement}; legal are "
                            "Replicate(), Shard(dim), and Partial() of sum, max and min")
            out.append(_coconet.partial(folds[placement.reduce_op]).on(axis))
    return out


class _Capture:
    """The walk over an exported graph: the value of each node."""

    def __init__(self, name, called, placed, dims, axes, exported, required):
        self.program = _coconet.Program(re.sub(r"\W", "_", name), axes.names)
        self.axes, self._exported = axes, exported
        self._nodes = list(exported.graph.nodes)
        self.sizes = Sizes({one: self.program.dim(one)
                            for one in sorted({one for each in dims.values() for one in each
                                               if one})}, axes.names, required)
        for condition in required:
            self.program.require(condition)
        self._values, self._taken, self._refused = {}, set(called.tensors), []
        self._taken.update(self.sizes.dims, axes.names)
        self._inputs(called, placed, dims)

    def _inputs(self, called, placed, dims):
        held = set(self._held())
        holders = [node for node in self._nodes
                   if node.op == "placeholder" and node.name not in held]
        for node, (each, tensor) in zip(holders, called.tensors.items()):
            piece = piece_of(tensor)
            if piece.dtype not in _NAMES:
                raise error("unsupported", f"{each}: found {piece.dtype}; legal are "
                            f"{', '.join(_NAMES.values())}")
            names = dims.get(each, [None] * piece.dim())
            shape = self.sizes.whole_shape(each, node.meta["val"].shape, names, placed[each],
                                           self.axes)
            self._values[node] = self.program.input(each, _NAMES[piece.dtype], shape, placed[each])

    def _held(self):
        """By node: the tensors that the function has of its own."""
        kinds = torch.export.graph_signature.InputKind
        return {spec.arg.name: spec.target
                for spec in self._exported.graph_signature.input_specs
                if spec.kind != kinds.USER_INPUT}

    def graph(self):
        held = self._held()
        for at, node in enumerate(self._nodes):
            if node.op == "placeholder":
                if node.name in held:
                    self._refuse(node, f"a tensor that the function has of its own, "
                                 f"{held[node.name]}; needed is that it is given")
            elif node.op == "get_attr":
                self._refuse(node, "a tensor that is made of constants")
            elif node.op == "call_function":
                self._convert(node, at)
        if not self._refused:
            self._return()
        if self._refused:
            raise self._error()
        return self.program.graph()

    def _convert(self, node, at):
        inputs = node.all_input_nodes
        if inputs and any(each not in self._values for each in inputs):
            return  # of one that was refused
        operation = str(node.target)
        if isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self._values[node] = SizeNumber()
            return
        if "_assert_scalar" in operation or "sym_constrain_range" in operation:
            return  # what torch.export asks of sizes
        convert = OPERATIONS.get(operation)
        try:
            if convert is None:
                raise Refused(operation)
            parts = operation in TAKE_PARTS
            value = convert(self, node, *self._given(node.args, parts),
                            **dict(zip(node.kwargs, self._given(node.kwargs.values(), parts))))
        except Refused as refused:
            return self._refuse(node, str(refused))
        except _coconet.Error as wrong:
            return self._refuse(node, f"{operation}: {wrong.message}")
        name = self._name(node, at)
        if name and isinstance(value, _coconet.Tensor) and not value.name:
            value = self.program.let(name, value)
        self._values[node] = value

    def _given(self, arguments, parts):
        out = []
        for each in arguments:
            if isinstance(each, (list, tuple)):
                out.append(self._given(each, parts))
            elif isinstance(each, torch.fx.Node):
                value = self._values[each]
                out.append(value if parts else plain(self, value))
            else:
                out.append(each)
        return out

    def _place(self, node):
        """(file, line) of the innermost frame that is neither torch's nor this package's."""
        frames = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
        own = [(file, int(line)) for file, line in frames if not file.startswith(_NOT_THE_USERS)]
        return own[-1] if own else ("", 0)

    def _name(self, node, at):
        """The variable that its line assigns, if this is the line's last value."""
        place = self._place(node)
        after = self._nodes[at + 1] if at + 1 < len(self._nodes) else None
        if not place[0] or (after is not None and self._place(after) == place and
                            after.op == "call_function"):
            return None
        found = re.match(r"\s*([A-Za-z_]\w*)\s*=[^=]", linecache.getline(*place))
        return self._fresh(found.group(1)) if found else None

    def _fresh(self, name):
        """The name, or with the first number behind it that none has."""
        number, out = 1, name
        while out in self._taken or out in _WORDS:
            number += 1
            out = f"{name}_{number}"
        self._taken.add(out)
        return out

    def _return(self):
        [output] = [node for node in self._nodes if node.op == "output"]
        returned = output.args[0]
        values = []
        for node in returned:
            value = self._values.get(node) if isinstance(node, torch.fx.Node) else None
            try:
                value = plain(self, value)
            except Refused as refused:
                self._refuse(output, str(refused))
                return
            if not isinstance(value, _coconet.Tensor):
                self._refuse(output, "a result that is no tensor of the program")
                return
            values.append(value if value.name else
                          self.program.let(self._fresh("out"), value))
        self.program.returns(*values)

    def _refuse(self, node, text):
        self._refused.append((self._place(node), text))

    def _error(self):
        lines = []
        for (file, line), text in self._refused:
            source = linecache.getline(file, line).strip()
            place = f"{file}:{line}: " if file else ""
            lines.append(f"{place}found {text}" + (f"\n  {source}" if source else ""))
        out = error("unsupported", "\n".join(lines) +
                    "\nlegal are the operations that docs/python.md lists under \"From torch\"")
        (out.file, out.line), _ = self._refused[0]
        return out
