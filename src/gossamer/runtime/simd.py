# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Vector instructions that the compiler does not find by itself, written in LLVM's intermediate language."""

from collections.abc import Callable

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 32
"""Dimensions per step of `integer_dot`; rows are padded to a multiple of it."""

ABREAST = 16
"""Interleaved rows per call of `distances`: one lane of a register for each."""

TILE = 8
"""Rows per call of `distances` that are multiplied with all interleaved ones: their sums stay in registers."""

FOUR = 4
"""Dimensions per step of `distances`."""


def _prefetch(typing, array, index):
    """Start loading the cache line of element `index` of a contiguous array, without waiting for it."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        function = builder.module.globals.get("llvm.prefetch.p0")
        if function is None:
            shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            function = ir.Function(builder.module, shape, "llvm.prefetch.p0")
        # For reading (0), kept in all caches (3), data (1).
        builder.call(function, [address, *(ir.Constant(number, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


prefetch: Callable[..., None] = intrinsic(_prefetch)


def _integer_dot(typing, left, right):
    """Σ left·right of two contiguous arrays of 8 or 16 bit integers, summed in 32 bits.

    Numba would multiply all integers in 64 bits. Neighbouring products are added in pairs, for which processors have an
    instruction (five times faster than the plain loop).
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


def _distances(typing, rows, abreast, norms, limits, other_norms, other_limits, out, near):
    """Squared distances |a|² + |b|² − 2 a·b of TILE contiguous rows of bytes from ABREAST rows of signed bytes.

    The ABREAST rows are interleaved: the first FOUR numbers of each row, then the next FOUR of each, and so on; the
    length of a row is a multiple of FOUR. So each number is loaded once for many products, and no sum goes over the
    lanes of a register. If the processor has an instruction for this (VNNI), a distance takes a fourth of the time of
    one `integer_dot`. For each of the TILE rows, `near` gets a number whose bit j says whether its distance from row j
    is below the limit of either row.
    """

    def generate(context, builder, signature, arguments):
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        mine, theirs, norms, limits, other_norms, other_limits, out, near = arrays
        length = builder.extract_value(mine.shape, 1)
        number, word, real = length.type, ir.IntType(32), ir.FloatType()
        reals, bytewise = ir.VectorType(real, ABREAST), ir.VectorType(ir.IntType(8), FOUR * ABREAST)

        def load(array, at, kind):
            return builder.load(builder.bitcast(builder.gep(array.data, [at]), kind.as_pointer()), align=1)

        instructed = "+avx512vnni" in context.codegen().magic_tuple()[2]
        add_products = _add_products if instructed else _add_products_in_pairs
        sums = [cgutils.alloca_once_value(builder, _constant(word, [0] * ABREAST)) for _ in range(TILE)]
        with cgutils.for_range_slice(builder, number(0), length, number(FOUR)) as (at, _):
            signed = load(theirs, builder.mul(at, number(ABREAST)), bytewise)
            for row, total in enumerate(sums):
                four = load(mine, builder.add(builder.mul(length, number(row)), at), word)
                unsigned = builder.bitcast(_everywhere(builder, four), bytewise)
                builder.store(add_products(builder, builder.load(total), unsigned, signed), total)
        other_norms, other_limits = (load(array, number(0), reals) for array in (other_norms, other_limits))
        minus_two = _constant(real, [-2.0] * ABREAST)
        for row, total in enumerate(sums):
            norm, limit = (_everywhere(builder, load(array, number(row), real)) for array in (norms, limits))
            products = builder.sitofp(builder.load(total), reals)
            away = builder.fadd(builder.fadd(norm, other_norms), builder.fmul(minus_two, products))
            within = [builder.fcmp_ordered("<", away, each) for each in (limit, other_limits)]
            bits = builder.bitcast(builder.or_(*within), ir.IntType(ABREAST))
            builder.store(builder.zext(bits, word), builder.gep(near.data, [number(row)]))
            place = builder.gep(out.data, [number(row * ABREAST)])
            builder.store(away, builder.bitcast(place, reals.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(rows, abreast, norms, limits, other_norms, other_limits, out, near), generate


distances: Callable[..., None] = intrinsic(_distances)


def _lowest(typing, bits):
    """The position of the lowest set bit of a number other than zero."""

    def generate(context, builder, signature, arguments):
        return builder.zext(builder.cttz(arguments[0], ir.IntType(1)(1)), ir.IntType(64))

    return types.int64(types.int32), generate


lowest: Callable[..., int] = intrinsic(_lowest)


def _everywhere(builder, value):
    """A vector with `value` in each of ABREAST lanes."""
    nothing = ir.Constant(ir.VectorType(value.type, ABREAST), ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, _constant(ir.IntType(32), [0] * ABREAST))


def _add_products(builder, sums, unsigned, signed):
    """Add to each sum the products of the four bytes in its lane (one AVX-512 VNNI instruction)."""
    name = "llvm.x86.avx512.vpdpbusd.512"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(sums.type, [sums.type] * 3), name)
    return builder.call(function, [sums, builder.bitcast(unsigned, sums.type), builder.bitcast(signed, sums.type)])


def _add_products_in_pairs(builder, sums, unsigned, signed):
    """The same on any processor, with products added in pairs as in `_integer_dot`."""
    wide = ir.VectorType(sums.type.element, 2 * ABREAST)
    for first in (0, 2):
        lanes = _constant(ir.IntType(32), [FOUR * i + first + j for i in range(ABREAST) for j in range(2)])
        nothing = ir.Constant(signed.type, ir.Undefined)
        factors = (
            builder.zext(builder.shuffle_vector(unsigned, nothing, lanes), wide),
            builder.sext(builder.shuffle_vector(signed, nothing, lanes), wide),
        )
        products = builder.mul(*factors)
        pairs = builder.add(_pick(builder, products, 0, 2), _pick(builder, products, 1, 2))
        sums = builder.add(sums, pairs)
    return sums


def _load(builder, array, at, wide):
    """LANES numbers from `at` on, extended to 32 bits."""
    element = array.data.type.pointee
    address = builder.bitcast(builder.gep(array.data, [at]), ir.VectorType(element, LANES).as_pointer())
    numbers = builder.load(address)
    numbers.align = 1
    return builder.sext(numbers, ir.VectorType(wide, LANES))


def _pick(builder, vector, start, step, count=None):
    """Every `step`-th lane of a vector from `start` on."""
    count = count or vector.type.count // step
    lanes = _constant(ir.IntType(32), [start + step * i for i in range(count)])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), lanes)


def _constant(kind, values):
    return ir.Constant(ir.VectorType(kind, len(values)), [ir.Constant(kind, value) for value in values])
