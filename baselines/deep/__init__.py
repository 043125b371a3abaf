"""Baselines that train a network: DANN, CDAN, DAN, JAN and SHOT."""
