import pickle

import numpy as np
import pytest
import torch

from benchmarks.blocks import CarryBlock, carry_file, slices
from krda.transport import BLOCK_ROWS


def test_two_processes_carry_a_file_to_the_bytes_of_one_go(fitted, tmp_path):
    directory, model, Xs = fitted
    carried = tmp_path / "carried.npy"
    carry_file(directory / "model.pickle", directory / "source.npy", carried, rows=4 * BLOCK_ROWS)
    assert np.load(carried).tobytes() == model.transform(Xs).tobytes()
    assert [path.name for path in tmp_path.iterdir()] == ["carried.npy"]


def test_blocks_of_any_size_agree_to_rounding(fitted):
    directory, model, Xs = fitted
    carry = CarryBlock(directory / "model.pickle")
    parts = [carry(Xs[i : i + 13_777]) for i in range(0, len(Xs), 13_777)]
    np.testing.assert_allclose(np.vstack(parts), model.transform(Xs), rtol=1e-9, atol=1e-9)


def test_a_copy_in_another_process_limits_threads_as_well(fitted):
    directory, _, Xs = fitted
    carry = pickle.loads(pickle.dumps(CarryBlock(directory / "model.pickle")))
    try:
        torch.set_num_threads(2)
        carry(Xs[:10])
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


def test_slices_cover_every_row_once():
    covered = [i for part in slices(80_000, 4 * BLOCK_ROWS) for i in range(80_000)[part]]
    assert covered == list(range(80_000))


@pytest.mark.parametrize("rows", [0, -BLOCK_ROWS, 1_000])
def test_blocks_that_would_change_the_arithmetic_are_refused(rows):
    with pytest.raises(ValueError, match=f"multiple of {BLOCK_ROWS}"):
        list(slices(10, rows))
