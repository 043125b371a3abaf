"""Knothe-Rosenblatt Domain Adaptation."""
