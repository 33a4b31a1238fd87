"""In-context learners with weights."""

from iclab.models._attention import (
    ACTIVATIONS as ACTIVATIONS,
    Attention as Attention,
    Network as Network,
)
from iclab.models._attention_weights import (
    MergedWeights as MergedWeights,
    SeparateWeights as SeparateWeights,
    SparseWeights as SparseWeights,
)
from iclab.models._encoder import Encoder as Encoder
from iclab.models._files import (
    load as load,
    save as save,
    shipped as shipped,
    shipped_manifests as shipped_manifests,
)
from iclab.models._gpt2 import GPT2 as GPT2, GPT2_SIZES as GPT2_SIZES
from iclab.models._linear_self_attention import (
    LinearSelfAttention as LinearSelfAttention,
)
from iclab.models._linear_transformer import LinearTransformer as LinearTransformer
from iclab.models._looped_transformer import (
    LoopedTransformer as LoopedTransformer,
    UntiedTransformer as UntiedTransformer,
)
from iclab.models._multi_head_softmax import MultiHeadSoftmax as MultiHeadSoftmax
from iclab.models._on_prompts import OnPrompts as OnPrompts
