"""Read what a paper and its code state, and compare every setting of a recipe with it."""
