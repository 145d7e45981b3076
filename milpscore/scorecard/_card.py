"""The scorecard: an integer card that knows its features, its data and its certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card, DecisionRule
from milpscore.core.design import Column, Design, FloatArray, IntArray, as_fraction, plain_label
from milpscore.core.errors import DataError, NotApplicableError, listing, near_matches, places
from milpscore.core.writing import write_text
from milpscore.scorecard import rendering

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from milpscore.scorecard.risks import RiskScale

Names: TypeAlias = Sequence[str] | None
Unseen = Literal["error", "zero"]


@dataclass(frozen=True, repr=False)
class Scorecard:
    """Whole-number points for features, and the total from which the answer is positive.

    Applying a card is total: every row gets an answer, or a :class:`DataError` says which column
    or value has none. Only the features that have points are looked at.

    Attributes
    ----------
    columns : tuple of Column, length p
        The design columns, which know their raw feature and interval.
    points : tuple of int, length p
        One for each column, zeros included.
    threshold : Fraction
        T: positive iff total >= T; a tie is positive.
    blocks : tuple of tuples of int
        The ordered bins of each binned feature, as column positions.
    classes : (negative label, positive label)
        As the user wrote them: text, whole numbers, floats or truth values.
    step : Fraction or None
        The grid of the data; None where there is none.
    certificate : mapping
        What is claimed and proved: ``formulation, claim, verified, objective, loss, penalty,
        bound, bound_source, gap, n_rows, errors``; may be empty.
    fingerprint : str
        SHA-256 of the data the card was made from; empty if unknown.
    title : str
    risk : RiskScale or None
        What totals mean as probabilities of the positive label; None for a card that only decides.
    base_points : mapping from feature to int
        What a feature counts before any of its columns applies, so that its least points are 0:
        total = sum of these + w.x. Empty where points are as they were found.
    divisor : int
        What points, base points, threshold and scale were divided by to be printed smaller; the
        certificate speaks of the card before.
    flags : tuple of int
        Positions of the numeric columns that only hold 0 and 1; a card reads nothing else there.
    words : mapping from feature to mapping
        ``name``, ``unit``, ``column`` (its name in a database), and ``lines``, from printed
        conditions to what stands in their place.
    outcome : str
        What a positive answer says; the positive label where it is empty.
    fitted_threshold : Fraction or None
        The threshold the card was fitted with, where another was chosen afterwards; a risk is 1/2
        at it, and the certificate speaks of it.
    in_full : bool
        Whether lines without points are printed as well, so that every value of a used feature has
        its line; those of ``blocks`` always are.

    Raises
    ------
    DataError
        If the parts do not fit together, or a label or point has a type a card cannot carry.
    """

    columns: tuple[Column, ...]
    points: tuple[int, ...]
    threshold: Fraction
    blocks: tuple[tuple[int, ...], ...] = ()
    classes: tuple[Any, Any] = (0, 1)
    step: Fraction | None = Fraction(1)
    certificate: Mapping[str, Any] = field(default_factory=dict, hash=False)
    fingerprint: str = ""
    title: str = "Scorecard"
    risk: RiskScale | None = None
    base_points: Mapping[str, int] = field(default_factory=dict, hash=False)
    divisor: int = 1
    flags: tuple[int, ...] = ()
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    outcome: str = ""
    fitted_threshold: Fraction | None = None
    in_full: bool = False

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        points = plain_points(self.points)
        blocks = tuple(tuple(int(j) for j in block) for block in self.blocks)
        classes = tuple(plain_label(label) for label in self.classes)
        _check_columns(columns, points, blocks)
        if len(classes) != 2 or classes[0] == classes[1]:
            raise DataError(f"a card needs two different labels, not {self.classes!r}")
        step = None if self.step is None else as_fraction(self.step)
        if step is not None and step <= 0:
            raise DataError(f"the step of the data must be positive, not {step}")
        if self.divisor < 1:
            raise DataError(f"the divisor of the points is a whole number >= 1: {self.divisor!r}")
        if not isinstance(self.certificate, Mapping):
            raise DataError("the certificate is a mapping from names to values; pass a dict")
        names = {column.feature for column in columns}
        for what, given in (("base points", self.base_points), ("words", self.words)):
            if unknown := sorted(given.keys() - names):
                raise DataError(
                    f"the {what} name {listing(unknown)}, which the card does not know: "
                    f"{near_matches(unknown[0], names)}"
                )
        fitted = self.fitted_threshold
        rendering.settle(
            self, columns=columns, points=points, threshold=as_fraction(self.threshold),
            fitted_threshold=None if fitted is None else as_fraction(fitted),
            blocks=blocks, classes=classes, step=step, certificate=plain_value(self.certificate),
            base_points={name: int(points) for name, points in self.base_points.items() if points},
            flags=tuple(map(int, self.flags)), words=checked_words(self.words),
        )  # fmt: skip

    @classmethod
    def from_card(
        cls,
        card: Card,
        design: Design,
        certificate: Mapping[str, Any] | None = None,
        title: str = "Scorecard",
    ) -> Scorecard:
        """The scorecard of an integer card and the design it was made from.

        Parameters
        ----------
        card : Card
            One coefficient for each column of the design.
        design : Design
        certificate : mapping, optional
            For example the flat summary of a result.
        title : str

        Returns
        -------
        Scorecard

        Raises
        ------
        DataError
            If the card has another number of coefficients than the design has columns.
        """
        flags = tuple(
            int(j) for j in np.flatnonzero(card.coefficients)
            if design.columns[j].kind == "numeric" and np.isin(design.X[:, j], (0.0, 1.0)).all()
        )  # fmt: skip
        return cls(
            design.columns, tuple(card.coefficients.tolist()), card.threshold, design.blocks,
            design.classes, design.step, certificate or {}, design.fingerprint, title, flags=flags,
        )  # fmt: skip

    @classmethod
    def from_points(cls, points: Mapping[str, Any], **further: Any) -> Scorecard:
        """A card written down by its points, such as one in use.

        Parameters
        ----------
        points : mapping from feature to points
            A whole number, for a feature that is 1 or 0; ``{65: 1, 75: 2}``, points from each value
            on (0 below the first but ``-math.inf``); ``{"smoker": 2, "never": 0}``, all categories.
        threshold, classes, title :
            As above; by default 1, (0, 1) and "Scorecard".
        allow_missing : bool
            Missing values count nothing, but those of flags; False: they are refused.
        """
        from milpscore.scorecard.published import card_of_points

        return card_of_points(points, **further)

    # ---------------------------------------------------------------- what the card consists of

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the raw features, in the order of the columns."""
        return tuple(dict.fromkeys(column.feature for column in self.columns))

    @cached_property
    def used_features(self) -> tuple[rendering.Feature, ...]:
        """The raw features any of whose columns has points."""
        return tuple(
            feature
            for feature in rendering.card_features(self.columns, self.blocks)
            if any(self.points[j] for j in feature.positions)
        )

    @cached_property
    def used_columns(self) -> tuple[Column, ...]:
        """All columns of the used features, in order, those without points included."""
        used = {feature.name for feature in self.used_features}
        return tuple(column for column in self.columns if column.feature in used)

    @cached_property
    def rule(self) -> DecisionRule:
        """The decision rule; totals of indicators are whole numbers, whatever the other data."""
        step = self.step
        if step is None and self.counts_whole:
            step = Fraction(1)
        return DecisionRule(self.threshold, step)

    @cached_property
    def bare_rule(self) -> DecisionRule:
        """The rule for w.x alone, without the base points."""
        return replace(self.rule, threshold=self.threshold - sum(self.base_points.values()))

    def printed_total(self, fitted: Fraction) -> Fraction:
        """The total, as it is printed, of one of the points as they were fitted."""
        return fitted / self.divisor + sum(self.base_points.values())

    def fitted_total(self, printed: Fraction) -> Fraction:
        """The inverse of :meth:`printed_total`."""
        return (printed - sum(self.base_points.values())) * self.divisor

    @cached_property
    def fitted_rule(self) -> DecisionRule:
        """The rule of the fit, which answers positive where the risk is 1/2 or more."""
        fitted = self.fitted_threshold
        return self.rule if fitted is None else replace(self.rule, threshold=fitted)

    @cached_property
    def counts_whole(self) -> bool:
        """Whether every total is a sum of whole points: no column is counted by the unit."""
        used = (j for feature in self.used_features for j in feature.positions)
        return all(self.columns[j].is_indicator or j in self.flags for j in used)

    @cached_property
    def lines(self) -> tuple[rendering.FeatureLines, ...]:
        """What each used feature is worth: the one model of every output."""
        return tuple(rendering.feature_lines(self, feature) for feature in self.used_features)

    @cached_property
    def rows(self) -> tuple[tuple[rendering.Row, ...], ...]:
        """The printed rows, one tuple per used feature.

        All bins of a block, equal neighbours merged; of other columns what has points unless the
        card is printed ``in_full``. Missing values that count 0 in several features share a line.
        """
        return rendering.printed_rows(self.lines)

    def merged(self, block: Iterable[int]) -> tuple[rendering.Row, ...]:
        """The bins of one block, equal neighbours merged."""
        return rendering.merged_rows(
            rendering.card_row(self.columns[j], self.points[j]) for j in block
        )

    @cached_property
    def risk_lines(self) -> tuple[tuple[str, ...], ...]:
        """The risk table: lines of a label and a cell for each group of totals; empty without."""
        return () if self.risk is None else self.risk.lines(self.fitted_rule)

    @property
    def coefficients(self) -> dict[str, int]:
        """Points by column name, zeros included."""
        return {column.name: w for column, w in zip(self.columns, self.points, strict=True)}

    @property
    def intercept(self) -> Fraction:
        """b of the points as they are: -T of the fit, plus the base points."""
        return sum(self.base_points.values()) - self.fitted_rule.threshold

    @property
    def card(self) -> Card:
        """The bare integer card, as it was fitted."""
        w = np.array(self.points, dtype=np.int64)
        return Card(self.divisor * w, self.divisor * self.intercept)

    @property
    def terms(self) -> int:
        """Number of raw features whose points are not all equal: a constant is not a term."""
        return sum(
            any(len({self.points[j] for j in block}) > 1 for block in feature.blocks)
            or any(self.points[j] for j in feature.outside)
            for feature in self.used_features
        )

    @property
    def bins(self) -> int:
        """Number of bins of the used features, equal neighbours merged."""
        return sum(
            len(self.merged(block)) for feature in self.used_features for block in feature.blocks
        )

    # ---------------------------------------------------------------- applying it

    def score(self, X: Any, feature_names: Names = None, unseen: Unseen = "error") -> FloatArray:
        """Totals of rows of raw data.

        Parameters
        ----------
        X : DataFrame or array of shape (n, number of features)
            A DataFrame is read by column name; further columns are ignored. An array is read by
            position, in the order of ``feature_names``.
        feature_names : sequence of str, optional
            Names of an array's columns; :attr:`features` by default.
        unseen : {"error", "zero"}
            What a category the card does not know, or a missing value it does not foresee, means:
            an error, or no points, as no line is for it. A missing number that counts by the unit
            is always an error.

        Returns
        -------
        ndarray of shape (n,)
            Sums that rounding moved off the data's grid are put back on it.

        Raises
        ------
        DataError
            For a missing column, a missing value in a feature without a bin for it, or an unseen
            category.
        """
        from milpscore.data import apply_columns

        used, names = self.used_columns, feature_names or self.features
        nan: Any = "nan" if unseen == "zero" else unseen
        values = apply_columns(used, X, feature_names=names, unseen=nan)
        place = {column.name: j for j, column in enumerate(self.columns)}
        positions = [place[column.name] for column in used]
        flags = [k for k, j in enumerate(positions) if j in self.flags]
        odd = ~np.isin(values[:, flags], (0.0, 1.0))
        if odd.any() and unseen == "error":
            row, k = np.argwhere(odd)[0].tolist()
            raise DataError(
                f"{used[flags[k]].name!r} is {values[row, flags[k]]:g} in {places([row])}, and the "
                "card knows it as 0 or 1: mend the value, or learn the card on data that have it"
            )
        values[:, flags] = np.where(odd, np.nan, values[:, flags])
        return self.totals(values, positions)

    def totals(self, values: FloatArray, positions: Sequence[int] | None = None) -> FloatArray:
        """Totals of values in the design columns at some positions, by default in all of them."""
        at = slice(None) if positions is None else list(positions)
        rule, gone = self.bare_rule, np.isnan(values)
        raw = rule.totals(np.where(gone, 0.0, values), np.array(self.points)[at])
        # a tie without a grid stays one, whatever rounding makes of the sum
        total = np.where(
            raw == float(rule.threshold), float(self.threshold), raw + self._bases.sum()
        )
        # no line is for a feature that is NaN, not even that of its base points
        return total - gone @ self._bases[at]

    @cached_property
    def _bases(self) -> IntArray:
        """The base points of each feature at its first column, shape (p,)."""
        bases = dict(self.base_points)
        return np.array([bases.pop(column.feature, 0) for column in self.columns], dtype=np.int64)

    def decision_function(
        self, X: Any, feature_names: Names = None, unseen: Unseen = "error"
    ) -> FloatArray:
        """total - T + step/2: > 0 exactly where the answer is positive, and never 0.

        Off the data's grid a total between T - step/2 and T gets half its distance to T instead.
        Without a grid, 1e-9 max(1, abs(T)) takes the place of step/2. Arguments as for
        :meth:`score`.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.rule.decision(self.score(X, feature_names, unseen))

    def predict(
        self, X: Any, feature_names: Names = None, unseen: Unseen = "error"
    ) -> npt.NDArray[Any]:
        """The label of each row: positive iff total >= T. Arguments as for :meth:`score`.

        Returns
        -------
        ndarray of shape (n,)
            In the labels of :attr:`classes`.
        """
        return self.labels(self.score(X, feature_names, unseen))

    def score_design(self, Xd: npt.ArrayLike) -> FloatArray:
        """Totals of rows of a design matrix.

        Parameters
        ----------
        Xd : array of shape (n, p)
            One column for each of :attr:`columns`, in their order; a feature that is NaN counts
            nothing.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        DataError
            If the matrix has another number of columns.
        """
        values = np.asarray(Xd, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise DataError(
                f"the card has {len(self.columns)} columns, the matrix the shape {values.shape}; "
                "give the design matrix, or raw data to score()"
            )
        return self.totals(values)

    def labels(self, totals: FloatArray) -> npt.NDArray[Any]:
        """The label of each total returned by :meth:`score` or :meth:`score_design`.

        Parameters
        ----------
        totals : ndarray of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """
        alike = type(self.classes[0]) is type(self.classes[1])
        names = np.array(self.classes, dtype=None if alike else object)
        return names[self.rule.positive(totals).astype(np.intp)]

    def risks(self, totals: FloatArray) -> FloatArray:
        """The probability of the positive label at each total of :meth:`score`.

        The fitted T has the risk 1/2, for which the float above 1/2 is returned: unless another
        decision was chosen, a risk is above 1/2 exactly where the answer is positive.

        Parameters
        ----------
        totals : ndarray of shape (n,)

        Returns
        -------
        ndarray of shape (n,), in [0, 1]

        Raises
        ------
        NotApplicableError
            If the card was not made as a risk score.
        """
        if self.risk is None:
            raise NotApplicableError(
                "this card decides and knows no risks: fit a risk score with the logistic or "
                "probit loss for them"
            )
        return self.risk.risks(totals, self.fitted_rule)

    def predict_proba(
        self, X: Any, feature_names: Names = None, unseen: Unseen = "error"
    ) -> FloatArray:
        """Probabilities of the two labels, see :meth:`risks`. Arguments as for :meth:`score`.

        Returns
        -------
        ndarray of shape (n, 2)
            In the order of :attr:`classes`.
        """
        risk = self.risks(self.score(X, feature_names, unseen))
        return np.column_stack([1.0 - risk, risk])

    # ---------------------------------------------------------------- showing and keeping it

    def __repr__(self) -> str:
        """Title and size; :meth:`to_text` shows the card."""
        used = sum(1 for points in self.points if points)
        return f"<Scorecard {self.title!r}: {used} lines, positive from {self.threshold}>"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The card as plain text: table, decision rule, risks where it has them, certificate."""
        return rendering.card_text(self)

    def to_html(self) -> str:
        """The card as an HTML fragment in which everything is escaped."""
        return rendering.card_html(self)

    _repr_html_ = to_html

    def figure(self, theme: str = "light") -> Figure:
        """The card as a picture: a form with a box beside every line, the rule and the risks.

        Parameters
        ----------
        theme : {"light", "dark"}

        Returns
        -------
        matplotlib.figure.Figure
            As high as the card needs; ``savefig`` writes it as PNG, SVG or PDF.

        Raises
        ------
        OptionError
            For another theme, or a card of more lines than a picture can hold.
        """
        from milpscore.scorecard._picture import card_figure

        return card_figure(self, theme)

    def to_markdown(self) -> str:
        """The card as Markdown text with a pipe table."""
        return rendering.card_markdown(self)

    def to_latex(self) -> str:
        """The card as a LaTeX ``table`` with horizontal rules; no package is needed."""
        return rendering.card_latex(self)

    def to_sql(
        self,
        table: str | Sequence[str] = "data",
        dialect: str = "ansi",
        keys: Sequence[str] = (),
        unseen: Literal["null", "zero"] = "null",
    ) -> str:
        """One SELECT that computes ``total`` and ``prediction`` for every row of a table.

        A card with logistic risks adds the column ``risk``; SQL has no normal distribution
        function, so one with probit risks does not.

        Where :meth:`predict` raises an error for a row, the statement answers NULL: for a NULL in
        a used feature without a bin for missing values, and for a category the card does not
        know. With ``unseen="zero"`` both score nothing, as they do in :meth:`predict`; a NULL
        number that counts by the unit still makes the total NULL. NaN is read as NULL; an infinite
        number makes the total NULL. A result column is called ``card_total``,
        ``card_prediction`` or ``card_risk`` where the data have a column of that name.

        Parameters
        ----------
        table : str or sequence of str
            Name of the table; a sequence is a qualified name such as ``("schema", "table")``.
        dialect : str
            "ansi" is text that SQLite, PostgreSQL, DuckDB and most others read alike. Any other is
            one of sqlglot's, which then has to be installed (the extra ``sql``): "duckdb",
            "postgres", "sqlite", "bigquery", "spark", "snowflake", "mysql", ... Only "sqlite" makes
            NULL of text and bytes in a column of numbers, which other databases do not store.
        keys : sequence of str
            Columns of the table to carry into the result.
        unseen : {"null", "zero"}

        Returns
        -------
        str
            The statement, without a closing semicolon, headed by comments.

        Raises
        ------
        OptionError
            For an unknown dialect or value of ``unseen``.
        DataError
            For a name with a NUL character.
        MissingDependencyError
            A dialect needs sqlglot, and it is not installed.
        """
        from milpscore.scorecard._export import card_sql

        return card_sql(self, table, dialect, keys, unseen)

    def to_json(self) -> str:
        """The card as JSON text (``schema_version`` 1), read back by :meth:`from_json`."""
        from milpscore.scorecard._export import card_to_json

        return card_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The card written by :meth:`to_json`, equal to the original.

        Raises
        ------
        DataError
            If the text is not a card, is damaged, or has another schema version.
        """
        from milpscore.scorecard._export import card_fields

        return cls(**card_fields(text))

    def with_words(
        self,
        words: Mapping[str, Any] | str | Path | None = None,
        *,
        title: str | None = None,
        outcome: str | None = None,
    ) -> Scorecard:
        """The card in a reader's words; what is left out stays as it is.

        Parameters
        ----------
        words : mapping, or path of a file, optional
            From features to a name, or to a mapping with ``name``, ``unit``, ``column`` (what the
            feature is called in a database, for SQL) and ``lines``, which gives printed conditions
            (``>= 60`` or ``≥ 60``) texts to stand in their place. A file holds it as JSON or TOML,
            or as CSV with the header ``feature,name,unit,column,line,text``.
        title : str, optional
        outcome : str, optional
            What a positive answer says, such as "heart disease", in place of its label.

        Returns
        -------
        Scorecard
            Data, points and answers are the same.

        Raises
        ------
        DataError
            If the words name a feature the card does not know, or the file cannot be read.
        """
        if isinstance(words, str | Path):
            from milpscore.scorecard._export import read_words

            words = read_words(words)
        return replace(
            self,
            words=self.words if words is None else words,
            title=self.title if title is None else title,
            outcome=self.outcome if outcome is None else outcome,
        )

    @property
    def unused_words(self) -> tuple[str, ...]:
        """Conditions that words were given for, and that the card has no line for."""
        return tuple(
            f"{name}: {line}"
            for name, own in self.words.items()
            for line in own.get("lines", {})
            if not any(row.means(line) for lines in self.lines if lines.name == name
                       for row in lines.everything)
        )  # fmt: skip

    def write(self, path: str | Path, theme: str = "light") -> Path:
        """Write the card in the form that the file's name asks for.

        Parameters
        ----------
        path : str or Path
            Ends in ``.txt``, ``.md``, ``.tex``, ``.html``, ``.sql``, ``.json``, ``.xlsx``,
            ``.png``, ``.svg`` or ``.pdf``.
        theme : {"light", "dark"}
            Of a picture.

        Returns
        -------
        Path

        Raises
        ------
        OptionError
            For another ending or theme.
        """
        from milpscore.scorecard._export import write_card

        return write_card(self, path, theme)

    def calculator(self, path: str | Path | None = None) -> str:
        """The card as one HTML page for the ward: values with units, the total, the risk.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. It loads nothing and sends nothing.

        Returns
        -------
        str
        """
        from milpscore.scorecard._calculator import Decisions, calculator_page

        page = calculator_page(self, Decisions(rendering.answers(self), (self,)))
        if path is not None:
            write_text(Path(path), page)
        return page

    def spreadsheet(self, path: str | Path) -> Path:
        """Write the card as a workbook (``.xlsx``) whose formulas add up; it holds no macro.

        Its one sheet has a row per line and a cell per value to enter; total, risk and decision
        stand above them. Where the card foresees missing values, an empty cell is one; any other
        value that is absent or unknown leaves the total empty.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path

        Raises
        ------
        MissingDependencyError
            Without openpyxl, which the extra ``excel`` installs.
        OptionError
            For a name that does not end in ``.xlsx``.
        """
        from milpscore.scorecard._calculator import Decisions
        from milpscore.scorecard._spreadsheet import write_spreadsheet

        said = (rendering.decision_sentence(self), *rendering.notes(self))
        return write_spreadsheet(self, Decisions(rendering.decisions(self), (self,), said), path)

    def save(self, path: str | Path) -> Path:
        """Write the JSON text to a file in UTF-8 and return its path."""
        path = Path(path)
        write_text(path, self.to_json() + "\n")
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a card written by :meth:`save`.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        DataError
            If the file holds no card.
        """
        from milpscore.core.reading import text_of

        try:
            text = text_of(Path(path))
        except DataError as error:
            raise DataError(f"{error}; give a card saved by 'milpscore fit --out'") from error
        return cls.from_json(text)


def plain_points(points: Any) -> tuple[int, ...]:
    """Points as Python integers."""
    given = tuple(points)
    try:
        whole = tuple(int(value) for value in given)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"points must be whole numbers: {error}") from error
    if any(a != b for a, b in zip(whole, given, strict=True)):
        raise DataError("points must be whole numbers; round the coefficients first")
    return whole


def plain_value(value: Any) -> Any:
    """A certificate entry as plain Python: NumPy scalars and arrays, tuples and enums unpacked."""
    if isinstance(value, np.generic):
        return plain_value(value.item())
    if isinstance(value, Enum):
        return plain_value(value.value)
    if isinstance(value, Mapping):
        return {str(key): plain_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_value(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float | str | Fraction):
        return value
    raise DataError(
        f"a certificate cannot carry a value of type {type(value).__name__}; "
        "give it as a number, text, list or mapping"
    )


def checked_words(words: Any) -> dict[str, dict[str, Any]]:
    """Words for features: ``name`` and ``unit`` are text, ``lines`` a mapping from text to text."""
    found: dict[str, dict[str, Any]] = {}
    for feature, given in words.items():
        own = {"name": given} if isinstance(given, str) else given
        odd = not isinstance(own, Mapping) or own.keys() - {"name", "unit", "column", "lines"}
        lines = {} if odd else own.get("lines", {})
        texts = [] if odd else [own.get(key, "") for key in ("name", "unit", "column")]
        if (
            odd
            or not isinstance(lines, Mapping)
            or not all(isinstance(text, str) for text in (*texts, *lines, *lines.values()))
        ):
            raise DataError(
                f"the words for {feature!r} must be a name, or a mapping with texts for 'name', "
                "'unit' and 'column' and a mapping 'lines' from printed conditions to texts"
            )
        found[feature] = dict(own)
    return found


def _check_columns(
    columns: Sequence[Column], points: Sequence[int], blocks: Sequence[Sequence[int]]
) -> None:
    """Refuse columns without points, names that stand twice, and blocks beyond the columns."""
    if len(points) != len(columns):
        raise DataError(f"{len(columns)} columns need as many points, not {len(points)}")
    if len({column.name for column in columns}) != len(columns):
        raise DataError("two columns of a card share a name; rename one of them")
    if any(not 0 <= j < len(columns) for block in blocks for j in block):
        raise DataError(f"a block names a column outside 0..{len(columns) - 1}")
