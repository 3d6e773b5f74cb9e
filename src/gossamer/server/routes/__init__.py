"""The routes, one module a group. Each does the same: check the limits, ask the index in a thread, answer.

searching   search, explain, novelty            documents   get, add, delete
stream      documents line by line              browsing    concepts, topics, map
about       info, list of indexes, refit        health      healthz, readyz, metrics
"""
