"""Define the training tasks of Feature Resemblance: the training facts, and their order."""

from inweights.errors import ConfigError, check_names

#: Every training task of Table 1, and whether the paper says that the conclusion
#: follows.
SUCCEEDS = {
    "joint": True,
    "SA": True,
    "AS": False,
    "two-hop": True,
    "two-hop without identity": False,
}

#: Interpretations of "late training on the similarity premise" (our copy of the text
#: lacks the symbols of §5), as the facts of the first phase, then those of the second.
#: ``AS``, as in Tables 1 to 3: category and attribution of ``a``, then similarity of
#: ``b``. ``AS-pair`` (§2): attribution, then both sentences of the similarity premise.
#: ``AS-target``: attribution, then similarity of ``b`` alone.
READINGS = ("AS", "AS-pair", "AS-target")


def phase_roles(course: str, rho: float = 3.0) -> tuple[dict[str, float], ...]:
    """Return the roles of facts that each phase of a task trains on, and their weights (§4 to §6).

    The roles ``category`` and ``similarity`` are the two sentences of the similarity
    premise, about the first and the second entity of a pair; ``attribution`` is the
    premise about the first entity. The weight of a role is the number of copies of each
    of its facts. The loss of a full batch is the mean over all copies.

    Args:
        course: Name of the task: ``joint`` (category, similarity and attribution
            together), ``SA`` (category and similarity, then attribution), ``AS``
            (category and attribution, then similarity), ``AS-pair`` or ``AS-target``
            (two other interpretations of ``AS``: attribution, then category and
            similarity; or attribution, then similarity only), ``two-hop`` or ``two-hop
            without identity``.
        rho: Number of copies of the similarity premise (in a two-hop task, of the facts
            of the first hop and of the identities), at least 1; by default 3. It has an
            effect only in ``joint`` and ``two-hop``.

    Returns:
        One mapping per phase, in order, from the name of each role in the training set
        of this phase to its weight.

    Raises:
        ConfigError: ``rho`` is below 1 or NaN, or the task is unknown.

    Example:
        >>> phase_roles("joint", rho=3.0)
        ({'category': 3.0, 'similarity': 3.0, 'attribution': 1.0},)
        >>> phase_roles("AS")
        ({'category': 1.0, 'attribution': 1.0}, {'similarity': 1.0})
        >>> phase_roles("AS-pair")
        ({'attribution': 1.0}, {'category': 1.0, 'similarity': 1.0})
    """
    if not rho >= 1:
        raise ConfigError(
            "'rho' (the number of copies of the similarity premise) must be at least 1, got "
            f"{rho}"
        )
    courses: dict[str, tuple[dict[str, float], ...]] = {
        "joint": ({"category": rho, "similarity": rho, "attribution": 1.0},),
        "SA": ({"category": 1.0, "similarity": 1.0}, {"attribution": 1.0}),
        "AS": ({"category": 1.0, "attribution": 1.0}, {"similarity": 1.0}),
        "AS-pair": ({"attribution": 1.0}, {"category": 1.0, "similarity": 1.0}),
        "AS-target": ({"attribution": 1.0}, {"similarity": 1.0}),
        "two-hop": ({"first_hop": rho, "identity": rho, "second_hop": 1.0},),
        "two-hop without identity": ({"first_hop": 1.0, "second_hop": 1.0},),
    }
    check_names("course", [course], courses)
    return courses[course]
