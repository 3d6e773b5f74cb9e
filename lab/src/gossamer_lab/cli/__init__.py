"""`gossamer eval compare|paper|defaults|robustness|tree|labels` and `gossamer bench`, added by entry points."""
