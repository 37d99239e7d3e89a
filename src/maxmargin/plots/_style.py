"""What the pictures share: axes, colours, markers."""

from __future__ import annotations

from typing import Any

#: Okabe and Ito's colours, in an order in which neighbours differ in lightness too, with wine in
#: place of their yellow, which is not seen as a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#882255", "#000000")
MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
GREY = "#555555"


def new_axes(ax: Any = None) -> Any:
    """Return the axes given, or those of a new figure; say what is missing without matplotlib."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Pictures need matplotlib. Install it, or maxmargin[plot], which brings it."
        ) from error
    return plt.subplots(layout="constrained")[1]


def colour(place: int) -> str:
    """Return the colour of the class, solver or feature of that number."""
    return COLOURS[place % len(COLOURS)]


def marker(place: int) -> str:
    """Return its marker."""
    return MARKERS[place % len(MARKERS)]


def dash(place: int) -> str:
    """Return its line style: another one each time the colours begin again, and before."""
    return DASHES[place % len(DASHES)]


def finish(ax: Any, *, below: bool = False, columns: int = 2, **labels: str) -> None:
    """Set the labels of the axes and a legend: `below` them where it would cover samples."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)
    if below:
        from matplotlib.transforms import ScaledTranslation

        under = ScaledTranslation(0.0, -0.5, ax.figure.dpi_scale_trans)  # inches: of the labels
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": columns}
        ax.legend(fontsize="small", frameon=False, bbox_transform=ax.transAxes + under, **place)
    else:
        ax.legend(fontsize="small", framealpha=0.9, loc="upper right")


def equal_scales(ax: Any) -> None:
    """Let both axes have the same unit, unless one is much longer: distances are then seen."""
    width, height = (abs(end - begin) for begin, end in (ax.get_xlim(), ax.get_ylim()))
    if max(width, height) < 2.0 * min(width, height):
        ax.set_aspect("equal")
