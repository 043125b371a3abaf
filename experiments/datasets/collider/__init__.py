"""A parton-level Monte Carlo of top quark pairs at a hadron collider.

:mod:`kinematics` holds four-vectors, :mod:`generator` makes collisions, :mod:`detector` measures
them, :mod:`reconstruction` builds what an analysis would from the measured objects.
"""
