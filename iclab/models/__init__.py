"""In-context learners with weights."""

from iclab.models._linear_self_attention import (
    LinearSelfAttention as LinearSelfAttention,
)
from iclab.models._linear_transformer import LinearTransformer as LinearTransformer
