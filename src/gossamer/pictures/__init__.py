"""The concept tree as a picture: lines in a terminal, an HTML page, JSON and DOT.

branch      reads the part of the tree to show from an `Index`, as a `Branch`; the other modules take one
terminal    `Branch` → lines for a terminal           page        `Branch` → one HTML file with the explorer's map
exports     `Branch` → nested JSON, Graphviz DOT

Texts of documents are data: each writer escapes them for its own format.
"""
