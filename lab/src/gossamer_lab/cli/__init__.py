"""`gossamer eval compare|paper|defaults|robustness|tree` and `gossamer bench`, which entry points add to `gossamer`."""
