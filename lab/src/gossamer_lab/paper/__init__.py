"""The paper's tables again, with the models and data at hand, beside the authors' figures.

paper          the report of all parts        costs        latency, building, growth
architectures  models, collections, sizes     cases        the decoder-only case, parts of a tree
setting        what the parts share           published    the authors' own figures
"""
