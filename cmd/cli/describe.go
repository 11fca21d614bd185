package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/describe"
	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/spf13/cobra"
)

// dataFlags are the flags of data describe.
type dataFlags struct {
	configFlags
	section, label, format, out string
	rows                        int
	request, statistics         bool
}

// describeCommand is data describe and, as an older name, inspect data.
func (a *app) describeCommand(name string) *cobra.Command {
	f := dataFlags{statistics: name == "describe"}
	parent := map[bool]string{true: "data describe", false: "inspect data"}[f.statistics]
	cmd := &cobra.Command{
		Use:   name + " {FILE | --config FILE}",
		Short: "say what is in a table or an input: columns, values, relations to the label",
		Long: `Looks at a table (CSV, JSON lines, Parquet or Arrow; a file, or a folder or a glob
of files) in one pass: of each column its type, missing and different values,
quantiles, most frequent values; of the table rows that are equal. With --label
also the balance of the classes, and how much each column tells of the label: one
that tells all of it may not be known when the model is used. Memory is bounded:
quantiles have an error of 0.5 % of the ranks (5 % of more than 64 columns), values
are counted exactly up to 32768 different ones (fewer of many columns), histograms
and relations to the label are of 20000 rows drawn at random, and equal rows are
found among the first million of different ones.

With --config it opens an input of the config as training, evaluation or
prediction would, after all its transforms, and shows its columns and first
rows; of large values the first elements, least, greatest and mean. data describe
then looks at all of its rows. With --request it prints the features of the first
rows, whole, as a model server's REST API takes them.`,
		Example: `  goestimator ` + parent + ` houses.csv --label price
  goestimator ` + parent + ` houses.csv --label price --format html --out houses.html
  goestimator ` + parent + ` --config configs/iris.yaml --section eval --rows 3
  goestimator ` + parent + ` --config configs/glyphs.yaml --rows 1 --request | curl -d @- localhost:8501/v1/models/glyphs:predict`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.describe(cmd.Context(), args, f) },
	}
	f.addSources(cmd)
	cmd.Flags().StringVar(&f.section, "section", "train", "which input of the config: train, eval or predict")
	cmd.Flags().IntVar(&f.rows, "rows", 5, "number of rows of the config's input to show")
	cmd.Flags().BoolVar(&f.request, "request", false, "print a request of the rows: to predict, or, for a model of feature columns, to classify or regress")
	cmd.Flags().StringVar(&f.label, "label", "", "name of the column to predict (default: the label of the config's input, where it has one)")
	cmd.Flags().StringVar(&f.format, "format", "", "text, json or html (default: as the name of --out ends, else text)")
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "file to write instead of the terminal")
	completeValues(cmd, "section", "train", "eval", "predict")
	completeValues(cmd, "format", "text", "json", "html")
	completeFiles(cmd, "out", "html", "json", "txt")
	return cmd
}

func (a *app) describe(ctx context.Context, args []string, f dataFlags) error {
	switch {
	case f.rows < 0:
		return usage(fmt.Errorf("--rows %d: expected a number >= 0", f.rows))
	case f.format == "":
		f.format = formOfOutput(f.out)
	}
	switch {
	case f.format != "text" && f.format != "json" && f.format != "html":
		return usage(fmt.Errorf("--format %s: expected text, json or html", f.format))
	case f.path == "" && len(args) == 0:
		return usage(errors.New("nothing to describe: name a table, or a config by --config"))
	case f.path != "" && len(args) > 0:
		return usage(fmt.Errorf("unexpected argument %q: expected a table or --config, not both", args[0]))
	case len(args) > 1:
		return usage(fmt.Errorf("unexpected argument %q", args[1]))
	case f.path == "" && f.request:
		return usage(errors.New("--request needs --config, which says how rows are read"))
	}
	if err := checkFolder("--out", f.out); err != nil {
		return err
	}
	if f.path != "" {
		cfg, err := f.load()
		if err != nil {
			return err
		}
		return a.inspectData(ctx, cfg, f)
	}
	if st, err := os.Stat(args[0]); err == nil && st.IsDir() && !tabular.IsFolder(args[0]) {
		return usage(fmt.Errorf("%s is a folder, expected one of tables of one form: name a file in it, or a glob such as '%s/*.csv'; goestimator init %s looks at a folder of images or texts", args[0], args[0], args[0]))
	}
	p, err := tabular.Read(ctx, args[0], tabular.Options{Label: f.label})
	if p == nil {
		return err
	}
	return a.writeDescription(p, err, f)
}

// formOfOutput is the output form by the file's extension.
func formOfOutput(name string) string {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".html", ".htm":
		return "html"
	case ".json":
		return "json"
	}
	return "text"
}

// profileOf makes one pass over an input of the config.
func (j *job) profileOf(ctx context.Context, s section, f dataFlags) (*tabular.Profile, error) {
	in := chosenRows(s.in)
	switch {
	case j.app.inputs.Has(in.Format):
		return nil, usage(fmt.Errorf("the input_fn %s may repeat its rows: describe a file", in.Format))
	case !in.Ends():
		return nil, usage(fmt.Errorf("%s.input has no end: set its count or take", s.name))
	}
	input, err := j.inputRepeated(in, s.name, 1)
	if err != nil {
		return nil, err
	}
	ds, err := input.Input(ctx, inputs.Context{Mode: s.mode, NumPipelines: 1, ReplicasInSync: 1, Seed: j.cfg.Seed})
	if err != nil {
		return nil, err
	}
	var labels []string
	for _, c := range ds.Schema().Columns() {
		if c.Role == inputs.Label {
			labels = append(labels, c.Name)
		}
	}
	if f.label == "" && len(labels) == 1 {
		f.label = labels[0]
	}
	return tabular.ReadDataset(ctx, ds, fmt.Sprintf("%s.input of %s", s.name, f.path), tabular.Options{Label: f.label})
}

// writeDescription writes what is known of a table. A problem with its label is reported, but does not end the command.
func (a *app) writeDescription(p *tabular.Profile, wrong error, f dataFlags) error {
	var unknown *tabular.UnknownLabelError
	if errors.As(wrong, &unknown) {
		return usage(fmt.Errorf("--label: %w", wrong))
	}
	d := describe.New(p)
	if wrong != nil {
		d.Hints = append(d.Hints, "the label: "+oneLine(wrong))
	}
	write := map[string]func(*describe.Description) error{}
	var out bytes.Buffer
	write["text"] = func(d *describe.Description) error { return d.WriteText(&out) }
	write["json"] = func(d *describe.Description) error { return d.WriteJSON(&out) }
	write["html"] = func(d *describe.Description) error { return d.WriteHTML(&out) }
	if err := write[f.format](d); err != nil {
		return err
	}
	if f.out == "" {
		_, err := a.stdout.Write(out.Bytes())
		return err
	}
	if err := atomicfile.Rewrite(filepath.Clean(f.out), out.Bytes()); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err := fmt.Fprintf(a.stdout, "described %s in %s\n", d.Path, f.out)
	return err
}
