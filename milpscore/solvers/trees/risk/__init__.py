"""The tree search under smooth convex losses."""
