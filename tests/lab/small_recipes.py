"""A plugin with the small recipes, for the command line."""

from tests.lab.small import DRAWS, TRAININGS

from inweights.recipes import register

register(DRAWS)
register(TRAININGS)
