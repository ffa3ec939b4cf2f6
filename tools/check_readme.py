#!/usr/bin/env python3
"""What the documents tell a reader to run or open exists.

usage: check_readme.py [--root DIR]

In README.md, docs/*.md and tutorial/*.md: each line of a ```sh block that starts with a script of
ours, `make`, or `coconet` (also `build/coconet`) names a script that can be executed, a target of
the Makefile, or a subcommand (cli/NAME.cc) of the tool; its arguments of the form examples/...,
tutorial/..., docs/..., tools/... are files; relative links lead to files.
"""
import argparse
import os
import re
import shlex
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FILE_ARGUMENT = re.compile(r"^(?:[\w]+=)?((?:examples|tutorial|docs|tools|tests|bench)/[\w./-]+)")


def targets_of(root: Path) -> set[str]:
    makefile = root / "Makefile"
    text = makefile.read_text() if makefile.exists() else ""
    return set(re.findall(r"^([\w-]+):(?!=)", text, re.MULTILINE))


def check_command(root: Path, line: str) -> list[str]:
    words = shlex.split(line.removeprefix("$ "), comments=True)
    if not words:
        return []
    program, arguments = words[0], words[1:]
    errors = []
    if program == "make":
        known = targets_of(root)
        errors = [f"the Makefile has no target {word}" for word in arguments
                  if "=" not in word and not word.startswith("-") and word not in known]
    elif program in ("coconet", "build/coconet", "./build/coconet"):
        if not arguments or not (root / "cli" / f"{arguments[0]}.cc").exists():
            errors = [f"the tool has no subcommand {' '.join(arguments[:1])}"]
    elif program.startswith(("./", "tools/", "examples/", "bench/")):
        if not os.access(root / program, os.X_OK):
            errors = [f"{program} is no executable file"]
    for word in arguments:
        match = FILE_ARGUMENT.match(word)
        if match and not (root / match.group(1)).exists():
            errors.append(f"there is no {match.group(1)}")
    return errors


def check_document(root: Path, path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    errors = []
    for block in BLOCK.finditer(text):
        for line in block.group(1).replace("\\\n", " ").splitlines():
            errors += [f"{path.relative_to(root)}: `{line.strip()}`: {error}"
                       for error in check_command(root, line.strip())]
    for match in LINK.finditer(text):
        target = match.group(1)
        if "://" not in target and not (path.parent / target).exists():
            errors.append(f"{path.relative_to(root)}: the link {target} leads nowhere")
    return errors


def check(root: Path) -> list[str]:
    documents = [root / "README.md", *sorted((root / "docs").glob("*.md")),
                 *sorted((root / "tutorial").glob("*.md"))]
    if not documents[0].exists():
        return ["README.md is missing"]
    return [error for path in documents for error in check_document(root, path)]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    errors = check(parser.parse_args().root)
    print("\n".join(errors) if errors else "documents: fine")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
