"""The routes, one module a group. Each checks the limits, asks the index in a thread, and answers.

searching   search, explain, novelty, facets, …    documents   get, add, update, delete, stream
browsing    concepts, changes, topics, map         about       info, list of indexes, rebuild, health, metrics
"""
