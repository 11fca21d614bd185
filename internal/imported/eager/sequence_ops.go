package eager

import (
	"fmt"
	"slices"

	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// sequenceOps parse serialized tf.SequenceExamples, and examples in JSON.
var sequenceOps = map[*ops.Def]maker{
	ops.ParseSequenceExample:       parseSequenceExample,
	ops.ParseSequenceExampleV2:     parseSequenceExampleV2,
	ops.ParseSingleSequenceExample: parseSingleSequenceExample,
	ops.DecodeJSONExample:          plain(decodeJSONExample),
}

// sequenceParser is a parsing op of sequence examples.
type sequenceParser struct {
	context, steps parser
	layout         layout
	lengths        bool // the op outputs the lengths of dense feature lists
}

func newSequenceParser(s *site, lengths bool) *sequenceParser {
	p := &sequenceParser{context: parser{columns: columnTypes(s, contextAttrs)}, steps: parser{columns: columnTypes(s, stepAttrs)}, lengths: lengths}
	for _, cols := range [][]column{p.context.columns, p.steps.columns} {
		for _, col := range cols {
			if col.variable {
				s.fail("shapes of sequence examples: all dimensions must be known")
			}
		}
	}
	s.outputs = outputsOf(p.context.columns) + outputsOf(p.steps.columns) + countKind(p.steps.columns, raggedColumn)
	if lengths {
		s.outputs += countKind(p.steps.columns, denseColumn)
	}
	if s.err == nil {
		p.layout = s.layout()
	}
	return p
}

// keys returns a run's feature names for one kind of column, by the name of the input or attribute.
type keys func(in *inputs, name string) [][]byte

// keyVector reads names from one input, a vector.
func keyVector(in *inputs, name string) [][]byte {
	t := in.tensor(name)
	if t.DType != tensor.String || len(t.Shape) != 1 {
		in.fail("%s: expected a vector of strings", name)
		return nil
	}
	return t.Strings
}

// keyScalars reads names from inputs with one name each.
func keyScalars(in *inputs, name string) [][]byte {
	var all [][]byte
	for _, v := range in.values(name) {
		b, err := text(name, v.T)
		if err != nil {
			in.fail("%w", err)
		}
		all = append(all, b)
	}
	return all
}

// keyAttrs reads names from attributes.
func keyAttrs(s *site) keys {
	all := map[string][][]byte{}
	for _, name := range []string{"context_sparse_keys", "context_dense_keys", "feature_list_sparse_keys", "feature_list_dense_keys"} {
		all[name] = list[[]byte](s, name)
	}
	return func(_ *inputs, name string) [][]byte { return all[name] }
}

// namesOf returns the function that reads the columns' names, checking their number for each kind.
func namesOf(in *inputs, cols []column, of keys, names ...string) func() ([][]byte, error) {
	return func() ([][]byte, error) {
		var all [][]byte
		for i, name := range names {
			some := of(in, name)
			if want := countKind(cols, columnKind(i)); len(some) != want {
				in.fail("%s: expected %d names of features, got %d", name, want, len(some))
			}
			all = append(all, some...)
		}
		return all, in.err
	}
}

// run parses the examples in the input "serialized".
func (p *sequenceParser) run(c call, of keys, kinds int, optional func(d int, c *column) error) error {
	in := &inputs{c: c, l: p.layout}
	examples, debug, values := in.tensor("serialized"), in.tensor("debug_name"), in.values("context_dense_defaults")
	if in.err != nil {
		return in.err
	}
	context, err := p.context.bind(c.in[1:], namesOf(in, p.context.columns, of, []string{"context_sparse_keys", "context_dense_keys", "context_ragged_keys"}[:kinds]...), defaults(values))
	if err != nil {
		return err
	}
	steps, err := p.steps.bind(c.in[1:], namesOf(in, p.steps.columns, of, []string{"feature_list_sparse_keys", "feature_list_dense_keys", "feature_list_ragged_keys"}[:kinds]...), optional)
	if err != nil {
		return err
	}
	if examples.DType != tensor.String || len(examples.Shape) > 1 {
		return fmt.Errorf("serialized: expected a string vector, got %v of shape %v", examples.DType, examples.Shape)
	}
	if n := len(debug.Strings); n > 0 && n != len(examples.Strings) {
		return fmt.Errorf("expected as many names as examples, or none: got %d and %d", n, len(examples.Strings))
	}
	single := len(examples.Shape) == 0
	if err := parse(c, &parsing{spec: context, examples: examples.Strings, names: debug.Strings}, single); err != nil {
		return err
	}
	q := &stepParsing{parsing: parsing{spec: steps, examples: examples.Strings, names: debug.Strings}, single: single, lengths: p.lengths}
	return q.parse(c, outputsOf(p.context.columns))
}

func parseSequenceExampleV2(s *site) (kernel, error) {
	p := newSequenceParser(s, true)
	return func(c call) error {
		return p.run(c, keyVector, 3, func(d int, col *column) error {
			t := c.in[p.layout["feature_list_dense_missing_assumed_empty"].from].T
			if t.DType != tensor.Bool || len(t.Bytes) != countKind(p.steps.columns, denseColumn) {
				return fmt.Errorf("feature_list_dense_missing_assumed_empty: expected a boolean for each dense feature list")
			}
			col.optional = t.Bytes[d] != 0
			return nil
		})
	}, nil
}

func parseSequenceExample(s *site) (kernel, error) {
	p, of := newSequenceParser(s, true), keyAttrs(s)
	empty := list[[]byte](s, "feature_list_dense_missing_assumed_empty")
	return func(c call) error { return p.run(c, of, 2, optionalIn(empty)) }, nil
}

func parseSingleSequenceExample(s *site) (kernel, error) {
	p := newSequenceParser(s, false)
	return func(c call) error {
		if _, err := text("serialized", c.t(0)); err != nil {
			return err
		}
		if err := rank("feature_list_dense_missing_assumed_empty", c.t(1), 1); err != nil {
			return err
		}
		return p.run(c, keyScalars, 2, optionalIn(c.t(1).Strings))
	}, nil
}

// optionalIn makes the dense feature lists in names optional.
func optionalIn(names [][]byte) func(d int, c *column) error {
	return func(_ int, col *column) error {
		col.optional = slices.ContainsFunc(names, func(b []byte) bool { return string(b) == col.name })
		return nil
	}
}

// jsonExpansion is the maximum memory of an example in bytes per byte of JSON.
const jsonExpansion = 64

// decodeJSONExample converts examples from JSON to serialized ones.
func decodeJSONExample(c call) error {
	in := c.t(0)
	out, err := c.output(0, tensor.String, in.Shape...)
	if err != nil {
		return err
	}
	for i, text := range in.Strings {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := c.room(len(text), jsonExpansion); err != nil {
			return err
		}
		var e example_protos_go_proto.Example
		if err := protojson.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("Error while parsing JSON: element %d: %w", i, err)
		}
		if out.Strings[i], err = (proto.MarshalOptions{Deterministic: true}).Marshal(&e); err != nil {
			return err
		}
	}
	return nil
}
