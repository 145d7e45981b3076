"""What both tree searches are made of.

``answer`` holds limits, clock and answer and the solver that runs a search, ``crew`` who searches
parts of it, ``cell_counts`` the kernels that count rows in the cells of supports, and
``support_enumeration`` the depth-first choice of columns.
"""
