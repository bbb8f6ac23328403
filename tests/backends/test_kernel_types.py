"""What symbols of kernels say of their parameters. The HIP symbols are those that hipcc made of such declarations."""

from __future__ import annotations

import pytest

from gpudx.backends.cuda import types as cuda
from gpudx.backends.hip import types as hip


def test_a_hip_kernel_with_vectors_halves_and_textures() -> None:
    symbol = "_Z2vkPK15HIP_vector_typeIfLj4EES_IdLj2EEP6__halfS_IhLj3EEPS_IyLj2EEDF16_P13__hip_texture"
    told = hip.signature(symbol)
    assert told.name == "vk" and told.parameters is not None
    assert [(p.type, p.pointer, p.const, p.element, p.scalar) for p in told.parameters] == [
        ("HIP_vector_type<float, 4u> const*", True, True, 16, None),
        ("HIP_vector_type<double, 2u>", False, False, None, None),
        ("__half*", True, False, 2, None),
        ("HIP_vector_type<unsigned char, 3u>", False, False, None, None),
        ("HIP_vector_type<unsigned long long, 2u>*", True, False, 16, None),
        ("_Float16", False, False, None, "half"),
        ("__hip_texture*", True, False, None, None),
    ]


@pytest.mark.parametrize(
    ("api", "symbol", "element", "scalar"),
    [
        (cuda, "_Z1kP6float4j", 16, "uint"),
        (cuda, "_Z1kP5uint2f", 8, "float"),
        (cuda, "_Z1kP9longlong2x", 16, "long"),
        (cuda, "_Z1kP13__nv_bfloat16S_", 2, "half"),
        (hip, "_Z1kP14__hip_bfloat16S_", 2, "half"),
        (hip, "_Z1kPPfb", 8, "bool"),
        (hip, "_Z1kP4Pairi", None, "int"),  # a structure's size is not in its name
        (hip, "_Z1kP15HIP_vector_typeI4PairLj2EEi", None, "int"),
    ],
)
def test_elements_and_scalars(api: object, symbol: str, element: int | None, scalar: str) -> None:
    told = api.signature(symbol)  # type: ignore[attr-defined]
    assert told.parameters is not None
    assert (told.parameters[0].element, told.parameters[1].scalar) == (element, scalar)


@pytest.mark.parametrize("api", [cuda, hip])
def test_c_linkage_says_nothing(api: object) -> None:
    told = api.signature("plain")  # type: ignore[attr-defined]
    assert (told.name, told.text, told.parameters) == ("plain", "plain", None)
