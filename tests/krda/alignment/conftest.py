from pair_fixtures import blobs, domains, moons

__all__ = ["blobs", "domains", "moons"]
