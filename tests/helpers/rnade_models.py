import torch

from krda.density.rnade import RNADE


def make_rnade(n_features, *, seed=0, sigma_floor=0.0, n_domains=2):
    """An RNADE with pronounced, different heads in each domain: what training would end with."""
    model = RNADE(
        n_features, n_domains, n_components=3, hidden_size=8, sigma_floor=sigma_floor, seed=seed
    )
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in (model.head_weight, model.head_bias, model.C):
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model
