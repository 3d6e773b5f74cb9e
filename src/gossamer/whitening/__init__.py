"""Vectors → decorrelated vectors.

spectrum        a corpus → its mean, its principal axes and their variances
projection      rows × matrix, with the same result for a row whatever rows are beside it
whitening       `Whitening`: fit, transform, save
whitener        `Whitener`: the same as a scikit-learn transformer
"""
