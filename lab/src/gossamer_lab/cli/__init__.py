"""The commands `gossamer eval paper|defaults|robustness|tree` and `gossamer bench`, added through entry points."""
