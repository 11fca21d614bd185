package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/spf13/cobra"
)

// How many elements of a value are printed, and bytes of a string.
const (
	shownElements = 8
	shownBytes    = 64
)

func (a *app) inspectDataCommand() *cobra.Command {
	var f configFlags
	var name string
	var rows int
	cmd := &cobra.Command{
		Use:   "data --config FILE",
		Short: "show the columns and first rows of an input",
		Long: `Opens an input of the config as training, evaluation or prediction would, after
all its transforms, and shows its columns and first rows. Of large values the
first elements, least, greatest and mean are shown.`,
		Example: `  goestimator inspect data --config configs/iris.yaml --section eval --rows 3`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rows < 0 {
				return usage(fmt.Errorf("--rows %d: expected a number >= 0", rows))
			}
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return a.inspectData(cmd.Context(), cfg, name, rows)
		},
	}
	f.addSources(cmd)
	cmd.Flags().StringVar(&name, "section", "train", "which input: train, eval or predict")
	cmd.Flags().IntVar(&rows, "rows", 5, "number of rows to show")
	completeValues(cmd, "section", "train", "eval", "predict")
	return cmd
}

func (a *app) inspectData(ctx context.Context, cfg *config.Config, name string, rows int) (err error) {
	j := &job{app: a, cfg: cfg}
	var s section
	for _, c := range j.sections() {
		if c.name == name {
			s = c
		}
	}
	if s.name == "" {
		return usage(fmt.Errorf("--section %s: expected train, eval or predict", name))
	}
	input, err := j.input(s.in, s.name)
	if err != nil {
		return err
	}
	ds, err := input.Input(ctx, inputs.Context{Mode: s.mode, NumPipelines: 1, ReplicasInSync: 1, Seed: cfg.Seed})
	if err != nil {
		return err
	}
	t := newTextTable("column", "role", "type", "shape of one example")
	for _, c := range ds.Schema().Columns() {
		role := c.Role
		if role == "" {
			role = inputs.Feature
		}
		shape := shapeText(c.Shape)
		if c.Ragged {
			shape = "ragged"
		}
		t.add(c.Name, string(role), c.DType.String(), shape)
	}
	if _, err := fmt.Fprint(a.stdout, t); err != nil {
		return err
	}
	it, err := ds.Iterate(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	return a.printRows(ctx, it, ds.Schema(), rows)
}

func (a *app) printRows(ctx context.Context, it inputs.Iterator, schema *inputs.Schema, rows int) error {
	for n := 0; n < rows; {
		rec, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return inputs.ErrEmpty
			}
			return nil
		}
		if err != nil {
			return err
		}
		shown, err := a.printRecord(rec, schema, n, rows)
		rec.Release()
		if err != nil {
			return err
		}
		n = shown
	}
	return nil
}

// printRecord prints rows of a record, numbered from n, until there are rows of them.
func (a *app) printRecord(rec arrow.Record, schema *inputs.Schema, n, rows int) (int, error) {
	columns, err := inputs.Tensors(rec, schema)
	if err != nil {
		return n, err
	}
	for i := 0; i < int(rec.NumRows()) && n < rows; i++ {
		var parts []string
		for _, c := range columns {
			shape := c.Tensor.Shape[1:]
			first := i * int(elements(shape))
			if c.Offsets != nil {
				shape, first = []int{int(c.Offsets[i+1] - c.Offsets[i])}, int(c.Offsets[i])
			}
			text, err := valueText(c.Tensor, shape, first)
			if err != nil {
				return n, fmt.Errorf("column %s: %w", c.Name, err)
			}
			parts = append(parts, printable.Text(c.Name+"="+text))
		}
		if _, err := fmt.Fprintf(a.stdout, "row %d: %s\n", n, strings.Join(parts, " ")); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// valueText is the value of a shape from element first of a tensor on, or what a
// large one is like.
func valueText(t *tensor.Tensor, shape []int, first int) (string, error) {
	n := int(elements(shape))
	if t.DType == tensor.String {
		return stringsText(t.Strings[first:first+n], len(shape) == 0), nil
	}
	if n <= shownElements || t.DType == tensor.Bool {
		b, err := appendTensor(nil, t, shape, first)
		return string(b), err
	}
	least, most, sum := t.Float(first), t.Float(first), 0.0
	for i := first; i < first+n; i++ {
		x := t.Float(i)
		least, most, sum = min(least, x), max(most, x), sum+x
	}
	return fmt.Sprintf("%s(min %.4g max %.4g mean %.4g)", shapeText(shape), least, most, sum/float64(n)), nil
}

// stringsText is strings, the first ones of many, the starts of long ones.
func stringsText(list [][]byte, scalar bool) string {
	var parts []string
	for _, s := range list[:min(len(list), shownElements)] {
		text := appendText(nil, string(s[:min(len(s), shownBytes)]))
		if len(s) > shownBytes {
			text = fmt.Appendf(text, "(%d bytes)", len(s))
		}
		parts = append(parts, string(text))
	}
	if scalar {
		return parts[0]
	}
	if len(list) > shownElements {
		parts = append(parts, fmt.Sprintf("and %d more", len(list)-shownElements))
	}
	return "[" + strings.Join(parts, ",") + "]"
}
