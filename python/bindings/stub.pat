# What is added to the module's types: the exceptions, which no class of nanobind is.
_coconet.__suffix__:
    class Error(Exception):
        kind: str
        message: str
        file: str
        line: int
        column: int

    class InternalError(RuntimeError): ...
