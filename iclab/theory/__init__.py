"""Closed forms: optima, population losses, risks, flows, constants, limits.

Plain arrays in, plain arrays out, float64.
"""

from iclab.theory._ahn_optimum import ahn_optimum as ahn_optimum
from iclab.theory._expected_trace import expected_trace as expected_trace
from iclab.theory._linear_transformer_loss import (
    linear_transformer_loss as linear_transformer_loss,
    sampled_transformer_loss as sampled_transformer_loss,
    scalar_transformer_loss as scalar_transformer_loss,
    transformer_loss_given as transformer_loss_given,
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
    optimal_gd_plus_plus as optimal_gd_plus_plus,
    optimal_steps as optimal_steps,
    residual_polynomial as residual_polynomial,
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
