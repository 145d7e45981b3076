"""How many cases of a long parametrised test are quick; the others are slow, and run in test-all.

The quick ones are spread evenly over all, so that every property is tried at its smallest size by
`make test`, and at all its sizes by `make test-all`.
"""

from __future__ import annotations

QUICK = {
    "test_calculator.py::test_every_row_gets_the_total_and_the_risk_of_the_card": 1,
    "test_certificate.py::test_fit_writes_and_verify_proves": 3,
    "test_certificate_engines.py::"
    "test_a_bound_within_limits_on_errors_is_called_what_stands_behind_it": 1,
    "test_certificate_engines.py::test_leaves_prove_the_optimum_and_nothing_above_it": 16,
    "test_certificate_engines.py::test_no_multipliers_prove_too_much": 8,
    "test_certificate_forgeries.py::test_no_file_takes_long_or_much_memory": 4,
    "test_certificate_leaves.py::test_cuts_drop_only_what_a_line_puts_above_the_goal": 40,
    "test_certificate_leaves.py::test_leaves_prove_the_optimum_and_nothing_above_it": 24,
    "test_certificate_supports.py::test_the_checker_believes_what_is_grown_from_them": 4,
    "test_certificate_supports.py::test_the_choices_are_those_that_the_checker_misses": 2,
    "test_claims.py::test_balanced_slim_cards_have_evidence": 5,
    "test_claims.py::test_no_two_objectives_are_less_than_a_step_apart": 12,
    "test_cli.py::test_export_writes_every_formulation": 4,
    "test_cli_path.py::test_every_penalty_makes_a_path": 4,
    "test_conic_builders.py::test_set_equals_a_new_program_and_compiles_nothing": 8,
    "test_conic_builders.py::test_the_model_states_the_loss_plus_the_penalty": 16,
    "test_conic_exact.py::test_binarsity_is_the_relaxation_of_the_fused_lasso": 8,
    "test_conic_files.py::test_the_file_has_the_optimum_of_the_program": 16,
    "test_constraints_exact.py::test_every_solver_of_risk_scores_agrees": 6,
    "test_constraints_exact.py::test_one_constraint": 18,
    "test_constraints_exact.py::test_rounded_cards_obey": 6,
    "test_constraints_exact.py::test_several_constraints": 3,
    "test_constraints_exact.py::test_starts_obey_and_are_taken_up": 3,
    "test_constraints_exact.py::test_the_constrained_card_is_never_better": 3,
    "test_constraints_exact.py::test_the_support_tree_agrees": 6,
    "test_constraints_exact.py::"
    "test_whatever_limits_are_priced_at_no_bound_is_above_the_best_card": 10,
    "test_constraints_rules.py::test_ends_beyond_64_bits_mean_what_they_say": 10,
    "test_cuts.py::test_a_risk_score_by_cuts_is_the_best_over_all_points_of_the_bins": 3,
    "test_cuts.py::test_the_fewest_errors_by_cuts_are_those_over_all_points_of_the_bins": 3,
    "test_damaged_files.py::test_damaged_files_are_read_or_refused_in_one_line": 5,
    "test_data_binning.py::test_scikit_learn_checks": 40,
    "test_data_patterns.py::test_every_reader_gives_the_design_of_the_table_in_memory": 1,
    "test_data_patterns.py::test_the_six_sets_are_read_alike": 2,
    "test_descent.py::test_never_worse_always_allowed_and_repeatable": 60,
    "test_desk.py::test_proved_prices_are_those_of_fresh_solves": 1,
    "test_docs.py::test_the_code_of_a_page_runs_and_prints_what_it_shows": 11,
    "test_edited_models.py::test_claims_hold_for_the_model_as_it_stands": 1,
    "test_estimators_checks.py::test_scikit_learn_check": 25,
    "test_estimators_cv.py::test_chosen_and_fitted_again": 1,
    "test_estimators_fit.py::test_certified_and_reported_also_after_a_pickle": 1,
    "test_estimators_fit.py::test_class_weights_are_sample_weights": 2,
    "test_estimators_fit.py::test_in_a_pipeline_and_a_search": 1,
    "test_estimators_fit.py::test_pickled_and_cloned": 4,
    "test_estimators_fit.py::test_sample_weights_count_rows": 4,
    "test_estimators_penalised_checks.py::test_scikit_learn_check": 50,
    "test_estimators_risk_score.py::test_the_known_optima_are_found": 2,
    "test_experiments_rivals.py::test_what_goes_wrong_becomes_a_row": 2,
    "test_experiments_smoke.py::test_it_runs_is_drawn_and_goes_on_from_its_file": 3,
    "test_fast_work.py::test_a_late_clock_costs_the_fast_mode_nothing": 3,
    "test_formulations_edges.py::test_additions_of_the_user_equal_enumeration": 10,
    "test_formulations_edges.py::test_odd_cases_equal_enumeration": 24,
    "test_formulations_exact.py::test_optimum_equals_enumeration": 12,
    "test_formulations_exact.py::test_presolve_and_seed_do_not_change_the_optimum": 8,
    "test_formulations_exact.py::test_row_and_column_order_do_not_matter": 10,
    "test_formulations_exact.py::test_the_best_risk_score_is_taken_as_a_start": 1,
    "test_formulations_facets_hinge.py::test_a_wider_range_is_never_better": 6,
    "test_formulations_facets_hinge.py::test_optimum_over_all_multiples_of_gamma": 8,
    "test_formulations_risk_score.py::test_widening_the_default_intercepts_never_helps": 4,
    "test_formulations_weighted_tv.py::test_optimum_equals_enumeration": 4,
    "test_fuzz.py::test_a_fixed_share_finds_nothing": 9,
    "test_highs_neighbours.py::"
    "test_other_users_of_highs_in_the_same_thread_and_we_do_not_disturb_each_other": 1,
    "test_hinge_bound.py::test_no_card_lies_below_it_and_the_relaxation_little_above": 7,
    "test_jit.py::test_damaged_machine_code_is_removed_and_made_again": 0,
    "test_messy.py::test_a_certificate_remembers_how_cells_are_read": 2,
    "test_messy.py::test_a_table_of_any_size_is_read_alike": 2,
    "test_ordinal.py::test_it_is_the_best_of_all_cards": 3,
    "test_penalties_prox.py::test_absolute_and_square_penalties": 3,
    "test_penalties_prox.py::test_conic_solver_agrees": 12,
    "test_penalties_prox.py::test_eye": 2,
    "test_penalties_prox.py::test_grid_penalties": 8,
    "test_penalties_shared.py::test_the_prox_is_that_of_the_definition": 1,
    "test_pools.py::test_a_pool_is_every_card_within_the_threshold": 1,
    "test_pools.py::test_no_card_below_the_stated_bound_is_missing": 1,
    "test_pools_front.py::test_a_front_has_the_best_card_of_every_size": 1,
    "test_printing.py::test_names_and_categories_of_a_file_control_no_terminal": 4,
    "test_program.py::test_a_session_edited_in_place_equals_a_new_program": 2,
    "test_program.py::test_a_written_file_has_the_same_optimum": 6,
    "test_program.py::test_there_and_back_keeps_what_was_added": 5,
    "test_proximal_clusters.py::test_the_minimiser_of_a_quadratic": 2,
    "test_proximal_start.py::test_a_start_meets_every_constraint": 5,
    "test_report.py::test_no_card_beats_what_is_said": 5,
    "test_risk_fast.py::test_never_above_plain_baselines": 2,
    "test_risk_scale.py::test_a_norm_of_the_points_is_bounded_over_all_slopes": 4,
    "test_risk_scale.py::"
    "test_beyond_the_steepest_slope_no_loss_is_less_where_totals_are_on_a_grid": 2,
    "test_risk_scale.py::test_every_scale_is_claimed_only_where_no_scale_does_better": 5,
    "test_risk_scale.py::test_limits_on_errors_are_kept_at_any_scale": 1,
    "test_risk_scale.py::test_slopes_halved_at_every_node_lose_nothing": 3,
    "test_risk_scale.py::test_tangents_find_it_too": 1,
    "test_risk_scale.py::test_the_tree_finds_what_enumeration_finds": 6,
    "test_risk_scale.py::test_where_totals_part_the_classes_a_fit_looks_for_wide_margins": 2,
    "test_rules_answered.py::test_a_subgroups_limit_is_met_exactly_where_some_card_meets_it": 1,
    "test_rules_answered.py::test_every_rule_gets_a_card_or_a_proof": 15,
    "test_scorecard_databases.py::test_duckdb_gives_no_class_where_predict_refuses": 1,
    "test_scorecard_databases.py::test_sqlite_gives_no_class_where_predict_refuses": 1,
    "test_scorecard_spreadsheet.py::"
    "test_every_row_gets_the_total_the_risk_and_the_answer_of_the_card": 3,
    "test_scorecard_sql.py::test_sql_agrees_with_predict": 10,
    "test_second_core.py::test_both_cores_agree_on_true_and_false_certificates": 2,
    "test_sequence_sgd.py::test_comes_near_the_optimum": 1,
    "test_sequence_sgd.py::test_thirty_epochs_on_generated_text": 1,
    "test_solver_outer_approximation.py::test_known_optima": 1,
    "test_solver_outer_approximation.py::test_optimum_and_bound_equal_enumeration": 8,
    "test_solver_outer_approximation.py::test_the_relaxation_converges_below_the_exact_optimum": 1,
    "test_solver_support_tree.py::test_optimum_equals_enumeration": 8,
    "test_solver_tree.py::test_constraints_are_kept_and_proved": 4,
    "test_solver_tree.py::test_slim_by_the_tree_is_slim_by_highs": 4,
    "test_solver_tree.py::test_slim_on_a_grid_too_fine_for_highs": 5,
    "test_solver_tree.py::test_the_optimum_is_that_of_brute_force": 16,
    "test_starts.py::test_a_freer_statement_never_ends_with_a_worse_card": 1,
    "test_starts.py::test_a_start_with_more_terms_or_larger_points_is_no_worse": 1,
    "test_starts.py::test_at_a_price_alone_auto_finds_the_card_that_a_limit_of_terms_proves": 0,
    "test_starts.py::"
    "test_at_a_price_without_a_limit_of_terms_no_engine_is_worse_than_small_cards": 1,
    "test_starts.py::test_ten_terms_start_no_worse_than_five": 1,
    "test_strength.py::test_every_strength_finds_the_optimum_of_enumeration": 1,
    "test_study_engines.py::test_a_run_cut_off_goes_on_where_it_was": 1,
    "test_tree_priced.py::test_the_search_ends_at_the_best_card_within_the_limits": 1,
    "test_tree_risk.py::test_random_problems_reach_the_optimum": 4,
    "test_tree_risk.py::test_real_sets_are_proved": 3,
    "test_tree_sharing.py::test_any_number_of_workers_gives_the_answer_of_one_process": 1,
    "test_tree_sharing.py::test_the_zero_one_tree_gives_the_answer_of_one_process": 1,
    "test_tree_supports.py::test_no_card_below_the_cutoff_is_lost": 12,
    "test_tree_supports.py::"
    "test_priced_cells_lose_no_more_than_any_function_of_them_within_a_limit": 3,
    "test_tree_supports.py::test_supports_prove_what_boxes_prove": 6,
    "test_tree_turns.py::test_two_searches_in_turns_find_the_optimum": 1,
    "test_tree_zero_one.py::test_a_gap_ends_the_search_within_it": 2,
    "test_tree_zero_one.py::test_optimum_equals_every_card_tried": 3,
    "test_tree_zero_one.py::test_optimum_without_a_local_search": 2,
    "test_tree_zero_one.py::test_pairs_of_rows_bound_every_card_of_a_node": 1,
    "test_tree_zero_one.py::test_signed_supports_find_the_optimum": 4,
    "test_tree_zero_one.py::test_supports_are_counted_as_they_are_sorted": 1,
    "test_units.py::test_the_hinge_in_any_units_against_enumeration": 6,
}
"""Quick cases per test; 0 only where another test holds the property quickly: what `auto` answers
at a price alone is held by `test_at_a_price_without_a_limit_of_terms_no_engine_is_worse_...`."""


LONG = {
    # a cluster of Dask waits for its scheduler and its workers; without one: the rest of the file
    "test_study_engines.py::test_a_deadly_solve_is_an_error_and_a_lost_scheduler_is_told",
    "test_study_engines.py::test_a_cluster_gives_the_same_also_with_a_worker_killed_midway",
    "test_tree_sharing.py::test_a_cluster_gives_the_same_also_with_a_worker_killed_midway",
    # processes: test_any_number_of_workers_gives_the_answer_of_one_process is quick
    "test_solver_tree.py::test_processes_find_the_same_card",
    "test_estimators_cv.py::test_processes_change_nothing",
    "test_tree_risk_limits.py::test_processes_share_the_tree",
    "test_tree_sharing.py::test_supports_with_signs_are_shared_as_well",
    "test_tree_supports.py::test_several_processes_share_what_supports_leave",
    "test_estimators_penalised_cv.py::test_processes_and_splitters_change_nothing",
    "test_study_engines.py::test_several_processes_give_the_same",
    "test_proximal_path.py::test_grid_in_parallel_is_the_same",
    # whole commands, whose parts are tried one by one
    "test_constraints_files.py::test_fit_compare_and_export_read_a_file",
    "test_cli_pool.py::test_a_person_reads_cards_and_ranges",
    "test_race.py::test_the_command",
    "test_cli_pool.py::test_a_front_without_a_limit_goes_through_all_columns",
    # comparisons of every formulation: test_comparison.py holds their rows on fewer
    "test_estimators_risk_score.py::test_compare_keeps_its_order",
    "test_estimators_risk_score.py::test_list_and_compare_know_it",
    "test_risk_scale.py::test_compare_states_it_by_default",
    # limits of time and interrupts: test_cli.py and test_clock.py hold them with a clock by hand
    "test_solver_highs.py::test_ctrl_c_keeps_the_best_card_and_its_bound",
    "test_solver_highs.py::test_a_time_limit_is_kept_again_and_again",
    "test_solver_support_tree.py::test_the_time_limit_is_kept",
    # many random cases at once: their neighbours in the same files try fewer
    "test_sequence_crf.py::test_solvers_agree_where_both_apply",
    "test_tree_supports.py::test_supports_that_part_the_classes_are_found_by_the_pairs_they_part",
    "test_data_patterns.py::test_merging_knows_no_order_and_no_parts",
    "test_desk.py::test_a_pool_says_nothing_of_limits_on_errors",
    "test_study_file.py::test_every_kind_of_data_and_model",
    "test_penalties_shared.py::test_estimator_and_command_line_share_cuts",
    "test_sequence_sbcd.py::test_derivatives_of_blocks_by_enumeration",
    "test_starts.py::test_columns_by_the_thousand_without_a_limit_of_terms",
    # experiments: test_experiments_smoke.py runs each at its smallest size
    "test_experiments_scores.py::test_a_large_cohort_gives_diarem_back",
    "test_experiments_strength.py::test_the_comparison_lays_the_programs_side_by_side",
    "test_experiments_binarsity.py::test_comparison_has_every_method_on_every_set",
    "test_experiments_ternary.py::test_relaxed_exact_and_rounded_are_in_order",
    # whole runs, beside test_demo_without_time_shows_empty_cards, the rows of a comparison one by
    # one and the other derivatives of test_sequence_sbcd.py
    "test_cli.py::test_demo_shows_card_certificate_and_table",
    "test_comparison.py::test_the_same_seed_gives_the_same_table",
    "test_cli_habits.py::test_a_comparison_begins_with_the_risk_score",
    "test_sequence_sbcd.py::test_second_derivatives_are_exact_for_a_symbol_seen_once_a_sequence",
    # a signal at any moment of a pool or a command: each stopped once by hand in its file
    "test_pools.py::test_a_signal_at_any_moment_leaves_a_valid_pool",
    "test_cli_crf.py::test_ctrl_c_saves_the_model_and_ends_with_130",
    # machine code on the disk: test_kernels_are_announced_once_and_come_from_the_disk
    "test_jit.py::test_kernels_on_the_disk_follow_what_is_written_in_their_folder",
    "test_jit.py::test_a_kernel_that_kernels_call_is_kept_with_them_and_raises_through_them",
    # a database server, beside the same in SQLite and DuckDB, and test_postgresql
    "test_scorecard_databases.py::test_postgresql_gives_no_class_where_predict_refuses",
    # comparisons and commands over every formulation: their rows one by one in the same files
    "test_proximal_start.py::test_the_proximal_row_comes_last_and_bounds_nothing",
    "test_proximal_start.py::test_compare_says_what_the_start_saved",
    "test_cli.py::test_compare_sets_arguments_of_all_or_of_one",
    "test_cli.py::test_one_of_three_classes_against_the_rest",
    "test_cli_path.py::test_three_classes_and_more_have_the_multinomial_loss",
    # refits of a whole command, and tables of many rows: the functions are tried on few
    "test_worth.py::test_cuts_that_stay_are_said",
    "test_data_all_rows.py::test_a_fit_takes_all_rows_where_an_exact_search_is_out_of_reach",
    "test_data_patterns.py::test_searches_and_comparisons_take_merged_rows",
    "test_data_patterns.py::test_the_command_line_reads_what_is_too_large_for_memory",
    "test_data_patterns.py::test_every_reader_stores_each_row",
    "test_data_patterns.py::test_a_table_whose_columns_would_not_fit_is_verified_by_its_distinct_rows",
    "test_constraints_rules.py::test_a_limit_on_totals_of_data_on_no_grid_is_not_clipped",
    # bounds over every card of many nodes: the fuzzer's share compares whole searches
    "test_tree_priced.py::test_priced_bounds_stay_below_every_card",
    "test_tree_priced.py::test_single_cards_are_bounded_where_they_lie",
    "test_tree_sides.py::test_sided_bounds_stay_below_every_card",
    "test_tree_sharing.py::test_little_memory_gives_the_same_answer",
    "test_risk_fast.py::test_enumeration_of_every_card_finds_hardly_ever_a_better_one",
    "test_starts.py::test_measured_columns_without_a_limit_keep_the_start",
    # pools that are stopped: test_pools_front.py stops one early
    "test_pools.py::test_limits_say_what_stopped_the_search",
    "test_pools.py::test_the_tree_holds_its_cutoff",
    # forms of one card, each tried alone in its file
    "test_scorecard_form.py::test_a_card_is_written_in_the_form_its_name_asks_for",
    "test_report_browser.py::test_a_card_of_sixty_lines_prints_on_a_page_of_its_own",
    "test_cli_crf.py::test_the_model_is_saved_though_nobody_reads_the_summary",
    "test_estimators_cv.py::test_inside_a_cross_validation",
    "test_estimators_fit.py::test_binner_parameters_are_searched",
    # `make lint` does the same
    "test_house.py::test_this_house_is_in_order",
    "test_layers.py::test_rooms_are_entered_by_their_doors",
}
"""Tests that take seconds each, and what holds the property quickly."""


def slow_cases(names: list[str]) -> list[int]:
    """Places of the slow cases among tests named "FILE::TEST", in their order."""
    places: dict[str, list[int]] = {}
    slow = [place for place, name in enumerate(names) if name in LONG]
    for place, name in enumerate(names):
        if name in QUICK:
            places.setdefault(name, []).append(place)
    for name, own in places.items():
        count, quick = len(own), QUICK[name]
        chosen = {own[k * count // quick] for k in range(min(quick, count))} if quick else set()
        slow += [place for place in own if place not in chosen]
    return slow
