# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Two things the compiler does not do by itself, written in its intermediate language, for any processor."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 32
"""Dimensions a step of `integer_dot`; rows are padded to a multiple."""


def _prefetch(typing, array, index):
    """Ask for the cache line of element `index` of a contiguous array, and go on meanwhile."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        function = builder.module.globals.get("llvm.prefetch.p0")
        if function is None:
            shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            function = ir.Function(builder.module, shape, "llvm.prefetch.p0")
        # For reading, to be kept in all caches, data.
        builder.call(function, [address, *(ir.Constant(number, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


prefetch: Callable[..., None] = intrinsic(_prefetch)


def _integer_dot(typing, left, right):
    """Σ left·right of two contiguous arrays of 8 or 16 bit integers, summed in 32 bits.

    Written out because Numba multiplies all integers in 64 bits. Neighbouring products are added in pairs,
    the form for which processors have an instruction (five times faster than the plain loop).
    """

    def generate(context, builder, signature, arguments):
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        length = builder.extract_value(arrays[1].shape, 0)
        wide = ir.IntType(32)
        sums = cgutils.alloca_once_value(builder, _constant(wide, [0] * (LANES // 2)))
        zero, step = ir.Constant(length.type, 0), ir.Constant(length.type, LANES)
        with cgutils.for_range_slice(builder, zero, length, step) as (at, _):
            factors = [_load(builder, array, at, wide) for array in arrays]
            products = builder.mul(*factors)
            pairs = builder.add(_pick(builder, products, 0, 2), _pick(builder, products, 1, 2))
            builder.store(builder.add(builder.load(sums), pairs), sums)
        total = builder.load(sums)
        while total.type.count > 1:
            half = total.type.count // 2
            total = builder.add(_pick(builder, total, 0, 1, half), _pick(builder, total, half, 1, half))
        return builder.extract_element(total, ir.Constant(wide, 0))

    return types.int32(left, right), generate


integer_dot: Callable[..., int] = intrinsic(_integer_dot)


def _load(builder, array, at, wide):
    """LANES numbers from `at` on, made 32 bits wide."""
    element = array.data.type.pointee
    address = builder.bitcast(builder.gep(array.data, [at]), ir.VectorType(element, LANES).as_pointer())
    numbers = builder.load(address)
    numbers.align = 1
    return builder.sext(numbers, ir.VectorType(wide, LANES))


def _pick(builder, vector, start, step, count=None):
    """Every `step`-th lane from `start` on."""
    count = count or vector.type.count // step
    lanes = _constant(ir.IntType(32), [start + step * i for i in range(count)])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), lanes)


def _constant(kind, values):
    return ir.Constant(ir.VectorType(kind, len(values)), [ir.Constant(kind, value) for value in values])
