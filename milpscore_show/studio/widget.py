"""The studio in a notebook: the same page as a widget, over the notebook's own connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from milpscore.core.design import Design
from milpscore.core.errors import MilpscoreError, MissingDependencyError
from milpscore.fitting import FORMULATION, MAX_TERMS
from milpscore.solvers.options import Options
from milpscore_show.studio._desk import Desk
from milpscore_show.studio.hub import Hub
from milpscore_show.studio.server import asset


def studio(
    X: Any,
    y: Any = None,
    *,
    formulation: str = FORMULATION,
    title: str = "Scorecard",
    max_terms: int | None = MAX_TERMS,
    time_limit: float = Options.time_limit,
    node_limit: int | None = Options.node_limit,
    **arguments: Any,
) -> Any:
    """A card that is edited and questioned, as a widget in a notebook.

    ``milpscore studio`` is the same as a page of its own.

    Parameters
    ----------
    X : Design, DataFrame or array of shape (n, number of features)
        A table is cut as the command line cuts it, a Design taken as it is.
    y : array of shape (n,), the labels; None with a Design
    formulation : {"risk_score", "slim"}
    title : str
        What stands above the card.
    max_terms : int, optional
        None: no limit.
    time_limit : float
        Seconds for each search.
    node_limit : int, optional
        Nodes for each search.
    **arguments :
        Further arguments of the builder, ``constraints`` to begin with among them.

    Returns
    -------
    AnyWidget
        Its ``desk`` is the :class:`Desk` that it shows; ``close()`` ends the search.

    Raises
    ------
    MissingDependencyError
        Without anywidget.

    Examples
    --------
    >>> shown = milpscore.studio(X, y, max_terms=4)        # doctest: +SKIP
    >>> shown.desk.scorecard                               # doctest: +SKIP
    """
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "the studio in a notebook needs anywidget: pip install 'milpscore[studio]'"
        ) from error
    from milpscore.data.cut_points import Cutting

    design = X if isinstance(X, Design) else Cutting().design(X, y)
    desk = Desk(design, formulation, title=title, max_terms=max_terms, **arguments)

    class Studio(anywidget.AnyWidget):
        """A desk in a notebook."""

        _esm, _css = asset("studio.js"), asset("studio.css")
        markup = traitlets.Unicode(asset("desk.html")).tag(sync=True)

        def close(self) -> None:
            """End the search, and the widget."""
            hub.close()
            super().close()

    hub, shown = Hub(desk, time_limit, node_limit), Studio()
    shown.desk, shown.hub = desk, hub
    hub.listen(lambda event: shown.send({"event": event}))
    shown.on_msg(lambda _, content, __: answered(hub, content, shown.send))
    hub.ask("free")
    return shown


def answered(hub: Hub, message: dict[str, Any], send: Callable[..., None]) -> None:
    """Do what the widget's page asks for, and answer it."""
    what, content = message.get("what"), str(message.get("content", ""))
    reply: dict[str, Any] = {}
    buffers: list[bytes] = []
    try:
        match what:
            case "state":
                reply["content"] = hub.state()
            case "act":
                reply["content"] = hub.act(content)
            case "session":
                reply["content"] = hub.session()
            case "open":
                reply["content"] = hub.open(content)
            case "ask":
                hub.ask(content.strip('"'))
            case "stop":
                hub.stop()
            case "file":
                buffers = [hub.files[content.strip('"')]]
            case _:
                reply["error"] = f"the studio does not know {what!r}"
    except (MilpscoreError, KeyError) as error:
        reply["error"] = str(error)
    send({"id": message.get("id"), **reply}, buffers)
