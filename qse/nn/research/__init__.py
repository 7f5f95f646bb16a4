"""Time mixers and algebras that networks can be built with, beside those of the product."""
