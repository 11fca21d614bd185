package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/tensor"
)

// predictRequest is the body of a predict request to TensorFlow Serving's REST API, row by row, or of a classify or regress request,
// whose signatures parse examples.
type predictRequest struct {
	examples bool // for classify and regress
	rows     [][]requestValue
	longest  map[string]int // length of the longest list of a ragged column, by name
}

// requestValue is the value of a column in a row.
type requestValue struct {
	column string
	json   []byte
	length int    // of the list of a ragged column
	fill   string // for a ragged column: the value that pads lists; else empty
}

// printRequest prints the features of rows as the body of a request to the config's model.
func (a *app) printRequest(ctx context.Context, cfg *config.Config, ds inputs.Dataset, rows int) error {
	q := predictRequest{examples: parsesExamples(cfg), longest: map[string]int{}}
	if err := eachRow(ctx, ds, rows, q.add); err != nil {
		return err
	}
	_, err := a.stdout.Write(q.body())
	return err
}

// parsesExamples reports whether a config's model is exported with signatures that parse examples.
func parsesExamples(cfg *config.Config) bool {
	planned := slices.Contains(canned.Names(), cfg.Model.Name) && !strings.HasPrefix(cfg.Model.Name, "baseline_") // baselines have no feature columns
	return cfg.Export.ServingInput == "parsing" || cfg.Export.ServingInput != "raw" && planned
}

// add adds the features of a row.
func (q *predictRequest) add(r row) error {
	var values []requestValue
	for _, c := range r.columns {
		if c.Role != "" && c.Role != inputs.Feature {
			continue
		}
		shape, first := r.value(c)
		json, err := appendValues(nil, c.Tensor, shape, first, appendRequested)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		v := requestValue{column: c.Name, json: json}
		if c.Offsets != nil && !q.examples {
			v.length, v.fill = shape[0], fillOf(c.Tensor.DType)
			q.longest[c.Name] = max(q.longest[c.Name], v.length)
		}
		values = append(values, v)
	}
	q.rows = append(q.rows, values)
	return nil
}

// body is the request. If a raw serving input requires it, the lists of a ragged column are padded to one length.
func (q *predictRequest) body() []byte {
	b := []byte(`{"instances":[`)
	if q.examples {
		b = []byte(`{"examples":[`)
	}
	for i, values := range q.rows {
		b = appendComma(b, i)
		b = append(b, '{')
		for k, v := range values {
			b = append(appendText(appendComma(b, k), v.column), ':')
			if v.fill == "" {
				b = append(b, v.json...)
				continue
			}
			b = append(b, bytes.TrimSuffix(v.json, []byte("]"))...)
			for n := v.length; n < q.longest[v.column]; n++ {
				b = append(appendComma(b, n), v.fill...)
			}
			b = append(b, ']')
		}
		b = append(b, '}')
	}
	return append(b, "]}\n"...)
}

// fillOf is the value that raw serving inputs ignore in lists.
func fillOf(d tensor.DType) string {
	switch {
	case d == tensor.String:
		return `""`
	case d.Float():
		return "NaN"
	}
	return "-1"
}

// appendComma appends a comma before every element but the first.
func appendComma(b []byte, i int) []byte {
	if i == 0 {
		return b
	}
	return append(b, ',')
}

// appendRequested appends an element in the form that model servers read: NaN and infinities by name,
// strings that are not UTF-8 in base64.
func appendRequested(b []byte, t *tensor.Tensor, i int) ([]byte, error) {
	switch {
	case t.DType == tensor.String && !utf8.Valid(t.Strings[i]):
		b = base64.StdEncoding.AppendEncode(append(b, `{"b64":"`...), t.Strings[i])
		return append(b, `"}`...), nil
	case t.DType == tensor.Uint64:
		return strconv.AppendUint(b, tensor.Values[uint64](t)[i], 10), nil
	case !t.DType.Float():
		return appendElement(b, t, i)
	}
	switch x := t.Float(i); {
	case math.IsNaN(x):
		return append(b, "NaN"...), nil
	case math.IsInf(x, 1):
		return append(b, "Infinity"...), nil
	case math.IsInf(x, -1):
		return append(b, "-Infinity"...), nil
	}
	return appendElement(b, t, i)
}
