package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// packedOperators are ONNX Runtime's: weights of 2, 4 or 8 bits, packed in bytes, with a scale for each block, as in language models.
var packedOperators = operators{
	"MatMulNBits":          one(matMulNBits).but("weights, scales and zero points that are not constant, and g_idx"),
	"MatMulBnb4":           one(matMulBnb4).but("weights and scales that are not constant"),
	"GatherBlockQuantized": one(gatherBlocks).but("data and zero points that are not constant, where they are packed"),
}

// constantAt returns input i, which must be a constant.
func (x *site) constantAt(i int) *tensor.Tensor {
	t := x.at(i).t
	if t == nil {
		refuse("input %d (%s) has to be a constant", i, x.n.Inputs[i])
	}
	return t
}

// part returns element i, which has that many bits, of packed bytes, the lowest bits first.
func part(packed []byte, i, bits int) byte {
	each := 8 / bits
	return packed[i/each] >> (bits * (i % each)) & (1<<bits - 1)
}

func (x *site) bits(def int) int {
	bits := x.int("bits", def)
	if bits != 2 && bits != 4 && bits != 8 {
		refuse("%d bits: expected 2, 4 or 8", bits)
	}
	return bits
}

// blocksOf returns the block size, a power of two.
func (x *site) blocksOf(def int) int {
	block := x.int("block_size", def)
	if block < 16 || block > 1<<20 || block&(block-1) != 0 {
		refuse("blocks of %d: expected a power of two of at least 16", block)
	}
	return block
}

// matMulNBits multiplies by a matrix [N, K] with blocks along K.
func matMulNBits(x *site) *value {
	rows, size, bits, block := x.int("N", 0), x.int("K", 0), x.bits(4), x.blocksOf(0)
	x.attr("accuracy_level") // the lowest accuracy allowed
	x.attr("weight_prepacked")
	if x.int("weight_prepacked", 0) != 0 {
		refuse("weights in an order of their own")
	}
	if x.has(4) {
		refuse("g_idx")
	}
	packed, scales := x.constantAt(1), x.constantAt(2)
	blocks := (size + block - 1) / max(block, 1)
	each := block * bits / 8
	if rows < 1 || size < 1 || packed.DType != tensor.Uint8 || scales.DType == tensor.String || packed.Len()/rows != blocks*each || packed.Len()%rows != 0 || scales.Len() != rows*blocks {
		refuse("weights %v%v and scales %v for %d rows of %d elements in blocks of %d", packed.DType, packed.Shape, scales.Shape, rows, size, block)
	}
	zero := x.zeroPoints(3, rows, blocks, bits)
	x.t.pay(4 * rows * size)
	w := tensor.New(tensor.Float32, size, rows)
	all := tensor.Values[float32](w)
	for n := range rows {
		for k := range size {
			b := n*blocks + k/block
			q := part(packed.Bytes[b*each:(b+1)*each], k%block, bits)
			all[k*rows+n] = (float32(q) - zero(n, k/block)) * float32(scales.Float(b))
		}
	}
	u := x.at(0)
	y := x.product(x.cast(u, tensor.Float32), constant(w))
	if x.has(5) {
		y = x.op(ops.AddV2, nil, y, x.cast(x.at(5), tensor.Float32))
	}
	return x.cast(y, u.dtype)
}

// codeNumbers has the numbers for the 4-bit codes of bitsandbytes models, by quant_type: 4-bit floats, and normal floats.
var codeNumbers = [2][16]float32{
	{0, 5.208333333e-03, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25, 0, -5.208333333e-03, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25},
	{-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
		0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1},
}

// matMulBnb4 multiplies by a matrix [N, K] of codes, the first one in a byte's upper half, with a scale per block of the whole matrix.
func matMulBnb4(x *site) *value {
	rows, size, block, kind := x.int("N", 0), x.int("K", 0), x.blocksOf(0), x.int("quant_type", 0)
	x.attr("training_mode")
	packed, scales := x.constantAt(1), x.constantAt(2)
	if kind < 0 || kind > 1 || !x.flag("transB", true) {
		refuse("quant_type %d, or a matrix that is not transposed", kind)
	}
	if rows < 1 || rows > maxPlaces || size < 1 || size > maxPlaces || packed.DType != tensor.Uint8 || packed.Len() != (rows*size+1)/2 || !scales.DType.Float() || scales.Len() != (rows*size+block-1)/block {
		refuse("weights %v%v and scales %v for %d rows of %d elements in blocks of %d", packed.DType, packed.Shape, scales.Shape, rows, size, block)
	}
	x.t.pay(4 * rows * size)
	w := tensor.New(tensor.Float32, size, rows)
	all := tensor.Values[float32](w)
	for i := range rows * size {
		code := packed.Bytes[i/2] >> (4 * (1 - i%2)) & 15
		all[i%size*rows+i/size] = codeNumbers[kind][code] * float32(scales.Float(i/block))
	}
	u := x.at(0)
	return x.cast(x.product(x.cast(u, tensor.Float32), constant(w)), u.dtype)
}

// zeroPoints returns a function for a block's zero point: from input i, whose rows are packed or numbers; if it is absent, the middle.
func (x *site) zeroPoints(i, rows, blocks, bits int) func(row, block int) float32 {
	if !x.has(i) {
		return func(int, int) float32 { return float32(int(1) << (bits - 1)) }
	}
	t := x.constantAt(i)
	each := (blocks*bits + 7) / 8
	switch {
	case t.DType == tensor.Uint8 && t.Len() == rows*each:
		return func(row, block int) float32 { return float32(part(t.Bytes[row*each:(row+1)*each], block, bits)) }
	case t.DType.Float() && t.Len() == rows*blocks:
		return func(row, block int) float32 { return float32(t.Float(row*blocks + block)) }
	}
	refuse("zero points %v%v for %d rows of %d blocks", t.DType, t.Shape, rows, blocks)
	return nil
}

// unpacked unpacks a tensor of bytes, each with several elements of the last axis, which has size elements.
func (x *site) unpacked(t *tensor.Tensor, bits, size int) *value {
	last := len(t.Shape) - 1
	if last < 0 || t.Shape[last] != (size*bits+7)/8 {
		refuse("shape %v of bytes for %d elements of %d bits", t.Shape, size, bits)
	}
	shape := slices.Clone(t.Shape)
	shape[last] = size
	x.t.pay(tensor.NumElements(shape))
	y := tensor.New(tensor.Uint8, shape...)
	for row := range len(t.Bytes) / max(t.Shape[last], 1) {
		from := t.Bytes[row*t.Shape[last] : (row+1)*t.Shape[last]]
		for i := range size {
			y.Bytes[row*size+i] = part(from, i, bits)
		}
	}
	return constant(y)
}

// gatherBlocks selects rows of a matrix of blocks, and dequantizes them.
func gatherBlocks(x *site) *value {
	bits, block := x.bits(4), x.blocksOf(128)
	data, at, scale, zero := x.at(0), x.at(1), x.at(2), optional(x, 3)
	rank := x.rank(0)
	from, axis := axisOf(x.int("gather_axis", 0), rank), axisOf(x.int("quantize_axis", 1), rank)
	if from == axis || scale.rank() != rank || at.rank() < 0 {
		refuse("rows of axis %d with blocks along axis %d, of rank %d with scales of rank %d", from, axis, rank, scale.rank())
	}
	if data.four == tensor.Invalid && data.dtype == tensor.Uint8 {
		if axis != rank-1 {
			refuse("blocks along axis %d of bytes of rank %d: expected the last one", axis, rank)
		}
		t := x.constantAt(0)
		data = x.unpacked(t, bits, t.Shape[axis]*8/bits)
		if zero == nil {
			zero = x.op(ops.BroadcastTo, nil, x.scalar(tensor.Uint8, float64(int(1)<<(bits-1))), x.shape(scale))
		} else {
			blocks := scale.dims()[axis]
			if blocks < 0 {
				refuse("scales of shape %v: expected a number of blocks that is known, for zero points that are packed", scale.dims())
			}
			zero = x.unpacked(x.constantAt(3), bits, blocks)
		}
	}
	at = x.wrapped(at, x.size(data, from))
	rows := func(v *value) *value {
		if v == nil {
			return nil
		}
		return x.op(ops.GatherV2, nil, v, at, x.i32(from))
	}
	to := axis
	if axis > from {
		to += at.rank() - 1
	}
	return x.decoded(rows(data), rows(scale), rows(zero), to, block, scale.dtype)
}
