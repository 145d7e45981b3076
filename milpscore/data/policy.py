"""What reading tables of any size is tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataPolicy:
    """Sizes of tables: what is read into memory, what is merged, what is refused.

    Attributes
    ----------
    max_patterns : int
        Distinct rows beyond which no design is made; of many columns fewer.
    max_categories : int
        Categories of one feature beyond which it makes no columns.
    exact_values : int
        Values of a feature up to which each is counted, beyond it groups of them.
    exact_cells : int
        Rows times features of more values up to which each is counted all the same: 250 MB of text.
    equal_groups : int
        Groups of equal width that the values of a feature are counted in.
    heavy_share : float
        Share of the rows in one group beyond which groups of equal ratio are tried.
    ratio_groups : int
        Groups of equal ratio from 1 to e.
    sampled_rows : int
        Rows of a large table that show whether its rows repeat.
    sure_factor : float
        Multiple of ``max_patterns`` that this sample has to estimate for a table to be refused.
    max_labels : int
        Distinct labels beyond which the target is refused before its values are counted.
    coded_values : int
        Values of a feature up to which these are codes as they stand.
    memory_limit : str
        Memory for reading a table.
    max_bytes_in_memory : int
        Bytes of text beyond which a file is not read into memory as a whole.
    merged_cells : int
        Cells of a file from which merging is quicker than holding it, if its rows are not needed.
    pair_cells : int
        Numbers in the differences of all pairs of distinct rows.
    max_rows_in_memory : int
        Rows of a table in memory beyond which it is merged.
    duckdb_share : float
        Share of the limit that DuckDB gets: the rest is for the answers and for Python.
    sampled_places : int
        Places of Parquet files that a sample is taken from.
    number_share : float
        Share of the rows of a text column that have to be numbers for it to be read as such.
    odd_texts : int
        Different texts of such a column beyond which it stays text.
    texts_looked_at : int
        Texts of a column that decide about it.
    texts_read : int
        Texts of a column that DuckDB gives out, the most frequent ones.
    many_categories, frequent_rows : int
        Categories of text beyond which those with fewer rows than the second have no column.
    mark_rows, other_values : int
        Rows of a value far outside some others, and how many of these, for it to look like a mark.
    """

    max_patterns: int = 1_000_000
    max_categories: int = 10_000
    exact_values: int = 100_000
    exact_cells: int = 36_000_000
    equal_groups: int = 2**14
    heavy_share: float = 0.002
    ratio_groups: int = 2000
    sampled_rows: int = 2**17
    sure_factor: float = 2.0
    max_labels: int = 1000
    coded_values: int = 16
    memory_limit: str = "2GB"
    max_bytes_in_memory: int = 250_000_000
    pair_cells: int = 30_000_000
    merged_cells: int = 2_000_000
    max_rows_in_memory: int = 2_000_000
    duckdb_share: float = 0.75
    sampled_places: int = 8
    number_share: float = 0.95
    odd_texts: int = 50
    texts_looked_at: int = 2000
    texts_read: int = 20_000
    many_categories: int = 20
    frequent_rows: int = 10
    mark_rows: int = 3
    other_values: int = 6


POLICY = DataPolicy()
"""What reading is tuned with; tests set another."""
