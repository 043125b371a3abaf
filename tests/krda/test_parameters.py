"""Parameters that cannot work are refused by name, in the same words everywhere."""

import math

import pytest

from krda.parameters import find_device, require_integer, require_number


@pytest.mark.parametrize("name", ["abacus", "cuda:99", "meta:x"])
def test_a_device_that_is_not_there_is_named(name):
    with pytest.raises(ValueError, match=name):
        find_device(name)


@pytest.mark.parametrize("value", [0, 1.5, "3", True, None])
def test_integers_are_checked(value):
    with pytest.raises(ValueError, match="n_epochs must be an integer of at least 1"):
        require_integer("n_epochs", value, 1)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "1", None, True])
def test_numbers_are_checked(value):
    with pytest.raises(ValueError, match="learning_rate must be a positive finite number"):
        require_number("learning_rate", value, positive=True)
    require_number("trade_off", 0, positive=False)
