"""Compiling, running and tuning."""
from . import _coconet


_KNOBS = {"protocol": "auto", "chunks": (), "threads": 0}


def error(kind, message):
    """A coconet.Error without a place."""
    out = _coconet.Error(message)
    out.kind, out.message, out.file, out.line, out.column = kind, message, "", 0, 0
    return out


def _need(value, type, name, needed):
    if not isinstance(value, type) or isinstance(value, bool):
        raise error("usage", f"found {name}={value!r}; needed is {needed}")
    return value


def _arguments(knobs, seed, timeout):
    unknown = [name for name in knobs if name not in _KNOBS]
    if unknown:
        raise error("usage", f"found {', '.join(unknown)}; legal are {', '.join(_KNOBS)}")
    if _need(seed, int, "seed", "an int from 0 to 2^64 - 1") not in range(1 << 64):
        raise error("usage", f"found seed={seed}; needed is an int from 0 to 2^64 - 1")
    _need(timeout, (int, float), "timeout", "seconds")
    knobs = {**_KNOBS, **knobs}
    _need(knobs["threads"], int, "threads", "an int, 0 for as many as have a core")
    return knobs["threads"], knobs["protocol"], list(knobs["chunks"])


class Result:
    """What a run gives: result["out"] is an output, or a state or input after its update.

    outputs, storage: both by name; arrays of the global tensors, with one leading dim for each
    local or partial axis, or lists of them. A bf16 array is an object that torch.from_dlpack takes,
    as numpy has no bf16. microseconds: [call][rank].
    """

    def __init__(self, outputs, storage, microseconds):
        self.outputs, self.storage, self.microseconds = outputs, storage, microseconds

    def __getitem__(self, name):
        if name in self.outputs:
            return self.outputs[name]
        if name in self.storage:
            return self.storage[name]
        raise KeyError(f"no {name}; there are {', '.join([*self.outputs, *self.storage])}")

    def __repr__(self):
        return f"<coconet.Result {', '.join([*self.outputs, *self.storage])}>"


class CompiledProgram:
    """A program under a schedule, compiled: what `compile` gives."""

    def __init__(self, compiled, knobs=None):
        self._compiled = compiled
        self._knobs = knobs or {}

    @property
    def graph(self):
        """As scheduled."""
        return self._compiled.graph

    @property
    def plan(self):
        """The text of its plan."""
        return self._compiled.plan

    @property
    def source(self):
        """The C++ that was generated."""
        return self._compiled.source

    def run(self, inputs, ranks, sizes=None, seed=0, repeat=1, timeout=1800.0, **knobs):
        """Runs it on ranks of this machine, which it starts.

        inputs: by name, arrays of the global tensors (of a list: a list of arrays) and numbers;
        scalars with a default may be left out, states begin as zeros. ranks: a number, or
        {axis: number} for a mesh of several axes. sizes: of dims that no array has. repeat: calls,
        each with the same inputs. knobs: protocol ("one-shot", "direct"), chunks, threads.
        """
        arguments = _arguments({**self._knobs, **knobs}, seed, timeout)
        if _need(repeat, int, "repeat", "an int, at least 1") not in range(1, 1 << 31):
            raise error("usage", f"found repeat={repeat}; needed is an int from 1 to 2^31 - 1")
        return Result(*self._compiled._run(inputs, ranks, sizes or {}, seed, repeat, *arguments,
                                           timeout))

    def join(self, job, rank, ranks, sizes, seed=0, timeout=1800.0, join_timeout=60.0,
             symmetric=None, **knobs):
        """Makes this process the rank of a job: returns when all of its ranks have come.

        job: a name that the ranks share and no other job on this machine has; another for each
        join. Its calls are made by this thread. symmetric: {name: (SymmetricMemory, byte)} of
        what is not staged and begins there on each rank.
        """
        arguments = _arguments({**self._knobs, **knobs}, seed, timeout)
        return self._compiled._join(job, rank, ranks, sizes, seed, *arguments, timeout,
                                    join_timeout, symmetric or {})


def compile(graph, schedule=None, staged=(), **knobs):
    """Compiles a program, under a schedule if one is given.

    staged: names of inputs, states and outputs that `Rank.bind` gives memory of the caller's.
    """
    _arguments(knobs, 0, 1)
    if schedule is not None and not isinstance(schedule, _coconet.Schedule):
        raise error("usage", f"found the schedule {schedule!r}; needed is a Schedule, as of "
                    "File.schedule, Scheduling.schedule or tune")
    return CompiledProgram(_coconet._compile(graph, schedule, list(staged)), knobs)


class Decision:
    """What tuning has found: the schedule (None: unscheduled), its knobs, and what it gains."""

    def __init__(self, found):
        self.schedule = found["schedule"]
        self.knobs = {name: found[name] for name in ("protocol", "chunks", "threads")}
        self.us, self.unscheduled_us = found["us"], found["unscheduled_us"]
        self.spread, self.from_store = found["spread"], found["from_store"]

    def __repr__(self):
        name = self.schedule.name if self.schedule else "unscheduled"
        return f"<coconet.Decision {name}: {self.us:.1f} us, unscheduled {self.unscheduled_us:.1f}>"


def tune(graph, ranks, inputs=None, sizes=None, schedules=(), staged=(), threads=0,
         allow_reassociation=False):
    """The quickest schedule here at these sizes: measured now, in some 10 seconds, or as kept.

    Inputs that are not given are drawn. schedules: the user's own, measured too.
    """
    return Decision(_coconet._decide(graph, ranks, inputs or {}, sizes or {}, list(schedules),
                                     list(staged), threads, allow_reassociation))
