"""The files of one index: documents, vectors, an ordered log of operations, and snapshots of the tree.

    store       creates, opens, changes and checks an index      Store, Policy
    layout      the paths of the files in a .gsm folder          Layout
    database    connections to documents.sqlite                  Database
    schema      its tables, and the settings of the index        Settings
    rows        documents, passages, vectors, encoder state      DocumentRow, PassageRow
    names       names that people gave to concepts               NameRow
    times       when operations were made                        operation_at
    log         a change as one transaction; reading it again    Change, Step
    snapshots   saved trees
    label_file  labels of concepts, as text                      read_labels, write_labels
    inspection  compares files and rows with their checksums     inspect
    pages       checksums of the database's pages                PageSums
    wal         reads SQLite's write-ahead log                   read_wal, FrameCount
    backup      copies an index that is in use                   back_up
    salvage     reads what a damaged database still contains     salvage

SQLite holds everything that cannot be derived. The tree is a function of the log and can be computed from it; a
snapshot only saves time. Nothing here knows the tree: `gossamer.index.replay` applies the log to it.
"""

from gossamer.store.log import Change, Step
from gossamer.store.names import NameRow
from gossamer.store.rows import DocumentRow, PassageRow
from gossamer.store.schema import Settings
from gossamer.store.store import Policy, Store

__all__ = ["Change", "DocumentRow", "NameRow", "PassageRow", "Policy", "Settings", "Step", "Store"]
