package onnxgraph

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// textOperators work on strings.
var textOperators = operators{"StringNormalizer": one(stringNormalizer).but("locales other than en_US"), "TfIdfVectorizer": one(tfIdf), "StringConcat": one(stringConcat),
	"RegexFullMatch": one(regexMatch), "StringSplit": as(stringSplit)}

// stringNormalizer removes stop words and changes the case of the others. If no words are left, it returns an empty one.
func stringNormalizer(x *site) *value {
	if name := x.str("locale", "en_US"); name != "" && !strings.HasPrefix(name, "en_US") {
		refuse("locale %s", name)
	}
	u, rank := x.at(0), x.rank(0)
	if rank != 1 && rank != 2 {
		refuse("expected a vector, or a matrix of one row, got rank %d", rank)
	}
	utf8 := graph.Attrs{"encoding": []byte("utf-8")}
	lower := func(v *value) *value { return x.op(ops.StringLower, utf8, v) }
	words, strict := x.strList("stopwords"), x.flag("is_case_sensitive", false)
	if len(words) > 0 {
		u = x.reshape(u, -1)
		key, stops := u, constant(x.texts(words...))
		if !strict {
			key, stops = lower(u), lower(stops)
		}
		hit := x.op(ops.Any, nil, x.op(ops.Equal, nil, x.op(ops.ExpandDims, nil, key, x.i32(1)), stops), x.i32(1))
		u = x.op(ops.GatherV2, nil, u, x.reshape(x.op(ops.Where, nil, x.op(ops.LogicalNot, nil, hit)), -1), x.i32(0))
		none := x.cast(x.op(ops.Equal, nil, x.size(u, 0), x.i32(0)), tensor.Int32)
		u = x.op(ops.PadV2, nil, u, x.reshape(x.pack(x.i32(0), none), 1, 2), x.reshape(constant(x.texts(""))))
		sizes := []int{-1}
		if rank == 2 {
			u, sizes = x.reshape(u, 1, -1), []int{1, -1}
		}
		u = x.sized(u, sizes)
	}
	switch name := x.str("case_change_action", "NONE"); name {
	case "NONE":
		return u
	case "LOWER":
		return lower(u)
	case "UPPER":
		return x.op(ops.StringUpper, utf8, u)
	default:
		refuse("case_change_action %s", name)
		return nil
	}
}

// tokenizer splits texts, along a new last dimension.
func tokenizer(x *site) *value {
	attrs := graph.Attrs{"expression": []byte(x.str("tokenexp", "")), "mark": x.flag("mark", false), "pad_value": []byte(x.str("pad_value", "")), "mincharnum": int64(x.int("mincharnum", 1))}
	var separators [][]byte
	for _, s := range x.strList("separators") {
		separators = append(separators, []byte(s))
	}
	if separators != nil {
		attrs["separators"] = separators
	}
	y := x.op(ops.Tokens, attrs, x.at(0))
	return x.sized(y, append(x.at(0).dims()[:x.rank(0):x.rank(0)], -1))
}

// tfIdf counts the n-grams of a pool, and weights the counts.
func tfIdf(x *site) *value {
	u := x.at(0)
	attrs := graph.Attrs{"least": int64(x.int("min_gram_length", 1)), "most": int64(x.int("max_gram_length", 1)), "skips": int64(x.int("max_skip_count", 0))}
	pool, columns := x.longs(x.intList("pool_int64s", nil)...), x.intList("ngram_indexes", nil)
	if words := x.strList("pool_strings"); len(words) > 0 {
		pool = x.texts(words...)
	}
	if pool.Len() == 0 || len(columns) == 0 {
		refuse("no pool of n-grams")
	}
	if u.dtype == tensor.Int32 {
		u = x.cast(u, tensor.Int64)
	}
	y := x.op(ops.NgramCounts, attrs, u, constant(pool), constant(x.longs(x.intList("ngram_counts", nil)...)), constant(x.longs(columns...)))
	width := 0
	for _, n := range columns {
		width = max(width, n+1)
	}
	if sizes := x.at(0).dims()[:x.rank(0):x.rank(0)]; len(sizes) == 2 {
		y = x.sized(y, []int{sizes[0], width})
	} else {
		y = x.sized(y, []int{width})
	}
	mode, weights := x.str("mode", "TF"), x.floatList("weights")
	var by *value
	if len(weights) > 0 && mode != "TF" {
		if len(weights) != width {
			refuse("%d weights of %d columns", len(weights), width)
		}
		by = x.floats(weights, width)
	}
	switch zero := x.scalar(y.dtype, 0); {
	case mode == "IDF" && by == nil:
		return x.cast(x.op(ops.Greater, nil, y, zero), y.dtype)
	case mode == "IDF":
		return x.op(ops.SelectV2, nil, x.op(ops.Greater, nil, y, zero), by, zero)
	case mode == "TFIDF" && by != nil:
		return x.op(ops.Mul, nil, y, by)
	case mode != "TF" && mode != "TFIDF":
		refuse("mode %s", mode)
	}
	return y
}

func stringConcat(x *site) *value {
	u, v := x.at(0), x.at(1)
	if u.rank() != 0 && v.rank() != 0 { // StringJoin only broadcasts scalars
		shape := x.op(ops.BroadcastArgs, nil, x.shape(u), x.shape(v))
		u, v = x.op(ops.BroadcastTo, nil, u, shape), x.op(ops.BroadcastTo, nil, v, shape)
	}
	return x.op(ops.StringJoin, nil, u, v)
}

func regexMatch(x *site) *value {
	return x.op(ops.StaticRegexFullMatch, graph.Attrs{"pattern": []byte(x.str("pattern", ""))}, x.at(0))
}

// kept keeps the parts of texts that mask selects.
func (x *site) kept(parts []*value, mask *value) []*value {
	keep := x.reshape(x.op(ops.Where, nil, mask), -1)
	at, values := x.op(ops.GatherV2, nil, parts[0], keep, x.i32(0)), x.op(ops.GatherV2, nil, parts[1], keep, x.i32(0))
	last := x.op(ops.Max, nil, x.concat(0, x.op(ops.GatherV2, nil, at, x.i32(1), x.i32(1)), x.reshape(constant(tensor.Scalar(int64(-1))), 1)), x.ints(0))
	rows := x.op(ops.GatherV2, nil, parts[2], x.i32(0), x.i32(0))
	return []*value{at, values, x.pack(rows, x.op(ops.AddV2, nil, last, constant(tensor.Scalar(int64(1)))))}
}

// stringSplit splits texts along a new axis, pads with empty parts, and counts the parts.
func stringSplit(x *site) []*value {
	u, rank := x.at(0), x.rank(0)
	most, cut := x.int("maxsplit", -1), x.str("delimiter", "")
	if most == 0 {
		refuse("maxsplit = 0")
	}
	texts, none := x.reshape(u, -1), x.reshape(constant(x.texts("")))
	if cut == "" {
		texts = x.op(ops.StringStrip, nil, texts)
	}
	parts := x.ops(ops.StringSplitV2, graph.Attrs{"maxsplit": int64(most)}, texts, x.reshape(constant(x.texts(cut))))
	switch {
	case cut != "": // an empty text has one part in TensorFlow, and none in ONNX Runtime
		of := x.op(ops.GatherV2, nil, texts, x.op(ops.GatherV2, nil, parts[0], x.i32(0), x.i32(1)), x.i32(0))
		parts = x.kept(parts, x.op(ops.NotEqual, nil, of, none))
	case most > 0: // TensorFlow adds an empty part after the last split if no text is left
		parts = x.kept(parts, x.op(ops.NotEqual, nil, parts[1], none))
	}
	rows := x.sized(x.op(ops.SparseToDense, graph.Attrs{"validate_indices": true}, parts[0], parts[2], parts[1], none), []int{-1, -1})
	shape := x.shape(u)
	y := x.op(ops.Reshape, nil, rows, x.concat(0, shape, x.reshape(x.size(rows, 1), 1)))
	of := x.op(ops.GatherV2, nil, parts[0], x.i32(0), x.i32(1))
	ones := x.op(ops.BroadcastTo, nil, constant(tensor.Scalar(int64(1))), x.shape(of))
	counts := x.op(ops.UnsortedSegmentSum, nil, ones, of, x.size(rows, 0))
	return []*value{x.sized(y, slices.Repeat([]int{-1}, rank+1)), x.op(ops.Reshape, nil, counts, shape)}
}
