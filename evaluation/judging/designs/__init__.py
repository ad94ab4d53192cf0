"""The pairing designs, each a module here with one class. Whoever wants to know what a design does asks that class."""

from importlib import import_module
from pkgutil import iter_modules

from evaluation.judging.designs.base import Design

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)

# By name, in the order in which they are offered.
DESIGNS: dict[str, type[Design]] = {
    design.name: design for design in sorted(Design.__subclasses__(), key=lambda design: design.order)
}


def designs_that(trait: str) -> list[str]:
    """The names of the designs of which this attribute is true."""
    return [name for name, design in DESIGNS.items() if getattr(design, trait)]
