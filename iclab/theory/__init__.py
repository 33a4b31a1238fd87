"""Closed forms: optima, population losses, risks, flows, constants, limits.

Plain arrays in, plain arrays out, float64.
"""

from iclab.theory._ahn_optimum import ahn_optimum as ahn_optimum
from iclab.theory._expected_trace import expected_trace as expected_trace
from iclab.theory._layer_inputs import (
    layer_condition_numbers as layer_condition_numbers,
    layer_inputs as layer_inputs,
)
from iclab.theory._linear_transformer_loss import (
    linear_transformer_loss as linear_transformer_loss,
    sampled_transformer_loss as sampled_transformer_loss,
    scalar_transformer_loss as scalar_transformer_loss,
    transformer_loss_given as transformer_loss_given,
    transformer_loss_on_draws as transformer_loss_on_draws,
)
from iclab.theory._looped_bounds import (
    LoopedBounds as LoopedBounds,
    closeness_bound as closeness_bound,
    closeness_bound_lemma_a_9 as closeness_bound_lemma_a_9,
    convergence_time as convergence_time,
    dominance_constant as dominance_constant,
    dominance_envelope as dominance_envelope,
    dominance_threshold as dominance_threshold,
    looped_delta as looped_delta,
    looped_optimum_bounds as looped_optimum_bounds,
    moment_deviation as moment_deviation,
    out_of_distribution_bound as out_of_distribution_bound,
    spectral_distance as spectral_distance,
)
from iclab.theory._looped_loss import (
    looped_loss as looped_loss,
    looped_loss_given as looped_loss_given,
    looped_loss_lemma_4_1 as looped_loss_lemma_4_1,
    looped_loss_on_draws as looped_loss_on_draws,
    loss_by_test_loops as loss_by_test_loops,
    sampled_looped_loss as sampled_looped_loss,
)
from iclab.theory._looped_optimum import (
    looped_expansion as looped_expansion,
    looped_flow as looped_flow,
    looped_flow_limit as looped_flow_limit,
    looped_optimum as looped_optimum,
    marchenko_pastur_looped_optimum as marchenko_pastur_looped_optimum,
)
from iclab.theory._lsa_constants import (
    convergence_constant as convergence_constant,
    convergence_constant_random_covariance as convergence_constant_random_covariance,
    expected_gamma_norm as expected_gamma_norm,
    largest_initial_scale as largest_initial_scale,
    largest_initial_scale_random_covariance as largest_initial_scale_random_covariance,
    last_weight_bound as last_weight_bound,
    last_weight_bound_random_covariance as last_weight_bound_random_covariance,
)
from iclab.theory._lsa_covariances import (
    lsa_flow_given_covariances as lsa_flow_given_covariances,
    lsa_full_loss_given_covariances as lsa_full_loss_given_covariances,
    lsa_optimum_given_covariances as lsa_optimum_given_covariances,
    three_moment_covariances as three_moment_covariances,
)
from iclab.theory._lsa_flow import (
    lsa_flow as lsa_flow,
    lsa_flow_random_covariance as lsa_flow_random_covariance,
)
from iclab.theory._lsa_limits import (
    lsa_limit_factor as lsa_limit_factor,
    lsa_limit_risk as lsa_limit_risk,
)
from iclab.theory._lsa_loss import (
    lsa_full_loss as lsa_full_loss,
    lsa_loss as lsa_loss,
    lsa_loss_random_covariance as lsa_loss_random_covariance,
)
from iclab.theory._lsa_optimum import (
    gamma_matrix as gamma_matrix,
    lsa_optimum as lsa_optimum,
    lsa_optimum_random_covariance as lsa_optimum_random_covariance,
    optimal_preconditioner as optimal_preconditioner,
    random_covariance_coefficients as random_covariance_coefficients,
)
from iclab.theory._lsa_risk import (
    best_linear_risk as best_linear_risk,
    linear_label_covariance as linear_label_covariance,
    lsa_risk as lsa_risk,
    lsa_risk_bound as lsa_risk_bound,
    nonlinear_risk as nonlinear_risk,
    sample_complexity as sample_complexity,
)
from iclab.theory._optimal_steps import (
    marchenko_pastur_optimal_steps as marchenko_pastur_optimal_steps,
    optimal_filter as optimal_filter,
    optimal_gd_plus_plus as optimal_gd_plus_plus,
    optimal_steps as optimal_steps,
    residual_polynomial as residual_polynomial,
)
from iclab.theory._representation_bounds import (
    attended_bound as attended_bound,
    attended_change_bound as attended_change_bound,
    key_query_gradient_bound as key_query_gradient_bound,
    residual_bound as residual_bound,
    residual_change_bound as residual_change_bound,
    value_gradient_bound as value_gradient_bound,
    value_smoothness_bound as value_smoothness_bound,
)
from iclab.theory._representation_loss import (
    label_root as label_root,
    multi_head_weights as multi_head_weights,
    representation_gap as representation_gap,
    representation_gradient as representation_gradient,
    representation_infimum as representation_infimum,
    representation_infimum_printed as representation_infimum_printed,
    representation_loss as representation_loss,
    representation_optimum as representation_optimum,
    representation_residuals_printed as representation_residuals_printed,
    softmax_columns as softmax_columns,
)
from iclab.theory._representation_rates import (
    LearningRates as LearningRates,
    RepresentationConstants as RepresentationConstants,
    attention_eigenvalues as attention_eigenvalues,
    distinct_coordinate as distinct_coordinate,
    iterations_needed as iterations_needed,
    label_norm_bound as label_norm_bound,
    learning_rates as learning_rates,
    representation_constants as representation_constants,
    smallest_gamma as smallest_gamma,
    smoothness_constant as smoothness_constant,
    smoothness_constant_printed as smoothness_constant_printed,
    smoothness_constant_simple as smoothness_constant_simple,
    weight_bound as weight_bound,
)
from iclab.theory._representation_ridge import (
    icl_ridge as icl_ridge,
    mean_performance_gap as mean_performance_gap,
    performance_gap as performance_gap,
    representation_optimum_closed as representation_optimum_closed,
    ridge_coefficients as ridge_coefficients,
    ridge_weights as ridge_weights,
    sampled_performance_gap as sampled_performance_gap,
)
from iclab.theory._weighted_covariances import (
    LossOnDraws as LossOnDraws,
    WeightedCovariances as WeightedCovariances,
    weighted_covariances as weighted_covariances,
)
from iclab.theory._wishart_moments import (
    wishart_matrix_moments as wishart_matrix_moments,
    wishart_moments as wishart_moments,
    wishart_moments_by_traces as wishart_moments_by_traces,
    wishart_moments_zonal as wishart_moments_zonal,
)
from iclab.theory._wishart_quadrature import (
    marchenko_pastur_quadrature as marchenko_pastur_quadrature,
    wishart_quadrature as wishart_quadrature,
)
from iclab.theory._wishart_samples import wishart_samples as wishart_samples
