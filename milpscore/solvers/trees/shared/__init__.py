"""What every tree search is made of.

``best_first`` holds the one loop under them, the nodes that are open, and the workers that search
parts; ``answer`` limits, clock and answer, and the solver that runs a search;
``cell_counts`` the kernels that count rows in the cells of supports; ``support_enumeration`` the
depth-first choice of columns.
"""
