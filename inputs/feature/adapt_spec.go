package feature

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/inputs"
)

// The values of Spec.Missing.
const (
	missingMean     = "mean"
	missingMedian   = "median"
	missingFrequent = "most_frequent"
	missingDefault  = "default"
	missingLargest  = "largest"
)

var errNotAdapted = errors.New("what it takes from the training data is not known: Adapt computes it, and a checkpoint of training holds it")

// adapts reports whether the column takes settings from data.
func (s Spec) adapts() bool { return s.Adapt || s.Normalize.Adapt || s.Quantiles > 0 || s.imputes() }

func (s Spec) imputes() bool {
	return s.Missing == missingMean || s.Missing == missingMedian || s.Missing == missingFrequent
}

// Adapts reports whether one of the declarations takes settings from data.
func Adapts(specs []Spec) bool { return slices.ContainsFunc(specs, Spec.adapts) }

// Adapted has the settings that declared columns took from data. It is plain data: AppendBinary encodes it for a checkpoint.
type Adapted struct {
	Rows    int64           `json:"rows"` // number of examples it was computed from
	Columns []AdaptedColumn `json:"columns"`
}

// AdaptedColumn has the settings that one column took from data.
type AdaptedColumn struct {
	Declared Spec    `json:"declared"`
	Filled   Spec    `json:"filled"`           // the declaration with the settings from data filled in
	Counts   []int64 `json:"counts,omitempty"` // of the vocabulary's entries
	Missing  int64   `json:"missing"`          // number of missing values
	// There were too many different values to count: rare ones may be missing, and counts too small.
	Approximate bool `json:"approximate,omitempty"`
}

// Adapt computes what declared columns take from data, in one pass over a finite data set, which should be the
// training data. Its memory is bounded: quantile sketches with an error of 0.001 summarize numbers,
// counts are approximate beyond a million different values or 256 MiB, and medians take at most 64 numbers per example. Means and deviations
// (of the whole data set) ignore missing and infinite numbers; a column without numbers has mean 0, a constant column deviation 1.
func Adapt(ctx context.Context, specs []Spec, ds inputs.Dataset) (Adapted, error) {
	stats, err := statisticsFor(specs, ds.Schema())
	if err != nil {
		return Adapted{}, err
	}
	if err := checkFilled(specs); err != nil {
		return Adapted{}, err
	}
	var out Adapted
	if out.Rows, err = stats.read(ctx, ds); err != nil {
		return out, fmt.Errorf("adapt: %w", err)
	}
	if out.Rows == 0 {
		return out, fmt.Errorf("adapt: %w", inputs.ErrEmpty)
	}
	filled := map[string]Spec{}
	for i, s := range specs {
		c := AdaptedColumn{Declared: s, Filled: s}
		if s.adapts() {
			if err := stats.fill(&c, filled); err != nil {
				return out, fmt.Errorf("adapt: feature column %d (%s): %w", i+1, s.label(), err)
			}
			out.Columns = append(out.Columns, c)
		}
		filled[s.columnName()] = c.Filled
	}
	return out, nil
}

// AdaptedKeys returns the features whose data the declarations are adapted to, each once.
func AdaptedKeys(specs []Spec) []string {
	var keys []string
	of := map[string]string{}
	for _, s := range specs {
		of[s.columnName()] = s.Key
		if key := cmp.Or(s.Key, of[s.Of]); s.adapts() && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// columnName returns the name by which other declarations refer to the column.
func (s Spec) columnName() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Type == "bucketized":
		return s.Of + "_bucketized"
	}
	return s.Key
}

// Fill returns the declarations with the settings from data filled in, for Build.
func (a Adapted) Fill(specs []Spec) ([]Spec, error) {
	out := slices.Clone(specs)
	for i, s := range specs {
		if !s.adapts() {
			continue
		}
		filled, ok := a.filled(s)
		if !ok {
			return nil, fmt.Errorf("feature column %d (%s) is not declared as it was when the columns were adapted to the training data: "+
				"declare it as it was, or train in a new model_dir", i+1, s.label())
		}
		out[i] = filled
	}
	return out, nil
}

// FillKnown is Fill, but leaves a declaration unchanged if it was not adapted, or adapted differently: Adapt computes the rest.
func (a Adapted) FillKnown(specs []Spec) []Spec {
	out := slices.Clone(specs)
	unknown := map[string]bool{} // names of columns
	for i, s := range specs {
		if !s.adapts() {
			continue
		}
		filled, ok := a.filled(s)
		if !ok || unknown[s.Of] { // quantiles depend on the column of
			unknown[s.columnName()] = true
			continue
		}
		out[i] = filled
	}
	return out
}

// filled returns a declaration with the settings from data filled in.
func (a Adapted) filled(s Spec) (Spec, bool) {
	at := slices.IndexFunc(a.Columns, func(c AdaptedColumn) bool { return reflect.DeepEqual(c.Declared, s) })
	if at < 0 {
		return s, false
	}
	return a.Columns[at].Filled, true
}

// AppendBinary appends the encoding that UnmarshalBinary reads.
func (a Adapted) AppendBinary(b []byte) ([]byte, error) {
	text, err := json.Marshal(a)
	return append(b, text...), err
}

// UnmarshalBinary sets a to what AppendBinary encoded.
func (a *Adapted) UnmarshalBinary(b []byte) error {
	if err := json.Unmarshal(b, a); err != nil {
		return fmt.Errorf("adapted columns: %w", err)
	}
	return nil
}

// read passes over a data set and returns the number of its rows.
func (s statistics) read(ctx context.Context, ds inputs.Dataset) (rows int64, err error) {
	it, err := ds.Iterate(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for {
		rec, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		err = s.add(rec, ds.Schema())
		rows += rec.NumRows()
		rec.Release()
		if err != nil {
			return rows, err
		}
	}
}

func (s statistics) add(rec arrow.Record, schema *inputs.Schema) error {
	for key, list := range s {
		c, err := newCells(key, rec.Column(schema.Index(key)))
		for i := 0; err == nil && i < len(list); i++ {
			err = list[i].add(c)
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", key, err)
		}
	}
	return nil
}
