package cli

import (
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
)

// formats are what input.format may be.
func (a *app) formats() []string {
	names := inputs.Formats()
	for name := range a.inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// inputSpec translates a section of the config.
func inputSpec(in config.Input) inputs.Spec {
	spec := inputs.Spec{
		Format: in.Format, Files: in.Files, Images: in.Images, Labels: in.Labels,
		Header: in.Header, Delimiter: in.Delimiter, MissingValues: in.MissingValues, Comment: in.Comment, Count: in.Count,
		Split: inputs.SplitSpec{Folds: in.Split.Folds, HeldOut: in.Split.HeldOut, Part: in.Split.Part},
		Shard: in.Shard, Skip: in.Skip, Take: in.Take, Repeat: in.Repeat, Shuffle: in.Shuffle,
		Scale: in.Scale, Mean: in.Mean, Std: in.Std,
		Augment:   inputs.AugmentSpec{CropPadding: in.Augment.CropPadding, Flip: in.Augment.Flip},
		BatchSize: in.BatchSize, DropRemainder: in.DropRemainder, Prefetch: in.Prefetch, Parallelism: in.Parallelism,
	}
	for _, c := range in.Columns {
		spec.Columns = append(spec.Columns, inputs.ColumnSpec{Name: c.Name, DType: columnType(in.Format, c), Shape: c.Shape, Ragged: c.Ragged,
			Role: inputs.Role(c.Role), Default: c.Default, Vocabulary: c.Vocabulary})
	}
	return spec
}

// columnType is the element type that the pipeline gives: ids where there is a
// vocabulary. Empty: what the file says, or float32.
func columnType(format string, c config.Column) string {
	switch {
	case len(c.Vocabulary) > 0:
		return ""
	case c.DType == "" && c.Kind == "categorical" && format != "parquet" && format != "arrow":
		return "string"
	}
	return c.DType
}
