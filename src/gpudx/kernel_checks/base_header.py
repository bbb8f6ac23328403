"""What OpenCL C has built in beyond functions: types, constants and the few macros, for reading sources with libclang.

The wheel of libclang declares the built-in functions itself (-fdeclare-opencl-builtins) but has no opencl-c-base.h. Names
and values are those of the OpenCL C specification (6.3, 6.15); only their types matter here, nothing is compiled from this.
"""

from __future__ import annotations

from functools import cache

SCALARS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half")
WIDTHS = (2, 3, 4, 8, 16)
UNSIGNED = "typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;"
SIZES = (
    "typedef __SIZE_TYPE__ size_t; typedef __PTRDIFF_TYPE__ ptrdiff_t;"
    " typedef __INTPTR_TYPE__ intptr_t; typedef __UINTPTR_TYPE__ uintptr_t;"
)
FLAGS = (
    "CLK_LOCAL_MEM_FENCE = 1, CLK_GLOBAL_MEM_FENCE = 2, CLK_IMAGE_MEM_FENCE = 4, CLK_ADDRESS_NONE = 0,"
    " CLK_ADDRESS_CLAMP_TO_EDGE = 2, CLK_ADDRESS_CLAMP = 4, CLK_ADDRESS_REPEAT = 6, CLK_ADDRESS_MIRRORED_REPEAT = 8,"
    " CLK_NORMALIZED_COORDS_FALSE = 0, CLK_NORMALIZED_COORDS_TRUE = 1, CLK_FILTER_NEAREST = 16, CLK_FILTER_LINEAR = 32"
)
CHANNELS = (
    "CLK_SNORM_INT8 = 0x10D0, CLK_SNORM_INT16, CLK_UNORM_INT8, CLK_UNORM_INT16, CLK_UNORM_SHORT_565, CLK_UNORM_SHORT_555,"
    " CLK_UNORM_INT_101010, CLK_SIGNED_INT8, CLK_SIGNED_INT16, CLK_SIGNED_INT32, CLK_UNSIGNED_INT8, CLK_UNSIGNED_INT16,"
    " CLK_UNSIGNED_INT32, CLK_HALF_FLOAT, CLK_FLOAT, CLK_UNORM_INT24, CLK_R = 0x10B0, CLK_A, CLK_RG, CLK_RA, CLK_RGB,"
    " CLK_RGBA, CLK_BGRA, CLK_ARGB, CLK_INTENSITY, CLK_LUMINANCE, CLK_Rx, CLK_RGx, CLK_RGBx"
)
LIMITS = {
    "CHAR_BIT": "8", "SCHAR_MAX": "127", "SCHAR_MIN": "(-128)", "CHAR_MAX": "127", "CHAR_MIN": "(-128)", "UCHAR_MAX": "255",
    "SHRT_MAX": "32767", "SHRT_MIN": "(-32768)", "USHRT_MAX": "65535", "INT_MAX": "2147483647", "INT_MIN": "(-2147483647-1)",
    "UINT_MAX": "4294967295U", "LONG_MAX": "0x7fffffffffffffffL", "LONG_MIN": "(-0x7fffffffffffffffL-1)",
    "ULONG_MAX": "0xffffffffffffffffUL", "FLT_DIG": "6", "FLT_MANT_DIG": "24", "FLT_MAX_10_EXP": "38", "FLT_MAX_EXP": "128",
    "FLT_MIN_10_EXP": "(-37)", "FLT_MIN_EXP": "(-125)", "FLT_RADIX": "2", "FLT_MAX": "340282346638528859811704183484516925440.0f",
    "FLT_MIN": "1.175494350822287507969e-38f", "FLT_EPSILON": "1.1920928955078125e-7f", "MAXFLOAT": "FLT_MAX",
    "HUGE_VALF": "(__builtin_huge_valf())", "HUGE_VAL": "(__builtin_huge_val())", "INFINITY": "(__builtin_inff())",
    "NAN": "(__builtin_nanf(\"\"))", "DBL_MAX": "1.79769313486231570815e+308", "DBL_MIN": "2.22507385850720138309e-308",
    "DBL_EPSILON": "2.220446049250313080847e-16", "DBL_DIG": "15", "DBL_MANT_DIG": "53", "DBL_MAX_EXP": "1024",
    "DBL_MIN_EXP": "(-1021)", "DBL_MAX_10_EXP": "308", "DBL_MIN_10_EXP": "(-307)", "DBL_RADIX": "2", "FP_ILOGB0": "INT_MIN",
    "FP_ILOGBNAN": "INT_MAX", "HALF_MAX": "65504.0f", "HALF_MIN": "6.103515625e-05f", "HALF_EPSILON": "9.765625e-04f",
    "NULL": "((void*)0)", "CLK_NULL_EVENT": "0", "CLK_NULL_RESERVE_ID": "0", "ATOMIC_FLAG_INIT": "0",
}  # fmt: skip
CONSTANTS = (
    "E",
    "LOG2E",
    "LOG10E",
    "LN2",
    "LN10",
    "PI",
    "PI_2",
    "PI_4",
    "1_PI",
    "2_PI",
    "2_SQRTPI",
    "SQRT2",
    "SQRT1_2",
)
# What clang's declarations of built-in functions depend on (its opencl-c-base.h defines them for 2.0).
FEATURES = (
    "generic_address_space", "atomic_order_acq_rel", "atomic_order_seq_cst", "atomic_scope_device", "atomic_scope_all_devices",
    "subgroups", "work_group_collective_functions", "images", "fp64", "int64", "3d_image_writes", "read_write_images", "pipes",
    "program_scope_global_variables",
)  # fmt: skip
# The same, by the names of extensions (clang's OpenCLBuiltins.td).
EXTENSIONS = (
    "__opencl_subgroup_builtins", "cl_khr_subgroup_extended_types", "cl_khr_subgroup_non_uniform_vote", "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_non_uniform_arithmetic", "cl_khr_subgroup_shuffle", "cl_khr_subgroup_shuffle_relative",
    "cl_khr_subgroup_clustered_reduce", "cl_khr_subgroup_rotate", "cl_khr_extended_bit_ops", "cl_khr_integer_dot_product",
    "__opencl_c_integer_dot_product_input_4x8bit", "__opencl_c_integer_dot_product_input_4x8bit_packed",
)  # fmt: skip
ATOMICS = """
typedef enum memory_scope { memory_scope_work_item, memory_scope_work_group, memory_scope_device, memory_scope_all_svm_devices,
  memory_scope_sub_group } memory_scope;
typedef enum memory_order { memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel,
  memory_order_seq_cst } memory_order;
#define memory_scope_all_devices memory_scope_all_svm_devices
"""


@cache
def text(version: int) -> str:
    """The header for a version of the language: 120 for 1.2."""
    parts = [
        UNSIGNED,
        SIZES,
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable",
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    ]
    parts += [f"typedef {s} {s}{n} __attribute__((ext_vector_type({n})));" for s in SCALARS for n in WIDTHS]
    parts += ["typedef uint cl_mem_fence_flags;", f"enum {{ {FLAGS} }};", f"enum {{ {CHANNELS} }};"]
    parts += [f"#define {name} {value}" for name, value in LIMITS.items()]
    parts += [f"#define M_{name}_F 1.0f\n#define M_{name}_H 1.0f\n#define M_{name} 1.0" for name in CONSTANTS]
    parts += ["int printf(__constant const char *format, ...);", ATOMICS]
    parts += ["#define ATOMIC_VAR_INIT(X) (X)", "typedef int clk_profiling_info;", "typedef uint clk_enqueue_flags_t;"]
    parts.append("#define __opencl_c_named_address_space_builtins 1")  # clang declares vloadn and its like only then
    parts += [f"#define {name} 1" for name in EXTENSIONS]
    if version >= 200:  # clang itself declares the atomic types then, and has no _Atomic in OpenCL C
        parts += [f"#define __opencl_c_{name} 1" for name in FEATURES]
    return "\n".join(parts) + "\n"


@cache
def macros() -> dict[str, str]:
    """Object-like stand-ins are not enough for as_type(x): the preprocessor expands these, as drivers' own headers do."""
    types = [s + n for s in SCALARS for n in ("", *map(str, WIDTHS))]
    types += ["size_t", "ptrdiff_t", "intptr_t", "uintptr_t"]
    return {f"as_{name}": name for name in types}
