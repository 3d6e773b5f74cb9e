"""Vectors → decorrelated vectors.

whitening       `Whitening`: fit, project, save, for vectors that are checked already
whitener        `Whitener`: the same as a scikit-learn transformer, which checks its input
spectrum        a corpus → its mean, its principal axes with their variances, the rotation of ICA
eigen           eigenvectors, the same to the last bit on every machine
projection      rows × matrix, with the same result for a row whatever rows are beside it
"""
