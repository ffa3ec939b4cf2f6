"""Programs on torch tensors, as ranks of a torch.distributed job.

    import coconet as cc
    import coconet.torch as ct

    ct.init()  # after torch.distributed.init_process_group, or under torchrun
    step = ct.compile(cc.read("adam.coco").program(), schedule)
    step(g=grad, p=weight, m=m, v=v, t=1)  # p, m and v are updated in place

Each rank gives its own piece of each tensor, as the program's types say: of a local one its own, of
a sliced one its part, of a replicated one the whole. Tensors are read and written where they are.
"""
import torch

from .. import _coconet, running
from ..running import error as _error
from . import symmetric
from .operator import Operator
from .process_group import empty, init, world

_DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
           "f64": torch.float64, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}


def _refuse(kind, text):
    if torch.compiler.is_compiling():
        raise TypeError(text)  # torch.compile traces no exception of ours
    raise _error(kind, text)


class _Recorded(torch.autograd.Function):
    """A call whose gradients are those of the derived program, at the call's number."""

    @staticmethod
    def forward(ctx, function, scalars, names, *tensors):
        given = dict(zip(names, tensors))
        ctx.function, ctx.scalars, ctx.names = function, scalars, names
        results, ctx.number = function._run(given, scalars, {})
        ctx.save_for_backward(*tensors)
        return results

    @staticmethod
    def backward(ctx, *gradients):
        given = dict(zip(ctx.names, ctx.saved_tensors))
        wanted = [name for name, needed in zip(ctx.names, ctx.needs_input_grad[3:]) if needed]
        found = ctx.function._backward(wanted, given, ctx.scalars, gradients, ctx.number)
        return (None, None, None, *(found.get(name) for name in ctx.names))


class _Job:
    """This rank of the job of a Function at one set of sizes and of places in symmetric memory."""

    def __init__(self, function, sizes, places):
        here = world()
        program = function._program_of(frozenset(places))
        self.rank = program.join(here.next_job(), here.rank, function._mesh(), sizes,
                                 function.seed(), function._timeout, symmetric=places)
        self._places, self._constants, self._held = set(places), function._constants, {}
        self.shapes = {name: self.rank.shape(name)
                       for name in (*function._tensors, *function._made)}
        self.scalars = {name: torch.from_dlpack(self.rank.own(name))
                        for name in function._scalars}

    def bind(self, name, tensor):
        found, needed = list(tensor.shape), self.shapes[name]
        if found != needed and not (needed == [0] and 0 in found):
            raise _error("data", f"{name}: found the shape {found}; needed is {needed}, this "
                         "rank's piece")
        if name in self._places:
            return
        state = tensor.data_ptr(), self._constants.get(name)
        if name in self._constants and self._held.get(name) == state:
            return  # what is bound anew is not held constant any more
        self.rank._bind_address(name, tensor.data_ptr(), tensor.nbytes)
        if name in self._constants:
            self.rank.hold_constant(name)
        self._held[name] = state


class Function:
    """A program under a schedule, callable with torch tensors: what compile gives.

    Called with every tensor and state by name, and scalars that have no default. Returns the
    outputs, one or a tuple: of a state or input that the program updates that very tensor, of
    others a new one, or what is given under the output's name.
    """

    def __init__(self, graph, schedule=None, ranks=None, sizes=None, seed=None, timeout=1800.0,
                 **knobs):
        self._graph, self._given_ranks, self._given_sizes = graph, ranks, dict(sizes or {})
        self._seed, self._timeout = seed, timeout
        self._tensors, self._scalars = [], []
        for name, kind, _ in graph.inputs:
            (self._scalars if kind == "scalar" else self._tensors).append(name)
        self._outputs = [name for name, _ in graph.outputs]
        self._updates, self._aliases = graph.updates, graph._aliases()
        self._made = [name for name in self._outputs
                      if name not in self._updates and name not in self._aliases]
        self._name, self._schedule, self._knobs = graph.name, schedule, knobs
        self._programs = {}  # by the names that stand in symmetric memory
        self._program = self._program_of(frozenset())
        self._dtypes = self._program.graph._dtypes()
        self._defaults = {name: self._scalar(name, value)
                          for name, value in self._program.graph._defaults().items()}
        self._jobs = {}  # by sizes and places
        self._constants = {}  # by name: how often it has been held
        self._gradients = {}  # by the inputs wanted; None: no output depends on them
        self._calls = 0
        self._operators = {}
        self.operator()  # torch.compile makes none while it traces

    @property
    def graph(self):
        """As scheduled: its types say which piece of a tensor a rank gives."""
        return self._program.graph

    @property
    def source(self):
        """The C++ that was generated."""
        return self._program.source

    def seed(self):
        """Of its dropouts: as given, or one of its own."""
        if self._seed is None:
            self._seed = world().next_seed()
        return self._seed

    def sizes_of(self, tensors):
        """The dims' sizes by this rank's pieces; those that slices cut are given to compile."""
        shapes = {name: [int(size) for size in tensor.shape] for name, tensor in tensors.items()}
        found = self.graph._sizes_of_pieces(shapes)
        for name, size in self._given_sizes.items():
            if found.setdefault(name, size) != size:
                raise _error("data", f"found {name}={found[name]} in the tensors; needed is "
                             f"{name}={size}, as given to compile")
        return found

    def rank(self, sizes, **tensors):
        """This rank of the job of these sizes, and of these tensors that stand in symmetric memory;
        the first time all ranks join it together."""
        return self._job(sizes, symmetric.places_of(tensors)).rank

    def hold_constant(self, name):
        """The values of that input do not change from now on, until this is called again: what a
        product packs of them is kept between calls. Each rank decides for itself. Values that are
        changed and not said to be may give products of the old ones, and no error."""
        if name not in self._tensors or name in self._updates.values():
            raise _error("usage", f"found {name}; legal are inputs that no call writes: " +
                         ", ".join(each for each in self._tensors
                                   if each not in self._updates.values()))
        self._constants[name] = self._constants.get(name, 0) + 1

    def release_constant(self, name):
        """The values may change again from call to call."""
        self._constants.pop(name, None)

    def _program_of(self, symmetric_names):
        """All others are staged."""
        if symmetric_names not in self._programs:
            staged = [name for name in (*self._tensors, *self._made) if name not in symmetric_names]
            self._programs[symmetric_names] = running.compile(self._graph, self._schedule, staged,
                                                              **self._knobs)
        return self._programs[symmetric_names]

    def _job(self, sizes, places):
        key = (tuple((name, tuple(size) if isinstance(size, list) else size)
                     for name, size in sorted(sizes.items())),
               tuple((name, memory.name, at) for name, (memory, at) in sorted(places.items())))
        if key not in self._jobs:
            self._jobs[key] = _Job(self, sizes, places)
        return self._jobs[key]

    def _mesh(self):
        return world().ranks if self._given_ranks is None else self._given_ranks

    def operator(self, numbered=False):
        """The operator of torch.library (operator.py)."""
        if numbered not in self._operators:
            self._operators[numbered] = Operator(self, numbered)
        return self._operators[numbered]

    def dtype_of(self, name):
        return _DTYPES[self._dtypes[name]]

    def shapes_of(self, tensors):
        """The shapes of the outputs on this rank, by tensors of these shapes."""
        sizes = self.sizes_of(tensors)
        return {name: self.graph._piece_shape(name, sizes, self._mesh(), world().rank)
                for name in self._outputs}

    def _scalar(self, name, value):
        """As the scalar's dtype has it."""
        dtype = self.dtype_of(name)
        whole = not dtype.is_floating_point
        try:
            number = None if isinstance(value, str) else int(value) if whole else float(value)
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is None or (whole and number != value):
            raise _error("data", f"{name}: found {value!r}; needed is a number that "
                         f"{self._dtypes[name]} has")
        return bool(number) if dtype == torch.bool else number

    def _sorted(self, given):
        """What a call is given: its tensors, its scalars, and tensors for outputs."""
        out = {name: given[name] for name in self._made if name in given}
        tensors = {name: given[name] for name in self._tensors if name in given}
        scalars = {**self._defaults, **{name: self._scalar(name, given[name])
                                        for name in self._scalars if name in given}}
        missing = [name for name in self._tensors if name not in tensors]
        missing += [name for name in self._scalars if name not in scalars]
        unknown = [name for name in given if name not in (*tensors, *scalars, *out)]
        if missing or unknown:
            found = f"{', '.join(unknown)}, which it has not" if unknown else "a call without " + \
                ", ".join(missing)
            _refuse("usage", f"{self._name}: found {found}; needed are "
                    f"{', '.join([*self._tensors, *self._scalars])}")
        return tensors, scalars, out

    def _completed(self, tensors, out):
        """All outputs in order: those made, `out`, the tensors that are updated, and copies."""
        for name in self._outputs:
            if name in self._updates:
                out[name] = tensors[self._updates[name]]
            elif name in self._aliases:
                alias = self._aliases[name]
                out[name] = (tensors[alias] if alias in tensors else out[alias]).clone()
        return tuple(out[name] for name in self._outputs)

    def _traced(self, tensors, scalars, out):
        """A call while torch.compile traces it."""
        if out:
            _refuse("unsupported", f"{self._name}: found tensors for outputs under torch.compile; "
                    "legal are new ones")
        made = self.operator()(*(tensors[name] for name in self._tensors),
                               *(scalars[name] for name in self._scalars))
        made = (made,) if isinstance(made, torch.Tensor) else made
        return self._completed(tensors, dict(zip(self._made, made)))

    def __call__(self, **given):
        tensors, scalars, out = self._sorted(given)
        if torch.compiler.is_compiling():
            results = self._traced(tensors, scalars, out)
            return results[0] if len(results) == 1 else results
        for name, tensor in (*tensors.items(), *out.items()):
            self._need(name, tensor)
        recorded = torch.is_grad_enabled() and any(
            tensor.requires_grad for tensor in (*tensors.values(), *out.values()))
        if not recorded:
            results, _ = self._run(tensors, scalars, out)
        elif self._updates or out:
            raise _error("usage", f"{self._name}: found a tensor that requires gradients and "
                         "a call that writes tensors it is given; needed is torch.no_grad() "
                         "around it")
        else:
            results = _Recorded.apply(self, scalars, list(tensors), *tensors.values())
        return results[0] if len(results) == 1 else results

    def _run(self, tensors, scalars, out, number=None):
        """The outputs, and the number of the call."""
        job = self._job(self.sizes_of(tensors), symmetric.places_of({**tensors, **out}))
        if number is None:
            number = self._calls
            self._calls += 1
        for name in self._made:
            if name not in out:
                out[name] = torch.empty(job.shapes[name], dtype=self.dtype_of(name))
        for name, tensor in (*tensors.items(), *out.items()):
            job.bind(name, tensor)
        for name, held in job.scalars.items():
            held.fill_(scalars[name])
        job.rank.count_from(number)
        job.rank.call()
        return self._completed(tensors, out), number

    def derived(self, wanted):
        """The gradient by those inputs, at the seed of this; None if no output depends on them."""
        key = tuple(wanted)
        if key not in self._gradients:
            reached = [name for name in wanted if name in self._graph._differentiable]
            self._gradients[key] = Function(
                _coconet.gradient(self._graph, reached), None, self._given_ranks,
                self._given_sizes, self.seed(), self._timeout) if reached else None
        return self._gradients[key]

    def gradients_given(self, derived, tensors, scalars, gradients):
        """What `derived` is called with: `gradients` are those by the outputs, by name; of one that
        has none, zeros."""
        given = dict(tensors)
        for name in self._outputs:
            if "d_" + name in derived._tensors:
                gradient = gradients.get(name)
                given["d_" + name] = gradient.contiguous() if gradient is not None else \
                    torch.zeros(self.shapes_of(tensors)[name], dtype=self.dtype_of(name))
        return ({name: given[name] for name in derived._tensors},
                {name: scalars[name] for name in derived._scalars})

    def _backward(self, wanted, tensors, scalars, gradients, number):
        """The gradients by the inputs wanted, by name; all ranks want the same."""
        derived = self.derived(wanted)
        if derived is None:
            return {}
        used, kept = self.gradients_given(derived, tensors, scalars,
                                          dict(zip(self._outputs, gradients)))
        results, _ = derived._run(used, kept, {}, number)
        return {name[2:]: result for name, result in zip(derived._outputs, results)}

    def _need(self, name, tensor):
        needed = self.dtype_of(name)
        if not isinstance(tensor, torch.Tensor):
            found = f"a {type(tensor).__name__}"
        elif tensor.device.type != "cpu":
            found = f"a tensor on {tensor.device}"
        elif tensor.dtype != needed:
            found = f"a tensor of {tensor.dtype}"
        elif tensor.layout != torch.strided:
            found = f"a tensor of the layout {tensor.layout}"
        elif not tensor.is_contiguous():
            found = f"a tensor of strides {tuple(tensor.stride())}"
        elif tensor.is_neg():
            found = "a view that stands for its memory's negative; resolve_neg() gives a tensor"
        else:
            return
        raise _error("data", f"{name}: found {found}; needed is a contiguous CPU tensor of "
                     f"{needed}")


def compile(graph, schedule=None, ranks=None, sizes=None, seed=None, timeout=1800.0, **knobs):
    """Compiles a program for tensors of this process; all ranks compile the same ones.

    ranks: {axis: ranks} of a mesh of several axes. sizes: of the dims that slices cut in every
    tensor that has them. seed: of dropouts; without, each function has one of its own. The ranks
    join each other at the first call of each set of sizes, whose memory stays with the function.
    """
    return Function(graph, schedule, ranks, sizes, seed, timeout, **knobs)


from .capture import capture  # noqa: E402
from .layers import ColumnParallelLinear, RowParallelLinear  # noqa: E402
from .optimizers import ShardedAdam, ShardedLAMB  # noqa: E402
