package inputs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// The formats of an input that combines several inputs.
var severalFormats = []string{"zip", "concat", "interleave", "mix"}

// lists returns the keys that list inputs, in the order of severalFormats.
func (s *Spec) lists() []*[]Spec { return []*[]Spec{&s.Zip, &s.Concat, &s.Interleave, &s.Mix} }

// Inputs returns the inputs that s combines, nil if s has a source.
func (s Spec) Inputs() []Spec {
	if i := slices.Index(severalFormats, s.Format); i >= 0 {
		return *s.lists()[i]
	}
	return nil
}

// EachInput returns s with f applied to its inputs, and to their inputs.
func (s Spec) EachInput(f func(Spec) Spec) Spec {
	for _, list := range s.lists() {
		*list = slices.Clone(*list)
		for i, in := range *list {
			(*list)[i] = in.EachInput(f)
		}
	}
	return f(s)
}

// Skips reports whether s, or an input that it combines, leaves out rows that cannot be read.
func (s Spec) Skips() bool { return s.OnError == skip || slices.ContainsFunc(s.Inputs(), Spec.Skips) }

// AllColumns returns the columns of s, or of the inputs that it combines.
func (s Spec) AllColumns() []ColumnSpec {
	all := s.Columns
	for _, in := range s.Inputs() {
		for _, c := range in.AllColumns() {
			if !slices.ContainsFunc(all, func(o ColumnSpec) bool { return o.Name == c.Name }) {
				all = append(slices.Clip(all), c)
			}
		}
	}
	return all
}

// Ends reports whether the input has finitely many rows.
func (s Spec) Ends() bool {
	in := s.Inputs()
	switch {
	case s.Repeat:
		return false
	case s.Take > 0:
		return true
	case s.Format == "glyphs":
		return s.Count > 0
	case s.Format == "zip":
		return slices.ContainsFunc(in, Spec.Ends)
	}
	return !slices.ContainsFunc(in, func(in Spec) bool { return !in.Ends() })
}

// completeSeveral sets the format of an input that combines several, and completes these.
func (s *Spec) completeSeveral() {
	for k, in := range s.lists() {
		if len(*in) == 0 {
			continue
		}
		if s.Format == "" {
			s.Format = severalFormats[k]
		}
		*in = slices.Clone(*in)
		for i := range *in {
			part := &(*in)[i]
			part.Delimiter, part.Shard = cmp.Or(part.Delimiter, DefaultSpec().Delimiter), cmp.Or(part.Shard, DefaultSpec().Shard)
			part.Complete()
		}
	}
}

// validateSeveral reports errors in an input that combines several.
func (s Spec) validateSeveral(vs *violation.List) {
	for k, list := range s.lists() {
		name, in := severalFormats[k], *list
		vs.Require(len(in) == 0 || s.Format == name, name, fmt.Sprintf("%d inputs", len(in)), "expected none: the input's format is "+s.Format)
		vs.Require(len(in) > 0 || s.Format != name, name, nil, "expected a list of inputs")
		for i, part := range in {
			at := name + "[" + strconv.Itoa(i) + "]"
			part.validatePart(vs, at)
			vs.Require(name != "zip" || len(in) < 2 || !part.Skips(), at+".on_error", skip, "expected none: a row that one input of zip leaves out would put its later rows beside other rows than theirs")
		}
	}
	combined := len(s.Inputs()) > 0
	vs.Require(!combined || len(s.Files) == 0, "files", s.Files, "expected none: the inputs under "+s.Format+" have files")
	vs.Require(!combined || len(s.Columns) == 0, "columns", len(s.Columns), "expected none: the inputs under "+s.Format+" have columns")
	vs.Require(s.Format == "mix" || len(s.Weights) == 0, "weights", s.Weights, "expected none: they are for mix")
	vs.Require(s.Format != "mix" || len(s.Weights) == 0 || len(s.Weights) == len(s.Mix), "weights", s.Weights, fmt.Sprintf("expected one for each of the %d inputs", len(s.Mix)))
	for i, w := range s.Weights {
		vs.Require(w > 0, "weights["+strconv.Itoa(i)+"]", w, "expected > 0")
	}
	vs.Require(s.Cycle >= 0, "cycle", s.Cycle, "expected > 0, or 0 for all inputs")
	vs.Require(s.Block >= 0, "block", s.Block, "expected > 0, or 0 for 1")
	for i, t := range s.Transforms {
		vs.Include("transforms["+strconv.Itoa(i)+"]", t.validate())
	}
	s.Buckets.validateSpec(vs)
	s.validateGroup(vs)
}

// validatePart reports errors in one of several inputs. Keys for batching and later steps belong to the combined input.
func (s Spec) validatePart(vs *violation.List, at string) {
	const bound = "expected none: set it on the whole input"
	vs.Require(s.Format != "", at+".format", s.Format, "expected a format, or zip, concat, interleave or mix")
	vs.Require(s.BatchSize == 0, at+".batch_size", s.BatchSize, bound)
	vs.Require(len(s.Buckets.BatchSizes) == 0, at+".buckets", s.Buckets.BatchSizes, bound)
	vs.Require(s.Group == GroupSpec{}, at+".group", s.Group, bound)
	vs.Require(s.Scale == 0, at+".scale", s.Scale, bound)
	vs.Require(len(s.Mean) == 0, at+".mean", s.Mean, bound)
	vs.Require(s.Augment == AugmentSpec{}, at+".augment", s.Augment, bound)
	vs.Require(s.Shard == "auto", at+".shard", s.Shard, bound)
	vs.Require(len(s.Params) == 0, at+".params", len(s.Params), "expected none: registered input_fns cannot be combined")
	s.BatchSize = 1
	vs.Include(at, s.Validate())
}

// openSeveral returns the rows of the combined inputs, and whether the pipelines must share the rows.
func (s Spec) openSeveral(ctx context.Context, ic Context) (Dataset, bool, error) {
	own := ic
	byFile := s.sharesFiles(ctx, ic)
	if !byFile {
		own.Pipeline, own.NumPipelines = 0, 1
	}
	var all []Dataset
	for i, in := range s.Inputs() {
		if byFile {
			in.Shard = "files"
		}
		if s.Format == "zip" && ic.unlabeled() && in.onlyLabels() {
			continue
		}
		own.Seed = ic.Seed + int64(i)
		ds, err := in.rows(ctx, own)
		if err != nil {
			return nil, false, fmt.Errorf("%s[%d]: %w", s.Format, i, err)
		}
		all = append(all, ds)
	}
	ds := s.combine(all, ic.Seed)
	if err := adopt(ds).err; err != nil {
		return nil, false, err
	}
	return ds, !byFile && ic.NumPipelines > 1 && s.Shard != "off", nil
}

func (s Spec) combine(all []Dataset, seed int64) Dataset {
	switch s.Format {
	case "zip":
		return Zip(all...)
	case "interleave":
		cycle, block := s.Cycle, max(s.Block, 1)
		if cycle == 0 {
			cycle = len(all)
		}
		return Interleave(cycle, block, all...)
	case "mix":
		return Mix(Mixture{Weights: s.Weights, Seed: seed}, all...)
	}
	return Concatenate(all...)
}

// onlyLabels reports whether all columns of an input are known to be labels, or ignored.
func (s Spec) onlyLabels() bool {
	all := s.AllColumns()
	return len(all) > 0 && !slices.ContainsFunc(all, func(c ColumnSpec) bool { return c.Role != Label && c.Role != Ignore })
}

// sharesFiles reports whether the pipelines share the files of each input: no step depends on positions of rows, and
// there are enough files.
func (s Spec) sharesFiles(ctx context.Context, ic Context) bool {
	if ic.NumPipelines <= 1 || s.Shard == "off" || s.Shard == "rows" || s.Format == "zip" || s.byPositions() {
		return false
	}
	for _, in := range s.Inputs() {
		if len(in.Inputs()) > 0 || in.byPositions() {
			return false
		}
		files, err := in.expand(ctx)
		if err != nil || len(files) < ic.NumPipelines || in.Format == "idx" {
			return false
		}
	}
	return true
}

// byPositions reports whether a step depends on the positions or the order of all rows.
func (s Spec) byPositions() bool {
	return s.Split.Folds > 0 || s.Skip > 0 || s.Take > 0 || len(s.Transforms) > 0
}

// BucketSpec makes batches of rows of similar length, in place of batch_size.
type BucketSpec struct {
	// The ragged column whose lengths count.
	Column string `yaml:"column,omitempty"`
	// Lengths at which the second and later buckets begin, ascending.
	Boundaries []int `yaml:"boundaries,omitempty"`
	// Number of examples per batch of the whole job, for each bucket: one more than boundaries. Each worker takes its share.
	BatchSizes []int `yaml:"batch_sizes,omitempty"`
}

func (s Spec) validateGroup(vs *violation.List) {
	if (s.Group == GroupSpec{}) {
		return
	}
	vs.Require(s.Group.Column != "", "group.column", s.Group.Column, "expected a column of text or whole numbers")
	vs.Require(s.Group.Size > 0 && s.Group.Size <= maxBatch, "group.size", s.Group.Size, fmt.Sprintf("expected 1 to %d", maxBatch))
	vs.Require(len(s.Buckets.BatchSizes) == 0, "group", s.Group.Column, "expected buckets or group, not both")
}

func (b BucketSpec) validateSpec(vs *violation.List) {
	if b.Column == "" && len(b.Boundaries) == 0 && len(b.BatchSizes) == 0 {
		return
	}
	vs.Require(b.Column != "", "buckets.column", b.Column, "expected a ragged column")
	vs.Require(len(b.BatchSizes) == len(b.Boundaries)+1, "buckets.batch_sizes", b.BatchSizes, fmt.Sprintf("expected %d, one more than boundaries", len(b.Boundaries)+1))
	for i, x := range b.Boundaries {
		vs.Require(x > 0 && (i == 0 || x > b.Boundaries[i-1]), "buckets.boundaries["+strconv.Itoa(i)+"]", x, "expected lengths > 0 that ascend")
	}
	for i, n := range b.BatchSizes {
		vs.Require(n > 0 && n <= maxBatch, "buckets.batch_sizes["+strconv.Itoa(i)+"]", n, fmt.Sprintf("expected 1 to %d", maxBatch))
	}
}

// batches returns the step that makes batches.
func (s Spec) batches(ic Context) (Transform, error) {
	drop := s.DropRemainder && ic.Mode != Predict
	if s.Group.Size > 0 && ic.Mode != Predict {
		ic.GlobalBatch = s.Group.Size
		n, err := ic.PerReplicaBatch()
		return GroupByColumn(s.Group.Column, n, drop), err
	}
	if b := s.Buckets; len(b.BatchSizes) > 0 && ic.Mode != Predict {
		sizes := slices.Clone(b.BatchSizes)
		for i := range sizes {
			var err error
			ic.GlobalBatch = sizes[i]
			if sizes[i], err = ic.PerReplicaBatch(); err != nil {
				return nil, fmt.Errorf("buckets.batch_sizes[%d]: %w", i, err)
			}
		}
		return BucketByLength(Buckets{Column: b.Column, Boundaries: b.Boundaries, BatchSizes: sizes, DropRemainder: drop}), nil
	}
	ic.GlobalBatch = s.BatchSize
	n, err := ic.PerReplicaBatch()
	return Batch(n, drop), err
}
