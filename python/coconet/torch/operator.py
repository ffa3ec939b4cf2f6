"""A Function as an operator of torch.library, which torch.compile takes as it stands."""
import itertools
import weakref

import torch

from ..running import error

_count = itertools.count()
_KINDS = {"bool": "bool", "i32": "int", "i64": "int"}


def _schema(function, numbered, returned):
    written = set(function._updates.values())
    arguments = []
    for place, name in enumerate(function._tensors):
        mark = f"(a{place}!)" if name in written else ""
        arguments.append(f"Tensor{mark} {name}")
    for name in function._scalars:
        arguments.append(f"{_KINDS.get(function._dtypes[name], 'float')} {name}")
    if numbered:
        arguments.append("Tensor number")
    result = "Tensor" if returned == 1 else f"({', '.join(['Tensor'] * returned)})"
    return f"({', '.join(arguments)}) -> {result}"


class Operator:
    """coconet::NAME_k: the tensors and scalars of `function` (coconet.torch.Function), in order, to
    what it makes anew and, last, the call's number. numbered: it takes that instead, last."""

    def __init__(self, function, numbered=False):
        # Weakly: torch keeps operators for ever.
        self._weak, self._numbered = weakref.ref(function), numbered
        self._tensors = len(function._tensors)
        self._made = function._made
        name = f"coconet::{function._graph.name}_{next(_count)}"
        written = sorted(set(function._updates.values()))
        schema = _schema(function, numbered, len(self._made) + (not numbered))
        self._call = torch.library.custom_op(name, self._compute, mutates_args=written,
                                             schema=schema)
        self._call.register_fake(self._shapes)
        if not written and not numbered:
            self._call.register_autograd(self._backward, setup_context=self._keep)

    @property
    def _function(self):
        function = self._weak()
        if function is None:
            raise error("usage", "found a call of a function that is not there any more")
        return function

    def __call__(self, *values):
        return self._call(*values)

    def _split(self, values):
        end = self._tensors + len(self._function._scalars)
        return (dict(zip(self._function._tensors, values)),
                dict(zip(self._function._scalars, values[self._tensors:end])))

    def _returned(self, made, number):
        out = made if self._numbered else [*made, number]
        return out[0] if len(out) == 1 else tuple(out)

    def _compute(self, *values):
        tensors, scalars = self._split(values)
        for name, tensor in tensors.items():
            self._function._need(name, tensor)
        made = {}
        number = int(values[-1]) if self._numbered else None
        _, number = self._function._run(tensors, scalars, made, number)
        return self._returned([made[name] for name in self._made], torch.tensor(number))

    def _shapes(self, *values):
        tensors, _ = self._split(values)
        like = values[0]
        shapes = self._function.shapes_of(tensors)
        made = [like.new_empty(shapes[name], dtype=self._function.dtype_of(name))
                for name in self._made]
        return self._returned(made, like.new_empty((), dtype=torch.int64))

    def _keep(self, ctx, inputs, output):
        number = output if isinstance(output, torch.Tensor) else output[-1]
        ctx.save_for_backward(*inputs[:self._tensors], number)
        ctx.scalars = inputs[self._tensors:]

    def _backward(self, ctx, *gradients):
        function = self._function
        *tensors, number = ctx.saved_tensors
        wanted = [name for name, needed in zip(function._tensors, ctx.needs_input_grad) if needed]
        derived = function.derived(wanted)
        if derived is None:
            return (None,) * (len(function._tensors) + len(function._scalars))
        # An output that is an input is a copy, made outside of the operator.
        given, scalars = function.gradients_given(
            derived, dict(zip(function._tensors, tensors)),
            dict(zip(function._scalars, ctx.scalars)), dict(zip(self._made, gradients)))
        made = derived.operator(True)(*given.values(), *scalars.values(), number)
        made = (made,) if isinstance(made, torch.Tensor) else made
        results = derived._completed(given, dict(zip(derived._made, made)))
        found = {name[2:]: result for name, result in zip(derived._outputs, results)}
        return (*(found.get(name) for name in function._tensors),
                *(None for _ in function._scalars))
