#!/usr/bin/env python3
"""Includes point only backwards in the order of docs/design.md.

usage: check_layers.py [--root DIR]

Also: kernel/ includes nothing of ours outside kernel/, runtime/ only base/ and kernel/, io/ only
base/ and type/; ours are included by their path from the root; name.cc includes its name.h first
(so that the build shows that the header compiles alone); no file includes itself through others.
"""
import argparse
import re
import sys
from pathlib import Path

import tree

ORDER = ["base", "type", "io", "graph", "gradient", "program", "schedule", "plan", "source",
         "kernel", "runtime", "interp", "simulate", "execute", "prebuilt", "tune"]
ONLY = {
    "kernel": {"kernel"},
    "runtime": {"base", "kernel", "runtime"},
    "io": {"base", "type", "io"},
}
GENERATED = {"coconet_paths.h"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<open>["<])(?P<path>[^">]+)[">]', re.MULTILINE)


def allowed(folder: str) -> set[str]:
    return ONLY.get(folder) or set(ORDER[:ORDER.index(folder) + 1])


def includes_of(text: str) -> list[tuple[int, str, str]]:
    """(line, '"' or '<', path) of each include directive outside comments and strings."""
    bare = tree.without_literals(text, keep_includes=True)
    return [(bare.count("\n", 0, m.start()) + 1, m["open"], m["path"])
            for m in INCLUDE.finditer(bare)]


def check_include(path: Path, line: int, opening: str, included: str) -> str | None:
    folder = path.parts[1]
    target = Path(included)
    if target.parts[0] != "coconet":
        if opening == "<" or (included in GENERATED and path.suffix == ".cc"):
            return None
        return f'{path}:{line}: "{included}" is not a path from the root ("coconet/...")'
    if len(target.parts) < 3 or target.parts[1] not in ORDER:
        return f"{path}:{line}: {included} is in no folder of the pipeline ({' '.join(ORDER)})"
    if target.parts[1] not in allowed(folder):
        legal = " ".join(f for f in ORDER if f in allowed(folder))
        return f"{path}:{line}: {folder}/ includes {included}; it may include only: {legal}"
    return None


def check_file(path: Path, includes: list[tuple[int, str, str]], known: set[Path]) -> list[str]:
    if path.parts[0] != "coconet":
        return []
    if len(path.parts) < 3 or path.parts[1] not in ORDER:
        return [f"{path}: stands in no folder of the pipeline ({' '.join(ORDER)})"]
    errors = [check_include(path, *include) for include in includes]
    own = path.with_suffix(".h")
    if path.suffix == ".cc" and own in known and (not includes or includes[0][2] != str(own)):
        errors.append(f'{path}: its first include must be "{own}"')
    return [error for error in errors if error]


def cycles(edges: dict[str, list[str]]) -> list[str]:
    """One line for each cycle of includes that a depth-first walk closes."""
    found, done = [], set()

    def walk(name: str, trail: list[str]) -> None:
        if name in trail:
            found.append("include cycle: " + " -> ".join(trail[trail.index(name):] + [name]))
        elif name not in done:
            for target in edges.get(name, []):
                walk(target, trail + [name])
            done.add(name)

    for name in sorted(edges):
        walk(name, [])
    return found


def check_order(root: Path) -> list[str]:
    """docs/design.md states the same order, in one line; it leaves out io and ends with cli."""
    stated = " ".join([folder for folder in ORDER if folder != "io"] + ["cli"])
    design = root / "docs" / "design.md"
    if design.exists() and f"`{stated}`" not in design.read_text(encoding="utf-8"):
        return [f"docs/design.md: does not state the order `{stated}` of tools/check_layers.py"]
    return []


def check(root: Path) -> list[str]:
    sources = [p for p in tree.files(root) if p.suffix in tree.CPP]
    known, errors, edges = set(sources), [], {}
    for path in sources:
        includes = includes_of(tree.text_of(root / path) or "")
        errors += check_file(path, includes, known)
        edges[str(path)] = [included for _, _, included in includes]
    return check_order(root) + errors + cycles(edges)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    errors = check(parser.parse_args().root)
    print("\n".join(errors) if errors else "layers: fine")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
