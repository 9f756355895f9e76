"""Supervised training: text data > packed rows > block-diffusion loss > model folders."""
