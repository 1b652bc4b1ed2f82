#!/usr/bin/env python3
"""Draws text with the colours of a terminal as an SVG picture: the report that README shows.

    dwell report --color always --width 100 DIRECTORY | docs/picture.py --lines 50 > docs/report.svg

Reads standard input, writes standard output and runs nothing. A piece of text that has one style
becomes one element with a fixed place and width, so columns stand where a terminal has them.
"""
import argparse
import re
import sys
from html import escape

CHARACTER_WIDTH, LINE_HEIGHT, MARGIN, FONT_SIZE = 7.8, 17, 14, 13
PAPER, INK, FAINT = "#1e2127", "#d7dae0", "#8b93a1"
COLORS = {31: "#f0717a", 32: "#98c379", 33: "#e5c07b", 34: "#61afef", 35: "#c678dd", 36: "#56b6c2"}
EIGHTHS = {chr(0x2588 + left): (8 - left) / 8 for left in range(8)}  # full block to one eighth


def pieces(line):
    """The line as (column, text, set of the codes that are on)."""
    codes, column = set(), 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b"):
            for text in re.findall(r"\S+(?: \S+)*|\s+", part):
                if not text.isspace():
                    yield column, text, frozenset(codes)
                column += len(text)
            continue
        for code in part[2:-1].split(";"):
            codes = codes | {int(code)} if code not in ("", "0") else set()


def style(codes):
    color = next((COLORS[code] for code in sorted(codes) if code in COLORS), None)
    marks = f' fill="{color or FAINT}"' if color or 2 in codes else ""
    marks += ' font-weight="bold"' if 1 in codes else ""
    return marks + (' text-decoration="underline"' if 4 in codes else "")


def draw_piece(row, column, text, codes):
    x = MARGIN + column * CHARACTER_WIDTH
    y = MARGIN + row * LINE_HEIGHT
    if all(character in EIGHTHS for character in text):
        width = sum(EIGHTHS[character] for character in text) * CHARACTER_WIDTH
        return f'<rect x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="{LINE_HEIGHT - 4}"{style(codes)}/>'
    length = len(text) * CHARACTER_WIDTH
    return (f'<text x="{x:.1f}" y="{y + FONT_SIZE}" textLength="{length:.1f}"{style(codes)}>'
            f"{escape(text, quote=False)}</text>")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, help="draw only so many lines")
    arguments = parser.parse_args()
    lines = [line.rstrip("\n") for line in sys.stdin][:arguments.lines]
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    width = 2 * MARGIN + max(map(len, plain), default=0) * CHARACTER_WIDTH
    height = 2 * MARGIN + len(lines) * LINE_HEIGHT
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
          f'viewBox="0 0 {width:.0f} {height}" role="img" aria-label="A report of dwell">')
    print(f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>')
    print(f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT_SIZE}" '
          f'fill="{INK}" xml:space="preserve">')
    for row, line in enumerate(lines):
        for column, text, codes in pieces(line):
            print(draw_piece(row, column, text, codes))
    print("</g>\n</svg>")


if __name__ == "__main__":
    main()
