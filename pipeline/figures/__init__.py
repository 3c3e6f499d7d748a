"""Drawing: style, SVG and PNG files, SVG inside a page, graphs of words."""
