"""Cut texts."""

from symres.activations.activation import formula_name, identifier
from symres.cli.request import in_a_file_name


def test_names_of_files_and_formulas_have_the_digits_that_they_had():
    assert identifier("z*tanh(z)+1") == "z_times_tanh_z_plus_1_a62dca43"
    assert in_a_file_name("sqrt(2)/2") == "sqrt_2_2_ca0b2836"
    assert formula_name("+".join(f"a{k}*z" for k in range(20))).endswith("a9*...c39a5a3c")
