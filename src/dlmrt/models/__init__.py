"""What a model is on disk and in memory: folders, weights, names, and the transformer itself.

Only ``transformer``, ``residual`` and ``load`` need torch.
"""
