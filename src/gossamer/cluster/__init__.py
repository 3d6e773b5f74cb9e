"""`Cluster`: one logical index over many nodes, on Ray. It needs ``pip install "gossamer[ray]"``.

cluster      the façade: read this first
router       which shard a document belongs to, and which shards a query asks
keeper       the actor that carries out changes; placement: the log of intents it writes
shard        the actor that holds one index
searching    a query → the answers of several shards as one; explanations
concepts     the concepts of router and shards as one tree
overview     labels, the outline of the tree, concepts that a query fits, novelty: all shards together
topics       topics and facets over all shards
dataset      a dataset of Ray → encoded documents, by actors
connection   what a program knows of a cluster it has joined
description  the files of a cluster
runtime      Ray: started, joined, asked, with its failures in our words
results      what a cluster returns that one index does not
"""

from gossamer.cluster.cluster import Cluster
from gossamer.cluster.results import ClusterHits, ClusterStatus, Rebalancing, ShardStatus

__all__ = ["Cluster", "ClusterHits", "ClusterStatus", "Rebalancing", "ShardStatus"]
