import pytest

from models.variational.inference import starting_dirichlet


@pytest.fixture
def even_start(monkeypatch):
    """Documents start without noise, as the oracles' do."""
    monkeypatch.setattr(
        "models.lda.e_step.noisy_start", lambda counts, alpha, _: starting_dirichlet(counts, alpha)
    )
