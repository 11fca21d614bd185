package columngraph

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// emitTokenIDs adds the ids of a feature's values, which id computes.
func emitTokenIDs(e *emitter, c feature.Column, key string, steps bool, id func(e *emitter, values graph.Output) graph.Output) listNodes {
	type tokenIDsOf struct {
		column string
		steps  bool
	}
	return emitOnce(e, tokenIDsOf{c.String(), steps}, func() listNodes {
		e := e.at(c.Name())
		l, here := e.tokens(key, steps)
		l.e, l.values = e, id(e, l.values)
		if here.Valid() {
			l.values, l.absent = e.selected("ids_or_none", here, l.values, e.scalar("none", -1)), true
		}
		return l
	})
}

func int64s(like graph.Output) graph.Type {
	return graph.Type{DType: tensor.Int64, Shape: like.Shape()}
}

// bucket adds the fingerprints of values modulo n; integers are hashed in decimal.
func (e *emitter) bucket(values graph.Output, n int) graph.Output {
	if values.DType() != tensor.String {
		values = e.op("AsString", "decimal", graph.Type{DType: tensor.String, Shape: values.Shape()},
			graph.Attrs{"T": values.DType(), "precision": int64(-1), "scientific": false, "shortest": false, "width": int64(-1), "fill": []byte{}}, values)
	}
	return e.op("StringToHashBucketFast", "bucket", int64s(values), graph.Attrs{"num_buckets": int64(n)}, values)
}

func (e *emitter) hashBucket(c *feature.HashBucket, steps bool) listNodes {
	return emitTokenIDs(e, c, c.Key, steps, func(e *emitter, values graph.Output) graph.Output { return e.bucket(values, c.Size) })
}

func (e *emitter) identity(c *feature.Identity, steps bool) listNodes {
	l := emitTokenIDs(e, c, c.Key, steps, func(e *emitter, values graph.Output) graph.Output {
		low := e.compare("Less", "below", values, e.scalar("first", 0))
		high := e.compare("GreaterEqual", "above", values, e.scalar("size", int64(c.Size)))
		if c.Default == nil {
			return e.selected("ids", low, e.scalar("left_out", -1), e.refused(c, values, high))
		}
		outside := e.op("LogicalOr", "outside", low.Type(), nil, low, high)
		return e.selected("ids", outside, e.scalar("default", int64(*c.Default)), values)
	})
	l.absent = l.absent || c.Default == nil
	return l
}

// refused returns values. The run fails if one is too large.
func (e *emitter) refused(c *feature.Identity, values, high graph.Output) graph.Output {
	fine := e.op("LogicalNot", "fine", high.Type(), nil, high)
	fine = e.op("All", "all_fine", graph.Type{DType: tensor.Bool}, graph.Attrs{"Tidx": tensor.Int32, "keep_dims": false}, fine, e.ints("dims", tensor.Int32, []int64{0}, 1))
	return e.asserted(values, fine, fmt.Sprintf("column %q: expected ids below %d", c.Key, c.Size), values)
}

// asserted returns x. If ok is false, the run fails with a message and the data.
func (e *emitter) asserted(x, ok graph.Output, message string, data graph.Output) graph.Output {
	check := e.b.Node("Assert", e.scope+"assert", nil, graph.Attrs{"T": []tensor.DType{tensor.String, data.DType()}, "summarize": int64(3)},
		ok, e.texts("message", [][]byte{[]byte(message)}), data)
	n := e.b.Node("Identity", e.scope+"checked", []graph.Type{x.Type()}, graph.Attrs{"T": x.DType()}, x)
	n.Control = []*graph.Node{check}
	return n.Out(0)
}
