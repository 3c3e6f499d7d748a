"""Drawing: style, files of figures, SVG for a page, graphs of words."""
