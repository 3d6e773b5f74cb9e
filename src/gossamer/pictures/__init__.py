"""An index as pictures: a tree in the terminal, exports for other programs, a page to explore, a figure for print.

Every picture is made of a `Branch`, the part of the tree worth showing, read once from the index (`branch`). Texts
of documents are data: each writer escapes them for its own format.
"""
