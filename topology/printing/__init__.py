"""Tree to text: one module for each part of the grammar, as in `parsing`."""
