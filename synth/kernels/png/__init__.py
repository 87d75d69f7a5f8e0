"""PNG for noise: filters and a Huffman-only deflate, with the same bytes on every machine."""
