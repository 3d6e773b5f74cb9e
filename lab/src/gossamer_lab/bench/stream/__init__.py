"""A tree that grows one document at a time: how good it stays, and how long anybody waits for it.

orders    the orders in which documents come and go        measures  recall, concepts that keep their id, assignment
systems   what grows: Gossamer, Cobweb alone, others       quality   the tree of a stream beside one built at once
waits     searches beside a growing index
"""
