"""What figures are drawn with: one look, one canvas, and SVG that can be part of a page."""
