"""Conditional densities: Gaussian mixtures, RNADE and its training, the linear-Gaussian chain."""
