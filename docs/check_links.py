#!/usr/bin/env python3
"""Checks the documents: links lead to files and headings, pages keep to their length. Exits 1 if not."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORDS_OF_A_PAGE = 1200
LINES = {"README.md": 120}
LINES_OF_A_VERSION = 40  # in CHANGELOG.md


def documents():
    for place, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith((".", "build"))]
        for name in names:
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(place, name), ROOT)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        return stream.read()


def anchor(heading):
    """As GitHub makes it of a heading."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def wrong_links(path, text):
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http:", "https:")):
            continue
        file, _, heading = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(os.path.join(ROOT, target)):
            yield f"{path}: {link} leads nowhere"
        elif heading and heading not in [anchor(line) for line in re.findall(r"^#+ (.*)$", read(target), re.M)]:
            yield f"{path}: {link} names no heading of {target}"


def too_long(path, text):
    words, lines = len(text.split()), text.count("\n")
    if path.startswith("docs" + os.sep) and words > WORDS_OF_A_PAGE:
        yield f"{path} has {words} words, more than {WORDS_OF_A_PAGE}"
    if lines > LINES.get(path, lines):
        yield f"{path} has {lines} lines, more than {LINES[path]}"
    if path == "CHANGELOG.md":
        for version in re.split(r"^## ", text, flags=re.M)[1:]:
            if version.count("\n") > LINES_OF_A_VERSION:
                yield f"{path}: {version.splitlines()[0]} has more than {LINES_OF_A_VERSION} lines"


def main():
    wrong = []
    seen = sorted(documents())
    for path in seen:
        text = read(path)
        wrong += [*wrong_links(path, text), *too_long(path, text)]
    print("\n".join(wrong) or f"{len(seen)} documents: all links lead somewhere, no page is too long")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
