"""Methods measured on collections, and compared.

measures      of a ranking, query by query, by ir-measures     choose       settings tried one after the other
significance  whether a difference is more than chance         defaults     chosen on one half, reported on the other
run           methods × a collection                           robustness   the same as the embedding gets worse
fusion        ideas for the ranking, chosen by other collections      index   the index as users have it
compare       one collection: `gossamer eval compare`
"""
