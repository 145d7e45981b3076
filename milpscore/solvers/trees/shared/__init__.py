"""What every tree search is made of.

``best_first`` holds the one loop under them and the nodes that are open; ``answer`` limits, clock
and answer, and the solver that runs a search; ``crew`` the workers that search parts of it;
``cell_counts`` the kernels that count rows in the cells of supports; ``support_enumeration`` the
depth-first choice of columns.
"""
