"""qse: real-time speech enhancement with quaternion neural networks."""
