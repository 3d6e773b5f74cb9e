"""The paper's tables and figures again, beside what it prints.

paper          the report of all parts         published    every printed figure
setting        what the parts share            forms        tables in the paper's form
architectures  tables 1 and 2                  scaling      table 3, appendix C
costs          latency, building, growth       cases        figure 1
hierarchies    figure 2, appendix B            recipe       what each part of the recipe changes
isotropy       what isotropic embeddings could change
"""
