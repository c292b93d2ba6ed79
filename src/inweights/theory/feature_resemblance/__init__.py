"""The stages of training in Feature Resemblance, in closed form."""
